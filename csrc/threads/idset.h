/* Id set: environment ids that are added in any order and taken out as sorted runs. */
#ifndef PP_THREADS_IDSET_H
#define PP_THREADS_IDSET_H

#include <stdint.h>

#include "pool/entry.h"

typedef struct pp_idset {
  uint64_t *words; /* a bit for each id */
  uint64_t *used;  /* a bit for each nonzero word, so that few ids in a large set are found fast */
  int32_t first;   /* can hold first .. first+count-1 */
  int32_t count;
} pp_idset;

/* Makes an empty set for ids first .. first+count-1. Returns PP_OK or PP_ERR_MEMORY. */
int pp_idset_init(pp_idset *set, int32_t first, int32_t count);
void pp_idset_fini(pp_idset *set);

/* Adds those of the ids that the set can hold; none may be named twice. Returns how many. */
int32_t pp_idset_add(pp_idset *set, const int32_t *ids, int32_t count);

/* Empties the set: writes its ids in ascending order, as entries of at most longest environments
 * each and with place 0. Returns the number of entries, at most one for each id. */
int32_t pp_idset_take(pp_idset *set, int32_t longest, pp_entry *out);

#endif
