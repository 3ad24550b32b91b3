/* The clock: monotonic nanoseconds. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "os.h"

int64_t pp_os_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
