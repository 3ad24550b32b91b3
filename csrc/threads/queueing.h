/* Queueing: lists the environments of a send as entries, and queues them with their lanes. */
#ifndef PP_THREADS_QUEUEING_H
#define PP_THREADS_QUEUEING_H

#include "pool/pool.h"

/* Queues accepted environments and wakes workers: pp_lane_ops.queue_locked. */
void pp_threads_queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                             bool caller_helps);

#endif
