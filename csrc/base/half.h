/* NumPy's float16 arithmetic: each operation is computed in float32 and rounded to float16. */
#ifndef PP_BASE_HALF_H
#define PP_BASE_HALF_H

#include <math.h>

/* Returns the nearest float16, ties to even. */
static inline double pp_half(double x) {
  int exponent, last_bit;
  if (!(fabs(x) < 65520)) return x != x ? x : copysign(INFINITY, x);
  frexp(x, &exponent);
  last_bit = (exponent - 1 > -14 ? exponent - 1 : -14) - 10;
  return ldexp(nearbyint(ldexp(x, -last_bit)), last_bit);
}

static inline double pp_half_add(double a, double b) {
  return pp_half((float)a + (float)b);
}

static inline double pp_half_multiply(double a, double b) {
  return pp_half((float)a * (float)b);
}

#endif
