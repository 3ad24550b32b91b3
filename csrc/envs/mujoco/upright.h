/* What Hopper and Walker2d have in common: a runner in a plane that is healthy while it stands. */
#ifndef PP_ENVS_MUJOCO_UPRIGHT_H
#define PP_ENVS_MUJOCO_UPRIGHT_H

#include "task.h"

/* own options; a task's further ones follow */
enum {
  FORWARD_REWARD_WEIGHT = MUJOCO_OWN,
  CTRL_COST_WEIGHT,
  HEALTHY_REWARD,
  TERMINATE_WHEN_UNHEALTHY,
  HEALTHY_Z_MIN,
  HEALTHY_Z_MAX,
  HEALTHY_ANGLE_MIN,
  HEALTHY_ANGLE_MAX,
  RESET_NOISE_SCALE,
  EXCLUDE_POSITIONS,
  UPRIGHT_OWN
};

/* parameters by the names of the options that they come from; a task's further ones follow */
enum {
  FORWARD,
  CONTROL,
  HEALTHY,
  TERMINATES,
  Z_MIN,
  Z_MAX,
  ANGLE_MIN,
  ANGLE_MAX,
  NOISE,
  SKIPPED,
  UPRIGHT_PARAMETERS
};

#define UPRIGHT_OPTIONS(xml, z_min, z_max, angle)                                           \
  MUJOCO_COMMON_OPTIONS(xml, 4),                                                            \
      MUJOCO_FLOAT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),   \
      MUJOCO_FLOAT("ctrl_cost_weight", 1e-3, "weight of the squared action in the reward"), \
      MUJOCO_FLOAT("healthy_reward", 1.0, "reward of a step that ends healthy"),            \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"), \
      MUJOCO_FLOAT("healthy_z_min", z_min, "a healthy torso is higher"),                    \
      MUJOCO_FLOAT("healthy_z_max", z_max, "a healthy torso is lower"),                     \
      MUJOCO_FLOAT("healthy_angle_min", -(angle), "a healthy torso's angle is greater"),    \
      MUJOCO_FLOAT("healthy_angle_max", angle, "a healthy torso's angle is less"),          \
      MUJOCO_NOISE_SCALE(5e-3),                                                             \
      MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out the x position")

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),      MUJOCO_INFO("z_distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64), MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),       MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
};

static inline int upright_prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;

  parameters[FORWARD] = given[FORWARD_REWARD_WEIGHT].f;
  parameters[CONTROL] = given[CTRL_COST_WEIGHT].f;
  parameters[HEALTHY] = given[HEALTHY_REWARD].f;
  parameters[TERMINATES] = (double)given[TERMINATE_WHEN_UNHEALTHY].i;
  parameters[Z_MIN] = given[HEALTHY_Z_MIN].f;
  parameters[Z_MAX] = given[HEALTHY_Z_MAX].f;
  parameters[ANGLE_MIN] = given[HEALTHY_ANGLE_MIN].f;
  parameters[ANGLE_MAX] = given[HEALTHY_ANGLE_MAX].f;
  parameters[NOISE] = given[RESET_NOISE_SCALE].f;
  parameters[SKIPPED] = (double)given[EXCLUDE_POSITIONS].i;
  shared->obs_size = shared->nq + shared->nv - (int32_t)parameters[SKIPPED];
  return PP_OK;
}

static inline void upright_draw(const mujoco_shared *shared, pp_rng *rng, double *qpos,
                                double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_uniform(rng, scale, qvel, shared->nv);
}

static inline void upright_observe(const mujoco_shared *shared, const mujoco_workspace *now,
                                   double *obs) {
  int32_t skipped = (int32_t)shared->parameters[SKIPPED];
  double *end = mujoco_observe_state(shared, now, skipped, obs);
  for (double *at = end - shared->nv; at < end; at++) *at = mujoco_clip(*at, -10, 10);
}

/* whether height and angle of the torso are healthy */
static inline int upright_stands(const mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  double z = moment->now->qpos[1], angle = moment->now->qpos[2];
  return parameters[Z_MIN] < z && z < parameters[Z_MAX] && parameters[ANGLE_MIN] < angle &&
         angle < parameters[ANGLE_MAX];
}

static inline void upright_begin_v4(mujoco_moment *moment) {
  moment->carry[0] = moment->now->qpos[0];
}

static inline void upright_begin_v5(mujoco_moment *moment) {
  const double *qpos = moment->now->qpos;
  moment->carry[0] = qpos[0];
  moment->infos[0] = qpos[0];
  moment->infos[1] = qpos[1] - moment->shared->init_qpos[1];
}

/* velocity since the last step */
static inline double upright_move(mujoco_moment *moment) {
  double x = moment->now->qpos[0];
  double velocity = (x - moment->carry[0]) / moment->shared->dt;
  moment->carry[0] = x;
  return velocity;
}

static inline void upright_finish_v4(mujoco_moment *moment, int healthy) {
  const double *parameters = moment->shared->parameters;
  int terminates = parameters[TERMINATES] != 0;
  double velocity = upright_move(moment);
  // the step that ends an episode is paid like a healthy one
  double survive = (double)(healthy || terminates) * parameters[HEALTHY];
  double control = mujoco_control_cost(moment, parameters[CONTROL]);

  moment->reward = parameters[FORWARD] * velocity + survive - control;
  moment->terminated = !healthy && terminates;
  moment->infos[0] = moment->now->qpos[0];
  moment->infos[1] = velocity;
}

static inline void upright_finish_v5(mujoco_moment *moment, int healthy) {
  const double *parameters = moment->shared->parameters, *qpos = moment->now->qpos;
  double velocity = upright_move(moment), forward = parameters[FORWARD] * velocity;
  double survive = (double)healthy * parameters[HEALTHY];
  double control = mujoco_control_cost(moment, parameters[CONTROL]);

  moment->reward = forward + survive - control;
  moment->terminated = !healthy && parameters[TERMINATES] != 0;
  moment->infos[0] = qpos[0];
  moment->infos[1] = qpos[1] - moment->shared->init_qpos[1];
  moment->infos[2] = velocity;
  moment->infos[3] = forward;
  moment->infos[4] = -control;
  moment->infos[5] = survive;
}

/* a task of either version */
#define UPRIGHT_TASK(task_prepare, task_begin, task_finish, task_infos) \
  {.least_nq = 3,                                                       \
   .prepare = task_prepare,                                             \
   .draw = upright_draw,                                                \
   .observe = upright_observe,                                          \
   .begin = task_begin,                                                 \
   .finish = task_finish,                                               \
   MUJOCO_INFOS(task_infos)}

#endif
