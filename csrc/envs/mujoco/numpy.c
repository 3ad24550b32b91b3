/* NumPy's sums of squares and norms as Gymnasium's tasks use them, with the same bits (NumPy 1.26
 * to 2.4). */
#include <math.h>

#include "base/half.h"
#include "base/pairwise_sum.h"
#include "task.h"

/* The sum in float32 of float32 numbers, or of float16 numbers, whose squares are float16. */
static float square_sum_float(const double *values, int32_t count, bool is_half) {
  float squares[128];
  if (count > 128) {
    int32_t half = count / 2 / 8 * 8;
    return square_sum_float(values, half, is_half) +
           square_sum_float(values + half, count - half, is_half);
  }
  for (int32_t i = 0; i < count; i++) squares[i] = (float)values[i] * (float)values[i];
  for (int32_t i = 0; is_half && i < count; i++) squares[i] = (float)pp_half(squares[i]);
  return pp_pairwise_sum_float(squares, count);
}

/* The square of one integer, which wraps in its own dtype (a bool's is int8), as the bits of an
 * int64. */
static uint64_t square_integer(double value, int32_t dtype) {
  uint64_t bits = dtype == PP_UINT64 ? (uint64_t)value : (uint64_t)(int64_t)value;
  uint64_t square = bits * bits;
  switch (dtype) {
    case PP_BOOL:
    case PP_INT8: return (uint64_t)(int8_t)square;
    case PP_INT16: return (uint64_t)(int16_t)square;
    case PP_INT32: return (uint64_t)(int32_t)square;
    case PP_UINT8: return (uint8_t)square;
    case PP_UINT16: return (uint16_t)square;
    case PP_UINT32: return (uint32_t)square;
    default: return square;
  }
}

static double square_sum_integer(const double *values, int32_t count, int32_t dtype) {
  uint64_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += square_integer(values[i], dtype);
  return dtype == PP_UINT64 ? (double)sum : (double)(int64_t)sum;
}

double mujoco_square_sum(const double *values, int32_t count, int32_t dtype) {
  switch (dtype) {
    case PP_FLOAT32: return square_sum_float(values, count, false);
    case PP_FLOAT16: return pp_half(square_sum_float(values, count, true));
    case PP_FLOAT64: return mujoco_clipped_square_sum(values, count, -HUGE_VAL, HUGE_VAL);
    default: return square_sum_integer(values, count, dtype);
  }
}

double mujoco_clipped_square_sum(const double *values, int32_t count, double low, double high) {
  double squares[128];
  if (count > 128) {
    int32_t half = count / 2 / 8 * 8;
    return mujoco_clipped_square_sum(values, half, low, high) +
           mujoco_clipped_square_sum(values + half, count - half, low, high);
  }
  for (int32_t i = 0; i < count; i++) {
    double value = mujoco_clip(values[i], low, high);
    squares[i] = value * value;
  }
  return pp_pairwise_sum(squares, count);
}

bool mujoco_is_finite(const mujoco_transition *transition) {
  const mujoco_shared *shared = transition->shared;
  const mujoco_workspace *now = transition->now;
  // inf * 0 and nan * 0 are nan, so the sum is 0 if and only if all numbers are finite
  double zero = 0;
  for (int32_t i = 0; i < shared->sim.nq; i++) zero += now->qpos[i] * 0;
  for (int32_t i = 0; i < shared->sim.nv; i++) zero += now->qvel[i] * 0;
  return zero == 0;
}

double mujoco_norm(const mujoco_shared *shared, const double *values, int32_t count) {
  // NumPy calls BLAS, which adds product after product, with a fused multiply-add where it has one
  double dot = 0;
  for (int32_t i = 0; i < count; i++) {
    dot = shared->sim.fuses_dot ? fma(values[i], values[i], dot) : dot + values[i] * values[i];
  }
  return sqrt(dot);
}
