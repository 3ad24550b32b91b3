/* Sine and cosine of the same angle, with the bits of the C library's sin and cos.
 *
 * NumPy and Python's math module call the sin and cos of the same library.
 * tests/core/test_base_math.py compares all of them. */
#ifndef PP_BASE_SINCOS_H
#define PP_BASE_SINCOS_H

#include <math.h>
#include <stdint.h>

enum { PP_SINCOS_MANY = 64 }; /* most angles of one pp_sincos_many */

#if defined(__GLIBC__)
/* It takes half the time of sin and cos. math.h declares it in C++, but not in strict C11. */
#ifndef __cplusplus
extern void sincos(double x, double *sine, double *cosine);
#endif

static inline void pp_sincos(double x, double *sine, double *cosine) {
  sincos(x, sine, cosine);
}

/* The sums of each series after its first term, with errors below 1e-20 for |x| < 0.25. */
static inline double pp_sine_rest(double x, double square) {
  double sum = -1.0 / 39916800 + square * (1.0 / 6227020800);
  sum = -1.0 / 5040 + square * (1.0 / 362880 + square * sum);
  return x * square * (-1.0 / 6 + square * (1.0 / 120 + square * sum));
}

static inline double pp_cosine_rest(double square) {
  double sum = -1.0 / 3628800 + square * (1.0 / 479001600);
  sum = -1.0 / 720 + square * (1.0 / 40320 + square * sum);
  return square * square * (1.0 / 24 + square * sum) - 0.5 * square;
}

/* Returns 0 if first + rest is so far from the middle between two numbers that the library must
 * also round it to `rounded`. glibc states an error below 0.55 units in the last place for sin and
 * cos (sysdeps/ieee754/dbl-64/s_sin.c), of which 0.5 are the final rounding. The errors of the sums
 * above are at most 0.026 and 0.036 units. A distance below 0.41 units leaves room for both. 1.22
 * times that is less than half a unit, so it vanishes in the sum. */
static inline double pp_rounding_doubt(double first, double rest, double rounded) {
  double left = rest - (rounded - first);
  return rounded + 1.22 * left - rounded;
}

/* pp_sincos for `count` angles; fast if most of them are small (below 0.25). Vector code computes
 * about two thirds of the small ones, and the library all others. */
static inline void pp_sincos_many(const double *__restrict x, double *__restrict sine,
                                  double *__restrict cosine, int32_t count) {
  double doubt[PP_SINCOS_MANY];
  int32_t doubtful[PP_SINCOS_MANY + 1], num_doubtful = 0;

  for (int32_t i = 0; i < count; i++) {
    double angle = x[i], square = angle * angle;
    double sine_rest = pp_sine_rest(angle, square), cosine_rest = pp_cosine_rest(square);
    double rounded_sine = angle + sine_rest, rounded_cosine = 1 + cosine_rest;
    /* excludes 0, whose sign would be lost, and 0.25 and more */
    double outside = fabs(fabs(angle) - 0.125) < 0.125 ? 0.0 : 1.0;
    doubt[i] = outside + fabs(pp_rounding_doubt(angle, sine_rest, rounded_sine)) +
               fabs(pp_rounding_doubt(1, cosine_rest, rounded_cosine));
    sine[i] = rounded_sine;
    cosine[i] = rounded_cosine;
  }
  /* No branch, because it would be mispredicted too often. A nan is doubtful. */
  for (int32_t i = 0; i < count; i++) {
    doubtful[num_doubtful] = i;
    num_doubtful += !(doubt[i] == 0);
  }
  for (int32_t k = 0; k < num_doubtful; k++) {
    int32_t i = doubtful[k];
    sincos(x[i], &sine[i], &cosine[i]);
  }
}
#else
static inline void pp_sincos(double x, double *sine, double *cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}

static inline void pp_sincos_many(const double *__restrict x, double *__restrict sine,
                                  double *__restrict cosine, int32_t count) {
  for (int32_t i = 0; i < count; i++) pp_sincos(x[i], &sine[i], &cosine[i]);
}
#endif

#endif
