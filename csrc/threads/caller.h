/* Caller: what the thread that calls step() or recv() steps itself. */
#ifndef PP_THREADS_CALLER_H
#define PP_THREADS_CALLER_H

#include "pool/pool.h"

/* the operations of these names in pp_lane_ops */
bool pp_caller_is_inline(const pp_pool *pool, int32_t count);
int32_t pp_caller_step_inline(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place);
bool pp_caller_step_chunk(pp_pool *pool, int64_t *now);
bool pp_caller_is_replaced(pp_pool *pool);
bool pp_caller_expects_long_wait(const pp_pool *pool, const pp_ring_slot *slot);

#endif
