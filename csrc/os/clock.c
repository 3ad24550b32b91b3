/* Clock: reads a monotonic clock in nanoseconds. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "os.h"

#if defined(CLOCK_MONOTONIC_COARSE)
enum { ROUGH_CLOCK = CLOCK_MONOTONIC_COARSE };
#else
enum { ROUGH_CLOCK = CLOCK_MONOTONIC };
#endif

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pp_os_now(void) {
  return read_clock(CLOCK_MONOTONIC);
}

int64_t pp_os_now_roughly(void) {
  return read_clock(ROUGH_CLOCK);
}
