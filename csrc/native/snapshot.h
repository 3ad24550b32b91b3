/* Snapshot: saves one environment as bytes, and restores it from them. The thread to which the
 * environment belongs calls these functions. */
#ifndef PP_NATIVE_SNAPSHOT_H
#define PP_NATIVE_SNAPSHOT_H

#include "natives.h"

/* Returns what all snapshots of an environment have in common: of its definition and options. */
uint64_t pp_snapshot_identity(const pp_natives *natives, int32_t env_id);

/* Returns the most bytes that a snapshot of an environment can take now, or a negative status. */
int64_t pp_snapshot_room(pp_natives *natives, int32_t env_id);

/* Writes a snapshot into that room. Returns its bytes, or a negative status. */
int64_t pp_snapshot_save(pp_natives *natives, int32_t env_id, char *bytes, int64_t room);

/* Returns the checksum of a snapshot, or 0 if its bytes do not have it. */
uint64_t pp_snapshot_sum(const char *bytes, int64_t size);

/* Returns the bytes of memory that pp_snapshot_restore needs, which starts on a cache line. */
size_t pp_snapshot_scratch(const pp_natives *natives);

/* Checks a snapshot, and restores the environment from it. Returns PP_ERR_ARGUMENT if it is damaged
 * or of another kind of environment, and then nothing has changed; or the status of the load
 * callback, after which the environment must be reset. */
int pp_snapshot_restore(pp_natives *natives, int32_t env_id, const char *bytes, int64_t size,
                        char *scratch, pp_error *error);

#endif
