/* What several MuJoCo tasks do alike. */
#include <string.h>

#include "base/half.h"
#include "base/normal.h"
#include "base/random.h"
#include "task.h"

void mujoco_add_uniform(pp_rng *rng, double scale, double *values, int32_t count) {
  for (int32_t i = 0; i < count; i++) values[i] += pp_rng_uniform(rng, -scale, scale);
}

void mujoco_add_normal(pp_rng *rng, double scale, double *values, int32_t count) {
  for (int32_t i = 0; i < count; i++) values[i] += scale * pp_rng_normal(rng);
}

double *mujoco_observe_state(const mujoco_shared *shared, const mujoco_workspace *now,
                             int32_t skipped, double *obs) {
  int32_t positions = shared->nq - skipped;
  memcpy(obs, now->qpos + skipped, sizeof(double) * (size_t)positions);
  memcpy(obs + positions, now->qvel, sizeof(double) * (size_t)shared->nv);
  return obs + positions + shared->nv;
}

static int is_unsigned(int32_t dtype) {
  return dtype == PP_UINT8 || dtype == PP_UINT16 || dtype == PP_UINT32 || dtype == PP_UINT64;
}

static double square_sum(const mujoco_moment *moment) {
  return mujoco_square_sum(moment->action, moment->shared->nu, moment->action_dtype);
}

/* a number of the action's dtype times a Python float */
static double weigh(const mujoco_moment *moment, double weight, double number) {
  switch (moment->action_dtype) {
    case PP_FLOAT32: return (float)weight * (float)number;
    case PP_FLOAT16: return pp_half_multiply(pp_half(weight), number);
    default: return weight * number;
  }
}

double mujoco_control_cost(const mujoco_moment *moment, double weight) {
  return weigh(moment, weight, square_sum(moment));
}

double mujoco_control_reward(const mujoco_moment *moment, double weight) {
  double sum = square_sum(moment);
  if (is_unsigned(moment->action_dtype)) return (double)(0 - (uint64_t)sum) * weight;
  return weigh(moment, weight, -sum);
}

double mujoco_whole_control_info(const mujoco_moment *moment) {
  return -square_sum(moment);
}
