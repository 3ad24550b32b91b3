/* What several MuJoCo tasks do alike. */
#include <string.h>

#include "base/fail.h"
#include "base/normal.h"
#include "base/random.h"
#include "base/scalar.h"
#include "task.h"

int mujoco_find_bodies(pp_config *config, mujoco_shared *shared, const char *const *names,
                       int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    shared->ids[i] = shared->sim.library.mj_name2id(shared->sim.model, MUJOCO_BODY, names[i]);
    if (shared->ids[i] >= 0) continue;
    return pp_fail(config->error, PP_ERR_ARGUMENT, "the model has no body named \"%s\"", names[i]);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------------ state -- */

void mujoco_prepare_state(mujoco_shared *shared, int32_t noise_option, int32_t skipped_positions) {
  shared->noise_option = noise_option;
  shared->skipped_positions = skipped_positions;
  shared->obs_size = shared->sim.nq + shared->sim.nv - skipped_positions;
}

void mujoco_add_uniform(pp_rng *rng, double scale, double *values, int32_t count) {
  for (int32_t i = 0; i < count; i++) values[i] += pp_rng_uniform(rng, -scale, scale);
}

void mujoco_add_normal(pp_rng *rng, double scale, double *values, int32_t count) {
  for (int32_t i = 0; i < count; i++) values[i] += scale * pp_rng_normal(rng);
}

void mujoco_draw_uniform(const mujoco_shared *shared, double noise, pp_rng *rng, double *qpos,
                         double *qvel) {
  mujoco_add_uniform(rng, noise, qpos, shared->sim.nq);
  mujoco_add_uniform(rng, noise, qvel, shared->sim.nv);
}

void mujoco_draw_uniform_normal(const mujoco_shared *shared, double noise, pp_rng *rng,
                                double *qpos, double *qvel) {
  mujoco_add_uniform(rng, noise, qpos, shared->sim.nq);
  mujoco_add_normal(rng, noise, qvel, shared->sim.nv);
}

double *mujoco_write_state(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  int32_t skipped = shared->skipped_positions, positions = shared->sim.nq - skipped;
  memcpy(obs, now->qpos + skipped, sizeof(double) * (size_t)positions);
  memcpy(obs + positions, now->qvel, sizeof(double) * (size_t)shared->sim.nv);
  return obs + positions + shared->sim.nv;
}

void mujoco_observe_state(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  mujoco_write_state(shared, now, obs);
}

/* ----------------------------------------------------------------------------------- motion -- */

void mujoco_keep_point(mujoco_transition *transition, const double *point, int32_t axes) {
  for (int32_t i = 0; i < axes; i++) transition->carry[i] = point[i];
}

void mujoco_velocity(mujoco_transition *transition, const double *point, int32_t axes,
                     double *velocity) {
  for (int32_t i = 0; i < axes; i++) {
    velocity[i] = (point[i] - transition->carry[i]) / transition->shared->sim.dt;
  }
  mujoco_keep_point(transition, point, axes);
}

void mujoco_write_place(const mujoco_shared *shared, const double *xy, double *infos) {
  infos[0] = xy[0];
  infos[1] = xy[1];
  infos[2] = mujoco_norm(shared, xy, 2);
}

void mujoco_offset(const mujoco_shared *shared, const mujoco_workspace *now, int body, int origin,
                   double offset[3]) {
  const double *to = now->xpos + 3 * shared->ids[body];
  const double *from = now->xpos + 3 * shared->ids[origin];
  for (int i = 0; i < 3; i++) offset[i] = to[i] - from[i];
}

double mujoco_distance(const mujoco_transition *transition, int body, int origin) {
  double offset[3];
  mujoco_offset(transition->shared, transition->now, body, origin, offset);
  return mujoco_norm(transition->shared, offset, 3);
}

/* ----------------------------------------------------------------------------------- action -- */

/* np.sum(np.square(action)): NumPy adds integers in 64 bits */
static pp_scalar square_sum(const mujoco_transition *transition) {
  int32_t dtype = transition->action_dtype;
  double sum = mujoco_square_sum(transition->action, transition->shared->sim.nu, dtype);
  if (pp_dtype_is_float(dtype)) return (pp_scalar){sum, dtype};
  return (pp_scalar){sum, pp_dtype_is_unsigned(dtype) ? PP_UINT64 : PP_INT64};
}

double mujoco_control_cost(const mujoco_transition *transition, const pp_value *weight) {
  return pp_scalar_multiply(pp_scalar_of(weight), square_sum(transition)).value;
}

double mujoco_control_reward(const mujoco_transition *transition, const pp_value *weight,
                             double *info) {
  pp_scalar factor = pp_scalar_of(weight), sum = square_sum(transition);
  pp_scalar product = pp_scalar_multiply(pp_scalar_negative(sum), factor);
  if (product.dtype == PP_UINT64) {
    // doubles do not hold such a wrapped number exactly, but do hold its negative
    *info = -pp_scalar_multiply(sum, factor).value;
    return (double)pp_scalar_bits(*info);
  }
  *info = product.value;
  return product.value;
}
