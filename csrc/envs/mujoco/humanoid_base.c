/* Implements what Humanoid and HumanoidStandup share. */
#include "humanoid_base.h"

#include <math.h>
#include <string.h>

static int prepare(pp_config *config, mujoco_shared *shared, int32_t first_body,
                   int32_t first_dof) {
  const pp_value *options = config->options;
  int32_t bodies = shared->sim.nbody - first_body;

  // a user's own model may have fewer
  if (first_dof > shared->sim.nv) first_dof = shared->sim.nv;
  shared->ids[HUMANOID_FIRST_BODY] = first_body;
  shared->ids[HUMANOID_FIRST_DOF] = first_dof;
  mujoco_prepare_state(shared, HUMANOID_RESET_NOISE_SCALE,
                       options[HUMANOID_EXCLUDE_POSITIONS].i ? 2 : 0);
  if (options[HUMANOID_INCLUDE_CINERT].i) shared->obs_size += 10 * bodies;
  if (options[HUMANOID_INCLUDE_CVEL].i) shared->obs_size += 6 * bodies;
  if (options[HUMANOID_INCLUDE_QFRC_ACTUATOR].i) shared->obs_size += shared->sim.nv - first_dof;
  if (options[HUMANOID_INCLUDE_CFRC_EXT].i) shared->obs_size += 6 * bodies;
  return PP_OK;
}

int humanoid_prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 0, 0);
}

int humanoid_prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 1, 6);
}

/* Copies the numbers from index first to before index end. Returns the end of what it wrote. */
static double *append(double *to, const double *from, int32_t first, int32_t end) {
  size_t count = (size_t)(end - first);
  memcpy(to, from + first, sizeof(double) * count);
  return to + count;
}

void humanoid_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  const pp_value *options = shared->options;
  int32_t body = shared->ids[HUMANOID_FIRST_BODY], nbody = shared->sim.nbody;
  int32_t dof = shared->ids[HUMANOID_FIRST_DOF], nv = shared->sim.nv;

  obs = mujoco_write_state(shared, now, obs);
  if (options[HUMANOID_INCLUDE_CINERT].i) obs = append(obs, now->cinert, 10 * body, 10 * nbody);
  if (options[HUMANOID_INCLUDE_CVEL].i) obs = append(obs, now->cvel, 6 * body, 6 * nbody);
  if (options[HUMANOID_INCLUDE_QFRC_ACTUATOR].i) obs = append(obs, now->qfrc_actuator, dof, nv);
  if (options[HUMANOID_INCLUDE_CFRC_EXT].i) append(obs, now->cfrc_ext, 6 * body, 6 * nbody);
}

static double square_sum(const double *values, int32_t count) {
  return mujoco_clipped_square_sum(values, count, -HUGE_VAL, HUGE_VAL);
}

double humanoid_control_cost(const mujoco_transition *transition) {
  const mujoco_shared *shared = transition->shared;
  return transition->options[HUMANOID_CTRL_COST_WEIGHT].f *
         square_sum(transition->now->ctrl, shared->sim.nu);
}

double humanoid_contact_cost(const mujoco_transition *transition, double weight, double low,
                             double high) {
  double sum = square_sum(transition->now->cfrc_ext, 6 * transition->shared->sim.nbody);
  return mujoco_clip(weight * sum, low, high);
}

double *humanoid_write_tendons(const mujoco_transition *transition, double *infos) {
  int32_t count = transition->shared->sim.ntendon;
  infos = append(infos, transition->now->ten_length, 0, count);
  return append(infos, transition->now->ten_velocity, 0, count);
}
