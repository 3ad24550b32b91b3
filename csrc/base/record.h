/* The actions of an episode, which play it again: a growing array of entries of one size. */
#ifndef PP_BASE_RECORD_H
#define PP_BASE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "pp_env.h"

/* The owner frees entries. */
typedef struct pp_record {
  char *entries;
  size_t entry_size; /* bytes */
  int64_t count;     /* number of entries; -1: there is no episode to play */
  int64_t room;
} pp_record;

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an empty record without an episode. On failure there is nothing to free. */
int pp_record_init(pp_record *record, size_t entry_size, pp_error *error);

/* makes room for `room` entries in all */
int pp_record_reserve(pp_record *record, int64_t room, pp_error *error);

/* Refuses a snapshot of `size` bytes that is no record. */
int pp_record_refuse(int64_t size, pp_error *error);

/* Refuses a snapshot that is in the middle or at the end of an episode (phase), but whose record
 * has none (count < 0). */
int pp_record_check(int64_t count, int32_t phase, pp_error *error);

/* Adds an entry, which the caller writes, to an episode. Returns the status: there may be no
 * memory. */
int pp_record_add(pp_record *record, void **entry, pp_error *error);

/* Says that the episode ends with the last entry, of `count` to be played. Returns the status: only
 * a forged record goes on, and what the simulation does then, no test covers. */
int pp_record_end(const pp_record *record, int64_t count, pp_error *error);

static inline const void *pp_record_entry(const pp_record *record, int64_t i) {
  return record->entries + (size_t)i * record->entry_size;
}

/* Returns the bytes of all entries. */
static inline size_t pp_record_bytes(const pp_record *record) {
  return record->count > 0 ? (size_t)record->count * record->entry_size : 0;
}

#ifdef __cplusplus
}
#endif

#endif
