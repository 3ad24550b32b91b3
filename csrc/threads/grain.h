/* Grain: how many environments a thread takes at once, from the measured cost of a step. */
#ifndef PP_THREADS_GRAIN_H
#define PP_THREADS_GRAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pp_env.h"

/* A chunk must be worth the cache traffic of taking it, yet short enough that threads finish at
 * about the same time. */
enum {
  PP_GRAIN_LEAST = 3000,   /* ns of work in the smallest chunk */
  PP_GRAIN_MOST = 20000,   /* ns of work in the largest chunk */
  PP_GRAIN_LATE = 1000000, /* ns after which a chunk is cut short, many times PP_GRAIN_MOST */
  PP_GRAIN_WAKE = 10000,   /* ns of work that are worth waking a thread for */
  PP_GRAIN_ROWS = PP_MAX_STEP_MANY, /* environments in the largest chunk */
  PP_GRAIN_RUN = 16                 /* environments in the longest queue entry */
};

typedef struct pp_grain {
  /* 1/16 ns per environment step, 0 while unknown. Written and read by every thread of the lane;
   * relaxed, because it is an estimate and a lost update does no harm. */
  _Atomic uint32_t cost;
} pp_grain;

/* Returns the ns that this many steps are expected to take, INT64_MAX while unknown. */
int64_t pp_grain_estimate(const pp_grain *grain, int64_t count);

/* Returns how many of the available environments to take. is_shared: other threads take from them
 * too. */
int32_t pp_grain_chunk(const pp_grain *grain, int64_t available, bool is_shared);

/* Returns how many threads, at least 1, this much work is worth. */
int64_t pp_grain_threads(const pp_grain *grain, int64_t count);

/* Returns how many environments one queue entry should hold: a fraction of the smallest chunk, 1
 * while the cost is unknown. */
int32_t pp_grain_run(const pp_grain *grain);

/* Returns whether a chunk took about as long as estimated. If so, learning from it would change
 * little, and would write to a cache line that every thread of the lane reads. */
bool pp_grain_is_near(const pp_grain *grain, int64_t nanoseconds, int32_t count);

/* Updates the estimate with the time of a chunk. */
void pp_grain_learn(pp_grain *grain, int64_t nanoseconds, int32_t count);

#endif
