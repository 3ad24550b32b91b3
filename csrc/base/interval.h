/* Checks the bounds of a uniform distribution, as NumPy and Gymnasium do. */
#ifndef PP_BASE_INTERVAL_H
#define PP_BASE_INTERVAL_H

#include <math.h>

#include "base/fail.h"
#include "pp_env.h"

/* Refuses the bounds that Generator.uniform or Gymnasium's maybe_parse_reset_bounds refuses. */
static inline int pp_interval_check(double low, double high, pp_error *error) {
  if (low <= high && isfinite(high - low)) return PP_OK;
  const char *cure = low > high ? "choose low <= high" : "choose finite bounds";
  return pp_fail(error, PP_ERR_ARGUMENT, "low=%.17g, high=%.17g: %s", low, high, cure);
}

#endif
