/* Cost: what a step of a lane's environments takes, learned from the time of chunks, and how much
 * work follows from it: for a queue entry, a chunk, a thread, a step in the caller's thread. */
#ifndef PP_THREADS_COST_H
#define PP_THREADS_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pp_env.h"

/* A chunk must be worth the cache traffic of taking it, yet short enough that threads finish at
 * about the same time. */
enum {
  PP_CHUNK_MIN_NS = 3000,    /* work in the smallest chunk */
  PP_CHUNK_MAX_NS = 20000,   /* work in the largest chunk */
  PP_CHUNK_CUT_NS = 1000000, /* time after which a chunk is cut short: many times the largest */
  PP_WAKE_NS = 10000,        /* work that is worth waking a thread for */
  PP_INLINE_NS = 3000,       /* less work than this is not worth the queues */
  PP_MAX_CHUNK = PP_MAX_STEP_MANY, /* environments in the largest chunk */
  PP_MAX_ENTRY = 16                /* environments in the longest queue entry */
};

typedef struct pp_cost {
  /* 1/16 ns per environment step, 0 while unknown. Written and read by every thread of the lane;
   * relaxed, because it is an estimate and a lost update does no harm. */
  _Atomic uint32_t step;
} pp_cost;

/* Returns the ns that this many steps are expected to take, INT64_MAX while unknown. */
int64_t pp_cost_estimate(const pp_cost *cost, int64_t count);

/* Returns how many of the available environments to take. is_shared: other threads take from them
 * too. */
int32_t pp_cost_chunk(const pp_cost *cost, int64_t available, bool is_shared);

/* Returns how many threads, at least 1, this much work is worth. */
int64_t pp_cost_threads(const pp_cost *cost, int64_t count);

/* Returns how many environments one queue entry should hold: a fraction of the smallest chunk, 1
 * while the cost is unknown. */
int32_t pp_cost_entry(const pp_cost *cost);

/* Updates the estimate with the time of a chunk, the nth that this thread measures. If the time is
 * near the estimate, only every eighth chunk counts: learning from the others would change little,
 * and would write to a cache line that every thread of the lane reads. */
void pp_cost_learn(pp_cost *cost, int64_t nanoseconds, int32_t count, int64_t nth);

#endif
