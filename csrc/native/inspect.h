/* Inspect: reads an environment between its steps: observe, render and expose. */
#ifndef PP_NATIVE_INSPECT_H
#define PP_NATIVE_INSPECT_H

#include "natives.h"

/* Writes the environments of a pool. Returns PP_OK if this one can be read and written now: it
 * exists, is not in flight, and is in this process. */
int pp_natives_find_idle_locked(const pp_pool *pool, int32_t env_id, pp_natives **out,
                                pp_error *error);

/* Fills in an error after a callback failed: its name, what could not be done (as in "saved"), and
 * the callback's own text. Clears that text, so that a later failure without a text does not repeat
 * it. Returns status. */
int pp_natives_explain_failure(pp_natives *natives, int32_t env_id, int status,
                               const char *callback, const char *what, pp_error *error);

#endif
