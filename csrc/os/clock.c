/* Clock: reads a monotonic clock in nanoseconds. */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <time.h>

#include "os.h"

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pp_os_now(void) {
  return read_clock(CLOCK_MONOTONIC);
}

#if defined(CLOCK_MONOTONIC_COARSE)

/* The clock that is read roughly, 0 while unknown (that of the system's time, which is never used).
 * Relaxed: every thread that finds it unknown stores the same. */
static _Atomic int rough_clock;

/* the coarse clock ticks as often as the kernel's timer, which may be 100 times a second */
static int choose_rough_clock(void) {
  struct timespec tick;
  bool is_fine = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0 &&
                 tick.tv_nsec <= PP_OS_ROUGH_NS;
  int chosen = is_fine ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC;
  atomic_store_explicit(&rough_clock, chosen, memory_order_relaxed);
  return chosen;
}

int64_t pp_os_now_roughly(void) {
  int chosen = atomic_load_explicit(&rough_clock, memory_order_relaxed);
  return read_clock(chosen ? chosen : choose_rough_clock());
}

#else

int64_t pp_os_now_roughly(void) {
  return pp_os_now();
}

#endif
