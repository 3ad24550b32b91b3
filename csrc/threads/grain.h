/* Grain: how many environments a thread takes at once, from what a step was seen to cost. */
#ifndef PP_THREADS_GRAIN_H
#define PP_THREADS_GRAIN_H

#include <stdatomic.h>
#include <stdint.h>

/* chunks are cut so that one grab is worth the traffic it causes, yet the last one is short */
enum {
  PP_GRAIN_LEAST = 3000,   /* ns of work in the smallest chunk */
  PP_GRAIN_MOST = 20000,   /* ns of work in the largest */
  PP_GRAIN_LATE = 1000000, /* ns after which a chunk is cut short, many times the most */
  PP_GRAIN_LONG = 5000000, /* ns that no chunk of cheap work takes. A coarse clock may move as far
                              at once; what it makes believe is soon unlearnt */
  PP_GRAIN_WAKE = 10000,   /* ns of work that are worth waking a thread for */
  PP_GRAIN_ROWS = 256,     /* environments in the largest */
  PP_GRAIN_RUN = 16        /* environments in the longest queue entry */
};

typedef struct pp_grain {
  /* 1/16 ns per environment step, 0 while unknown; written and read by every thread of the lane
   * with relaxed order: an estimate, a lost update does no harm */
  _Atomic uint32_t cost;
} pp_grain;

/* nanoseconds that this many steps should take, INT64_MAX while unknown */
int64_t pp_grain_estimate(const pp_grain *grain, int64_t count);

/* environments to take out of those available in one place; is_shared: others may want some too */
int32_t pp_grain_chunk(const pp_grain *grain, int64_t available, int32_t is_shared);

/* threads that this much work is worth, at least 1 */
int64_t pp_grain_threads(const pp_grain *grain, int64_t count);

/* environments that one queue entry should hold: a fraction of the smallest chunk, 1 while the cost
 * is unknown */
int32_t pp_grain_run(const pp_grain *grain);

/* 1: a chunk took about as long as the estimate says. Learning from it would write what every
 * thread of the lane reads, and change little */
int pp_grain_is_near(const pp_grain *grain, int64_t nanoseconds, int32_t count);

/* learns from a chunk */
void pp_grain_learn(pp_grain *grain, int64_t nanoseconds, int32_t count);

#endif
