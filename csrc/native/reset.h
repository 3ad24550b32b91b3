/* Reset: checks the seeds and options of a reset, and stores them until environments take them. */
#ifndef PP_NATIVE_RESET_H
#define PP_NATIVE_RESET_H

#include "natives.h"
#include "pool/pool.h"

/* Stores seeds and options, which may be null, for a reset of the environments named; no others are
 * in flight if there are options. Arguments as in pp_pool_send_reset. Returns a pp_status. */
int pp_reset_store_locked(const pp_pool *pool, pp_natives *natives, const int32_t *env_ids,
                          int32_t count, const uint32_t *seed_words, const int32_t *seed_sizes,
                          const pp_value *options, pp_error *error);

#endif
