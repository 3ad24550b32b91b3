/* Threads: the lanes of a pool whose environments are stepped by threads of this process. */
#ifndef PP_THREADS_THREADS_H
#define PP_THREADS_THREADS_H

#include "pool/pool.h"

extern const pp_lane_ops pp_threads_ops;

/* makes the lanes of a pool that has its fleet, and starts their threads */
int pp_threads_init(pp_pool *pool, const pp_pool_options *options);

#endif
