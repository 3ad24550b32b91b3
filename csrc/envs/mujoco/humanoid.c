/* Humanoid: a two-legged walker with arms, in space.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/humanoid_v4.py, humanoid_v5.py) bit for bit.
 */
#include <math.h>

#include "humanoid_base.h"
#include "task.h"

/* own options, in the order of both tables */
enum {
  FORWARD_REWARD_WEIGHT = HUMANOID_OWN,
  CONTACT_COST_WEIGHT,
  CONTACT_COST_MIN,
  CONTACT_COST_MAX,
  HEALTHY_REWARD,
  TERMINATE_WHEN_UNHEALTHY,
  HEALTHY_Z_MIN,
  HEALTHY_Z_MAX,
};

/* parameters by the names of the options that they come from, and the mass of all bodies */
enum {
  FORWARD = HUMANOID_OWN_PARAMETERS,
  CONTACT,
  COST_MIN,
  COST_MAX,
  HEALTHY,
  TERMINATES,
  Z_MIN,
  Z_MAX,
  MASS,
};

#define OPTIONS(contact_weight)                                                                \
  HUMANOID_OPTIONS("humanoid.xml"),                                                            \
      MUJOCO_FLOAT("forward_reward_weight", 1.25, "weight of the velocity in the reward"),     \
      MUJOCO_FLOAT("contact_cost_weight", contact_weight, "weight of squared contact forces"), \
      MUJOCO_FLOAT("contact_cost_min", -HUGE_VAL, "least cost of contacts"),                   \
      MUJOCO_FLOAT("contact_cost_max", 10.0, "greatest cost of contacts"),                     \
      MUJOCO_FLOAT("healthy_reward", 5.0, "reward of a step that ends healthy"),               \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"),    \
      MUJOCO_FLOAT("healthy_z_min", 1.0, "the torso is healthy above this height"),            \
      MUJOCO_FLOAT("healthy_z_max", 2.0, "the torso is healthy below this height")

/* Gymnasium's v4 has no cost of contacts */
static const pp_option options_v4[] = {OPTIONS(0.0)};
static const pp_option options_v5[] = {OPTIONS(5e-7)};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_linvel", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_quadctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_alive", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("forward_reward", PP_FLOAT64),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_INFO("y_position", PP_FLOAT64),
    MUJOCO_TENDON_INFO("tendon_length"),
    MUJOCO_TENDON_INFO("tendon_velocity"),
    MUJOCO_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_ctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_contact", PP_FLOAT64),
};

/* ------------------------------------------------------------------------------- prepare -- */

static void read_options(const pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;

  parameters[FORWARD] = given[FORWARD_REWARD_WEIGHT].f;
  parameters[CONTACT] = given[CONTACT_COST_WEIGHT].f;
  parameters[COST_MIN] = given[CONTACT_COST_MIN].f;
  parameters[COST_MAX] = given[CONTACT_COST_MAX].f;
  parameters[HEALTHY] = given[HEALTHY_REWARD].f;
  parameters[TERMINATES] = (double)given[TERMINATE_WHEN_UNHEALTHY].i;
  parameters[Z_MIN] = given[HEALTHY_Z_MIN].f;
  parameters[Z_MAX] = given[HEALTHY_Z_MAX].f;
  parameters[MASS] = mujoco_sum(shared->body_mass, shared->nbody);
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  read_options(config, shared);
  shared->needs_constraint_forces =
      config->options[HUMANOID_INCLUDE_CFRC_EXT].i != 0 || shared->parameters[CONTACT] != 0;
  return humanoid_prepare_v4(config, shared);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  read_options(config, shared);
  // contacts cost, observed or not
  shared->needs_constraint_forces = 1;
  return humanoid_prepare_v5(config, shared);
}

/* ------------------------------------------------------------------------- reset and step -- */

static int is_healthy(const mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  double z = moment->now->qpos[2];
  return parameters[Z_MIN] < z && z < parameters[Z_MAX];
}

static double contact_cost(const mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  return mujoco_clip(parameters[CONTACT] * humanoid_contact_square_sum(moment),
                     parameters[COST_MIN], parameters[COST_MAX]);
}

/* where the centre of mass is in the plane (np.einsum adds body after body); before the next step,
 * where it was */
static void remember(mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  for (int axis = 0; axis < 2; axis++) {
    double sum = 0;
    for (int32_t i = 0; i < shared->nbody; i++) {
      sum += shared->body_mass[i] * moment->now->xipos[3 * i + axis];
    }
    moment->carry[axis] = sum / shared->parameters[MASS];
  }
}

/* velocity of the centre of mass since it was remembered */
static void move(mujoco_moment *moment, double velocity[2]) {
  double before[2] = {moment->carry[0], moment->carry[1]};
  remember(moment);
  for (int i = 0; i < 2; i++) velocity[i] = (moment->carry[i] - before[i]) / moment->shared->dt;
}

/* the infos that steps and resets have; returns where the next one goes */
static double *write_place(const mujoco_moment *moment) {
  const double *qpos = moment->now->qpos;
  double *info = moment->infos;
  *info++ = qpos[0];
  *info++ = qpos[1];
  info = humanoid_write_tendons(moment, info);
  *info++ = mujoco_norm(moment->shared, qpos, 2);
  return info;
}

static void begin_v5(mujoco_moment *moment) {
  remember(moment);
  write_place(moment);
}

static void finish_v4(mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  int terminates = parameters[TERMINATES] != 0, healthy = is_healthy(moment);
  double velocity[2], alive = (double)(healthy || terminates) * parameters[HEALTHY];
  double control = humanoid_control_cost(moment), costs = control;

  move(moment, velocity);
  double forward = parameters[FORWARD] * velocity[0];
  if (parameters[CONTACT] != 0) costs += contact_cost(moment);
  moment->reward = forward + alive - costs;
  moment->terminated = !healthy && terminates;
  moment->infos[0] = forward;
  moment->infos[1] = -control;
  moment->infos[2] = alive;
  moment->infos[3] = moment->carry[0];
  moment->infos[4] = moment->carry[1];
  moment->infos[5] = mujoco_norm(moment->shared, moment->carry, 2);
  moment->infos[6] = velocity[0];
  moment->infos[7] = velocity[1];
  moment->infos[8] = forward;
}

static void finish_v5(mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  int healthy = is_healthy(moment);
  double velocity[2], survive = (double)healthy * parameters[HEALTHY];
  double control = humanoid_control_cost(moment), contact = contact_cost(moment);
  double *info = write_place(moment);

  move(moment, velocity);
  double forward = parameters[FORWARD] * velocity[0];
  moment->reward = forward + survive - (control + contact);
  moment->terminated = !healthy && parameters[TERMINATES] != 0;
  *info++ = velocity[0];
  *info++ = velocity[1];
  *info++ = survive;
  *info++ = forward;
  *info++ = -control;
  *info++ = -contact;
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = 3,
                                    .prepare = prepare_v4,
                                    .draw = humanoid_draw,
                                    .observe = humanoid_observe,
                                    .begin = remember,
                                    .finish = finish_v4,
                                    MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v5 = {.least_nq = 3,
                                    .prepare = prepare_v5,
                                    .draw = humanoid_draw,
                                    .observe = humanoid_observe,
                                    .begin = begin_v5,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_humanoid_v3 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Humanoid-v3",       .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_humanoid_v4 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Humanoid-v4",       .reference = "gymnasium 1.4.0 Humanoid-v4",
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_humanoid_v5 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v5),
    .id = "Humanoid-v5",       .reference = "gymnasium 1.4.0 Humanoid-v5",
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v5,
};
