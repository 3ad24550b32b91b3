/* What several MuJoCo tasks do alike. */
#include <string.h>

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

float mujoco_control_cost(const mujoco_moment *moment, double weight) {
  return (float)weight * mujoco_square_sum(moment->action, moment->shared->nu);
}
