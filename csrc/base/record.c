/* The actions of an episode, which play it again. */
#include "record.h"

#include <stdlib.h>

#include "base/fail.h"

enum { FIRST_ROOM = 128 };

int pp_record_init(pp_record *record, size_t entry_size, pp_error *error) {
  *record = (pp_record){.entry_size = entry_size, .count = -1};
  return pp_record_reserve(record, FIRST_ROOM, error);
}

int pp_record_reserve(pp_record *record, int64_t room, pp_error *error) {
  if (room <= record->room) return PP_OK;
  char *entries = realloc(record->entries, (size_t)room * record->entry_size);
  if (!entries) {
    return pp_fail(error, PP_ERR_MEMORY, "no memory for the %lld actions of an episode",
                   (long long)room);
  }
  record->entries = entries;
  record->room = room;
  return PP_OK;
}

int pp_record_add(pp_record *record, void **entry, pp_error *error) {
  if (record->count == record->room) {
    int status = pp_record_reserve(record, 2 * record->room, error);
    if (status < 0) return status;
  }
  *entry = record->entries + (size_t)record->count++ * record->entry_size;
  return PP_OK;
}

int pp_record_refuse(int64_t size, pp_error *error) {
  return pp_fail(error, PP_ERR_ARGUMENT, "%lld bytes are not the record of an episode",
                 (long long)size);
}

int pp_record_check(int64_t count, int32_t phase, pp_error *error) {
  if (count >= 0 || phase == PP_FRESH) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "it says that an episode goes on, and has none");
}

int pp_record_end(const pp_record *record, int64_t count, pp_error *error) {
  if (record->count == count) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "the snapshot is damaged: its episode ends after %lld of %lld actions",
                 (long long)record->count, (long long)count);
}
