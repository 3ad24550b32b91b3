/* numpy.sin and numpy.cos of a float32, whose results differ from the C library's sinf and cosf.
 *
 * NumPy 1.17 to 2.4 has code of its own for machines with fused multiply-add: Cody-Waite reduction
 * by pi/2 in three parts, then a polynomial. The constants are those of
 * numpy/_core/src/umath/loops_trigonometric. tests/core/test_base_math.py compares millions of
 * values. For float64, NumPy's results are the C library's. */
#ifndef PP_BASE_FLOAT_TRIG_H
#define PP_BASE_FLOAT_TRIG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether NumPy uses its own code on this machine. Otherwise it calls sinf and cosf. */
static inline bool pp_float_trig_is_fused(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

/* Computes the sine (quadrant_shift 0) or cosine (1). |x| must be so small that the quadrant is
 * exact. */
static inline float pp_float_trig_reduced(float x, int32_t quadrant_shift) {
  /* To add and subtract 1.5 * 2^23 rounds to an integer. The sum is fused, as in NumPy's wheels,
   * and volatile keeps the compiler from removing it. */
  const float two_over_pi = 0x1.45f306p-1f, round_to_integer = 0x1.8p23f;
  volatile float shifted = fmaf(x, two_over_pi, round_to_integer);
  float quarters = shifted - round_to_integer;
  float r = fmaf(quarters, -0x1.921fb0p+0f, x);
  r = fmaf(quarters, -0x1.5110b4p-22f, r);
  r = fmaf(quarters, -0x1.846988p-48f, r);

  float square = r * r;
  int32_t quadrant = (int32_t)quarters + quadrant_shift;
  float value;
  if (quadrant & 1) {
    value = fmaf(0x1.98e616p-16f, square, -0x1.6c06dcp-10f);
    value = fmaf(value, square, 0x1.55553cp-5f);
    value = fmaf(value, square, -0.5f);
    value = fmaf(value, square, 1.0f);
  } else {
    value = fmaf(0x1.7d3bbcp-19f, square, -0x1.a06bbap-13f);
    value = fmaf(value, square, 0x1.11119ap-7f);
    value = fmaf(value, square, -0x1.555556p-3f);
    value = fmaf(value, square, 0.0f); /* not a product, whose zero could be negative */
    value = fmaf(value, r, r);
  }
  return quadrant & 2 ? -value : value;
}

/* Beyond these limits NumPy calls the C library. */
static inline float pp_float_sin(float x) {
  if (!(fabsf(x) <= 117435.992f) || !pp_float_trig_is_fused()) return sinf(x);
  return pp_float_trig_reduced(x, 0);
}

static inline float pp_float_cos(float x) {
  if (!(fabsf(x) <= 71476.0625f) || !pp_float_trig_is_fused()) return cosf(x);
  return pp_float_trig_reduced(x, 1);
}

#endif
