/* Limit: how long a call of a compiled program may take. */
#ifndef PP_XLA_LIMIT_H
#define PP_XLA_LIMIT_H

#include <stdint.h>

#include "os/os.h"

typedef struct pp_limit {
  int64_t timeout; /* nanoseconds; < 0: there is no limit */
  int64_t end;     /* the time when they are over (pp_os_now) */
} pp_limit;

/* Returns the limit of a call that begins now. */
static inline pp_limit pp_limit_start(int64_t timeout) {
  int64_t now = pp_os_now();
  pp_limit limit = {timeout, timeout > INT64_MAX - now ? INT64_MAX : now + timeout};
  return limit;
}

/* Returns the nanoseconds that are left, 0 after the end; -1 if there is no limit. */
static inline int64_t pp_limit_left(const pp_limit *limit) {
  int64_t left;
  if (limit->timeout < 0) return -1;
  left = limit->end - pp_os_now();
  return left > 0 ? left : 0;
}

#endif
