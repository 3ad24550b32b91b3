/* Actions: checks what the caller sends and converts it to what step callbacks take. */
#ifndef PP_NATIVE_ACTION_H
#define PP_NATIVE_ACTION_H

#include "natives.h"

/* Checks and stores one action for each environment named (env_ids null: 0 .. count-1), converted
 * from dtype. Only idle environments may be named: even if a later action is invalid, the actions
 * of earlier ones are overwritten. Returns PP_OK, PP_ERR_TYPE or PP_ERR_ARGUMENT. */
int pp_action_store(pp_natives *natives, const int32_t *env_ids, int32_t count, const void *actions,
                    int32_t dtype, pp_error *error);

#endif
