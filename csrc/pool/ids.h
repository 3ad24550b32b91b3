/* Ids: lists of environment ids, as callers give them. */
#ifndef PP_POOL_IDS_H
#define PP_POOL_IDS_H

#include <stdint.h>

/* Returns how many of these ids, at least 1, are consecutive from the first on, as in 7 8 9. */
int32_t pp_ids_run(const int32_t *ids, int32_t count);

#endif
