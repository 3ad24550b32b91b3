/* NumPy's arithmetic as Gymnasium's tasks use it, bit by bit (NumPy 1.26 to 2.4). */
#include <math.h>

#include "base/half.h"
#include "task.h"

/* Numbers up to 128: fewer than eight one after the other, else eight sums side by side, which are
 * joined in pairs, and the rest after that. Longer ones are halved at a multiple of eight. All of
 * it is added to 0, so no sum is -0. */
#define PAIRWISE_SUM(name, type)                                     \
  type name(const type *values, int32_t count) {                     \
    if (count > 128) {                                               \
      int32_t half = count / 2 / 8 * 8;                              \
      return name(values, half) + name(values + half, count - half); \
    }                                                                \
    type sum = 0;                                                    \
    int32_t i = 0;                                                   \
    if (count >= 8) {                                                \
      type lane[8];                                                  \
      for (; i < 8; i++) lane[i] = values[i];                        \
      for (; i < count / 8 * 8; i++) lane[i % 8] += values[i];       \
      sum += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +           \
             ((lane[4] + lane[5]) + (lane[6] + lane[7]));            \
    }                                                                \
    for (; i < count; i++) sum += values[i];                         \
    return sum;                                                      \
  }

PAIRWISE_SUM(mujoco_sum, double)
PAIRWISE_SUM(mujoco_sum_float, float)

/* in float32, of float32 or (before the sum is rounded) of float16 */
static float square_sum_float(const double *values, int32_t count, int is_half) {
  float squares[128];
  if (count > 128) {
    int32_t half = count / 2 / 8 * 8;
    return square_sum_float(values, half, is_half) +
           square_sum_float(values + half, count - half, is_half);
  }
  for (int32_t i = 0; i < count; i++) squares[i] = (float)values[i] * (float)values[i];
  for (int32_t i = 0; is_half && i < count; i++) squares[i] = (float)pp_half(squares[i]);
  return mujoco_sum_float(squares, count);
}

/* of one integer as the bits of an int64, for it wraps in its own dtype (that of a bool is int8) */
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
    case PP_FLOAT32: return square_sum_float(values, count, 0);
    case PP_FLOAT16: return pp_half(square_sum_float(values, count, 1));
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
  return mujoco_sum(squares, count);
}

int mujoco_is_finite(const mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  const mujoco_workspace *now = moment->now;
  // a sum of numbers times zero is zero unless one of them is not finite
  double zero = 0;
  for (int32_t i = 0; i < shared->nq; i++) zero += now->qpos[i] * 0;
  for (int32_t i = 0; i < shared->nv; i++) zero += now->qvel[i] * 0;
  return zero == 0;
}

double mujoco_norm(const mujoco_shared *shared, const double *values, int32_t count) {
  // BLAS adds one product after the other, in one rounding where the machine can
  double dot = 0;
  for (int32_t i = 0; i < count; i++) {
    dot = shared->fuses_dot ? fma(values[i], values[i], dot) : dot + values[i] * values[i];
  }
  return sqrt(dot);
}
