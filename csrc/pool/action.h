/* Actions: checking what the caller sends and turning it into what step callbacks take. */
#ifndef PP_POOL_ACTION_H
#define PP_POOL_ACTION_H

#include "fleet.h"

/* Checks and stores one action for each environment named (env_ids null: 0 .. count-1), converting
 * from dtype. Only idle environments may be named: their stored action is overwritten even if a
 * later one turns out to be bad. */
int pp_action_store(pp_fleet *fleet, const int32_t *env_ids, int32_t count, const void *actions,
                    int32_t dtype, pp_error *error);

#endif
