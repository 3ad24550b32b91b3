/* NumPy's `x ** 2` of a scalar: the C library's pow, which differs from x * x by one unit in the
 * last place about once in a thousand calls. Not needed for np.square and an array's `** 2`, which
 * are x * x, nor where x * x is exact. */
#ifndef PP_BASE_SQUARE_H
#define PP_BASE_SQUARE_H

#include <math.h>

/* The exponent is hidden, because compilers turn pow(x, 2) into x * x. */
static inline double pp_square_slow(double x) {
  double two = 2;
  __asm__("" : "+m"(two));
  return pow(x, two);
}

/* the exact rounding error of product = x * x (T. Dekker, 1971) */
static inline double pp_square_rest(double x, double product) {
  double scaled = 134217729 * x; /* 2^27 + 1 cuts the significand in two */
  double high = scaled - (scaled - x);
  double low = x - high;
  return high * high - product + 2 * high * low + low * low;
}

/* glibc states the error of its pow: less than 0.54 units in the last place, of which 0.5 are the
 * final rounding (sysdeps/ieee754/dbl-64/e_pow.c; before 2.28 it rounded correctly). So if the
 * exact square is less than 0.44 units from the rounded x * x, pow returns the same number. This
 * holds for seven values in eight, and is several times as fast as pow. */
static inline double pp_square(double x) {
#if defined(__GLIBC__)
  double product = x * x;
  /* 0.44 * 1.136 is half a unit, and less than that vanishes in the sum. An overflow makes the rest
   * a nan, which fails the test. The limit excludes underflow. */
  if (product > 1e-250 && product + 1.14 * pp_square_rest(x, product) == product) return product;
#endif
  return pp_square_slow(x);
}

static inline float pp_square_float(float x) {
  float two = 2;
  __asm__("" : "+m"(two));
  return powf(x, two);
}

#endif
