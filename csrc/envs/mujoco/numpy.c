/* NumPy's arithmetic as Gymnasium's tasks use it, bit by bit (NumPy 1.26 to 2.4). */
#include <math.h>

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

float mujoco_square_sum(const float *values, int32_t count) {
  float squares[128];
  if (count > 128) {
    int32_t half = count / 2 / 8 * 8;
    return mujoco_square_sum(values, half) + mujoco_square_sum(values + half, count - half);
  }
  for (int32_t i = 0; i < count; i++) squares[i] = values[i] * values[i];
  return mujoco_sum_float(squares, count);
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
