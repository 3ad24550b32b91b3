/* Bare loop: calls a pool's environments directly, for overhead.c to compare with the engine. */
#ifndef PP_BARE_LOOP_H
#define PP_BARE_LOOP_H

#include "pp_pool.h"

/* Calls the environments' callbacks in a plain loop, without queues, batches or threads.
 *
 * actions holds num_actions sets, used in turn; a set is one action for each environment, in the
 * dtype of the action space. The pool must be ordered and have nothing in flight, and its
 * environments must have step_many. Afterwards every environment needs a reset. Returns PP_OK or an
 * error code. */
int bare_loop(pp_pool *pool, const void *actions, int32_t num_actions, int64_t rounds,
              pp_error *error);

#endif
