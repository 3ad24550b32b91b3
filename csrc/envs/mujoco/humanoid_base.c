/* What Humanoid and HumanoidStandup share: the same body, its observation, and how it starts. */
#include "humanoid_base.h"

#include <math.h>
#include <string.h>

static int prepare(pp_config *config, mujoco_shared *shared, int32_t first_body,
                   int32_t first_dof) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;
  int32_t bodies = shared->nbody - first_body;

  if (first_dof > shared->nv) first_dof = shared->nv;
  parameters[HUMANOID_CONTROL] = given[HUMANOID_CTRL_COST_WEIGHT].f;
  parameters[HUMANOID_NOISE] = given[HUMANOID_RESET_NOISE_SCALE].f;
  parameters[HUMANOID_SKIPPED] = given[HUMANOID_EXCLUDE_POSITIONS].i ? 2 : 0;
  parameters[HUMANOID_FIRST_BODY] = first_body;
  parameters[HUMANOID_FIRST_DOF] = first_dof;
  parameters[HUMANOID_HAS_CINERT] = (double)given[HUMANOID_INCLUDE_CINERT].i;
  parameters[HUMANOID_HAS_CVEL] = (double)given[HUMANOID_INCLUDE_CVEL].i;
  parameters[HUMANOID_HAS_QFRC_ACTUATOR] = (double)given[HUMANOID_INCLUDE_QFRC_ACTUATOR].i;
  parameters[HUMANOID_HAS_CFRC_EXT] = (double)given[HUMANOID_INCLUDE_CFRC_EXT].i;

  shared->obs_size = shared->nq + shared->nv - (int32_t)parameters[HUMANOID_SKIPPED];
  if (given[HUMANOID_INCLUDE_CINERT].i) shared->obs_size += 10 * bodies;
  if (given[HUMANOID_INCLUDE_CVEL].i) shared->obs_size += 6 * bodies;
  if (given[HUMANOID_INCLUDE_QFRC_ACTUATOR].i) shared->obs_size += shared->nv - first_dof;
  if (given[HUMANOID_INCLUDE_CFRC_EXT].i) shared->obs_size += 6 * bodies;
  return PP_OK;
}

int humanoid_prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 0, 0);
}

int humanoid_prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 1, 6);
}

void humanoid_draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[HUMANOID_NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_uniform(rng, scale, qvel, shared->nv);
}

/* the numbers from `first` to `end`; returns where the next go */
static double *append(double *to, const double *from, int32_t first, int32_t end) {
  size_t count = (size_t)(end - first);
  memcpy(to, from + first, sizeof(double) * count);
  return to + count;
}

void humanoid_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  const double *parameters = shared->parameters;
  int32_t body = (int32_t)parameters[HUMANOID_FIRST_BODY], nbody = shared->nbody;
  int32_t dof = (int32_t)parameters[HUMANOID_FIRST_DOF], nv = shared->nv;

  obs = mujoco_observe_state(shared, now, (int32_t)parameters[HUMANOID_SKIPPED], obs);
  if (parameters[HUMANOID_HAS_CINERT] != 0) obs = append(obs, now->cinert, 10 * body, 10 * nbody);
  if (parameters[HUMANOID_HAS_CVEL] != 0) obs = append(obs, now->cvel, 6 * body, 6 * nbody);
  if (parameters[HUMANOID_HAS_QFRC_ACTUATOR] != 0) obs = append(obs, now->qfrc_actuator, dof, nv);
  if (parameters[HUMANOID_HAS_CFRC_EXT] != 0) append(obs, now->cfrc_ext, 6 * body, 6 * nbody);
}

static double square_sum(const double *values, int32_t count) {
  return mujoco_clipped_square_sum(values, count, -HUGE_VAL, HUGE_VAL);
}

double humanoid_control_cost(const mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  return shared->parameters[HUMANOID_CONTROL] * square_sum(moment->now->ctrl, shared->nu);
}

double humanoid_contact_square_sum(const mujoco_moment *moment) {
  return square_sum(moment->now->cfrc_ext, 6 * moment->shared->nbody);
}

double *humanoid_write_tendons(const mujoco_moment *moment, double *infos) {
  int32_t count = moment->shared->ntendon;
  infos = append(infos, moment->now->ten_length, 0, count);
  return append(infos, moment->now->ten_velocity, 0, count);
}
