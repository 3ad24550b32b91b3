/* Ant: a four-legged runner in space.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/ant_v4.py, ant_v5.py) bit for bit.
 */
#include <stdio.h>

#include "task.h"

/* own options, in the order of both tables */
enum {
  FORWARD_REWARD_WEIGHT = MUJOCO_OWN,
  CTRL_COST_WEIGHT,
  CONTACT_COST_WEIGHT,
  HEALTHY_REWARD,
  MAIN_BODY,
  TERMINATE_WHEN_UNHEALTHY,
  HEALTHY_Z_MIN,
  HEALTHY_Z_MAX,
  CONTACT_FORCE_MIN,
  CONTACT_FORCE_MAX,
  RESET_NOISE_SCALE,
  EXCLUDE_POSITIONS,
  INCLUDE_FORCES,
};

/* parameters, and the body whose velocity counts */
enum {
  FORWARD,
  CONTROL,
  CONTACT,
  HEALTHY,
  TERMINATES,
  Z_MIN,
  Z_MAX,
  FORCE_MIN,
  FORCE_MAX,
  NOISE,
  SKIPPED,
  HAS_FORCES
};
enum { MAIN };

#define OPTIONS(main_body, forces)                                                               \
  MUJOCO_COMMON_OPTIONS("ant.xml", 5),                                                           \
      MUJOCO_FLOAT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),        \
      MUJOCO_FLOAT("ctrl_cost_weight", 0.5, "weight of the squared action in the reward"),       \
      MUJOCO_FLOAT("contact_cost_weight", 5e-4, "weight of squared contact forces"),             \
      MUJOCO_FLOAT("healthy_reward", 1.0, "reward of a step that ends healthy"), main_body,      \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"),      \
      MUJOCO_FLOAT("healthy_z_min", 0.2, "least healthy height of the torso"),                   \
      MUJOCO_FLOAT("healthy_z_max", 1.0, "greatest healthy height of the torso"),                \
      MUJOCO_FLOAT("contact_force_min", -1.0, "least contact force, smaller ones are cut"),      \
      MUJOCO_FLOAT("contact_force_max", 1.0, "greatest contact force"), MUJOCO_NOISE_SCALE(0.1), \
      MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y"), forces

#define MAIN_BODY_V4                      \
  MUJOCO_INT("main_body", -1, -1, 100000, \
             "body whose velocity counts, by number or name; -1: the one named torso")
#define FORCES_V4(is_included) \
  MUJOCO_BOOL("use_contact_forces", is_included, "observe contact forces, and have them cost")

static const pp_option options_v3[] = {OPTIONS(MAIN_BODY_V4, FORCES_V4(1))};
static const pp_option options_v4[] = {OPTIONS(MAIN_BODY_V4, FORCES_V4(0))};
static const pp_option options_v5[] = {
    OPTIONS(MUJOCO_INT("main_body", 1, 0, 100000, "body whose velocity counts, by number or name"),
            MUJOCO_BOOL("include_cfrc_ext_in_observation", 1, "observe contact forces")),
};

/* v4 calls the cost of contacts reward_ctrl too, where it has one, and then in another dtype */
#define INFOS_V4(reward_ctrl)                                                                     \
  MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64), reward_ctrl,                                    \
      MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64), MUJOCO_STEP_INFO("x_position", PP_FLOAT64), \
      MUJOCO_STEP_INFO("y_position", PP_FLOAT64),                                                 \
      MUJOCO_STEP_INFO("distance_from_origin", PP_FLOAT64),                                       \
      MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64), MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),     \
      MUJOCO_STEP_INFO("forward_reward", PP_FLOAT64)

static const pp_field infos_v4[] = {INFOS_V4(MUJOCO_FOLLOWING_INFO("reward_ctrl"))};
static const pp_field infos_v4_with_forces[] = {
    INFOS_V4(MUJOCO_STEP_INFO("reward_ctrl", PP_FLOAT64))};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_INFO("y_position", PP_FLOAT64),
    MUJOCO_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
    MUJOCO_STEP_INFO("reward_contact", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
};

/* ------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;
  int64_t body = given[MAIN_BODY].i;

  if (body >= shared->nbody) {
    snprintf(config->error->text, sizeof(config->error->text),
             "main_body=%lld: the model has bodies 0 to %d", (long long)body, shared->nbody - 1);
    return PP_ERR_ARGUMENT;
  }
  shared->ids[MAIN] = (int32_t)body;
  parameters[FORWARD] = given[FORWARD_REWARD_WEIGHT].f;
  parameters[CONTROL] = given[CTRL_COST_WEIGHT].f;
  parameters[CONTACT] = given[CONTACT_COST_WEIGHT].f;
  parameters[HEALTHY] = given[HEALTHY_REWARD].f;
  parameters[TERMINATES] = (double)given[TERMINATE_WHEN_UNHEALTHY].i;
  parameters[Z_MIN] = given[HEALTHY_Z_MIN].f;
  parameters[Z_MAX] = given[HEALTHY_Z_MAX].f;
  parameters[FORCE_MIN] = given[CONTACT_FORCE_MIN].f;
  parameters[FORCE_MAX] = given[CONTACT_FORCE_MAX].f;
  parameters[NOISE] = given[RESET_NOISE_SCALE].f;
  parameters[SKIPPED] = given[EXCLUDE_POSITIONS].i ? 2 : 0;
  parameters[HAS_FORCES] = (double)given[INCLUDE_FORCES].i;
  shared->obs_size = shared->nq + shared->nv - (int32_t)parameters[SKIPPED];
  return PP_OK;
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  int status = prepare(config, shared);
  if (status >= 0 && shared->ids[MAIN] < 0) {
    status = mujoco_find(config, shared, MUJOCO_BODY, "torso", &shared->ids[MAIN]);
  }
  // contacts cost only where they are observed, and those on the world are observed as well
  if (shared->parameters[HAS_FORCES] != 0) {
    shared->obs_size += 6 * shared->nbody;
    shared->needs_constraint_forces = 1;
  }
  return status;
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  int status = prepare(config, shared);
  // contacts cost, observed or not; those on the world are not observed
  if (shared->parameters[HAS_FORCES] != 0) shared->obs_size += 6 * (shared->nbody - 1);
  shared->needs_constraint_forces = 1;
  return status;
}

/* ------------------------------------------------------------------------- reset and step -- */

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_normal(rng, scale, qvel, shared->nv);
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs,
                    int32_t first_body) {
  const double *parameters = shared->parameters;

  obs = mujoco_observe_state(shared, now, (int32_t)parameters[SKIPPED], obs);
  if (parameters[HAS_FORCES] == 0) return;
  for (int32_t i = 6 * first_body; i < 6 * shared->nbody; i++) {
    *obs++ = mujoco_clip(now->cfrc_ext[i], parameters[FORCE_MIN], parameters[FORCE_MAX]);
  }
}

static void observe_v4(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  observe(shared, now, obs, 0);
}

static void observe_v5(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  observe(shared, now, obs, 1);
}

static int is_healthy(const mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  double z = moment->now->qpos[2];
  return mujoco_is_finite(moment) && parameters[Z_MIN] <= z && z <= parameters[Z_MAX];
}

static double contact_cost(const mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  const double *parameters = shared->parameters;
  return parameters[CONTACT] * mujoco_clipped_square_sum(moment->now->cfrc_ext, 6 * shared->nbody,
                                                         parameters[FORCE_MIN],
                                                         parameters[FORCE_MAX]);
}

/* where the main body is; before the next step, where it was */
static void remember(mujoco_moment *moment) {
  const double *xpos = moment->now->xpos + 3 * moment->shared->ids[MAIN];
  moment->carry[0] = xpos[0];
  moment->carry[1] = xpos[1];
}

static void begin_v5(mujoco_moment *moment) {
  const double *qpos = moment->now->qpos;
  remember(moment);
  moment->infos[0] = qpos[0];
  moment->infos[1] = qpos[1];
  moment->infos[2] = mujoco_norm(moment->shared, qpos, 2);
}

/* velocity of the main body since it was remembered */
static void move(mujoco_moment *moment, double velocity[2]) {
  double before[2] = {moment->carry[0], moment->carry[1]};
  remember(moment);
  for (int i = 0; i < 2; i++) velocity[i] = (moment->carry[i] - before[i]) / moment->shared->dt;
}

static void finish_v4(mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters;
  int terminates = parameters[TERMINATES] != 0, healthy = is_healthy(moment);
  double velocity[2], survive = (double)(healthy || terminates) * parameters[HEALTHY];
  double costs = mujoco_control_cost(moment, parameters[CONTROL]), reward_ctrl = -costs;

  move(moment, velocity);
  double forward = velocity[0] * parameters[FORWARD];
  if (parameters[HAS_FORCES] != 0) {
    double contact = contact_cost(moment);
    costs += contact;
    reward_ctrl = -contact;
  }
  moment->reward = forward + survive - costs;
  moment->terminated = !healthy && terminates;
  moment->infos[0] = forward;
  moment->infos[1] = reward_ctrl;
  moment->infos[2] = survive;
  moment->infos[3] = moment->carry[0];
  moment->infos[4] = moment->carry[1];
  moment->infos[5] = mujoco_norm(moment->shared, moment->carry, 2);
  moment->infos[6] = velocity[0];
  moment->infos[7] = velocity[1];
  moment->infos[8] = forward;
}

static void finish_v5(mujoco_moment *moment) {
  const double *parameters = moment->shared->parameters, *qpos = moment->now->qpos;
  int healthy = is_healthy(moment);
  double velocity[2], survive = (double)healthy * parameters[HEALTHY];
  double control = mujoco_control_cost(moment, parameters[CONTROL]);
  double contact = contact_cost(moment);

  move(moment, velocity);
  double forward = velocity[0] * parameters[FORWARD];
  moment->reward = forward + survive - (control + contact);
  moment->terminated = !healthy && parameters[TERMINATES] != 0;
  moment->infos[0] = qpos[0];
  moment->infos[1] = qpos[1];
  moment->infos[2] = mujoco_norm(moment->shared, qpos, 2);
  moment->infos[3] = velocity[0];
  moment->infos[4] = velocity[1];
  moment->infos[5] = forward;
  moment->infos[6] = -control;
  moment->infos[7] = -contact;
  moment->infos[8] = survive;
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = 3,
                                    .prepare = prepare_v4,
                                    .draw = draw,
                                    .observe = observe_v4,
                                    .begin = remember,
                                    .finish = finish_v4,
                                    MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v4_with_forces = {.least_nq = 3,
                                                .prepare = prepare_v4,
                                                .draw = draw,
                                                .observe = observe_v4,
                                                .begin = remember,
                                                .finish = finish_v4,
                                                MUJOCO_INFOS(infos_v4_with_forces)};
static const mujoco_task task_v5 = {.least_nq = 3,
                                    .prepare = prepare_v5,
                                    .draw = draw,
                                    .observe = observe_v5,
                                    .begin = begin_v5,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  int has_forces = config->options[INCLUDE_FORCES].i != 0;
  return mujoco_configure(config, has_forces ? &task_v4_with_forces : &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

/* EnvPool's v3 observes contact forces unless told otherwise */
const pp_env_def pp_env_ant_v3 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options_v3),
    .id = "Ant-v3",
    .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 6000.0,
    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_ant_v4 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options_v4),
    .id = "Ant-v4",
    .reference = "gymnasium 1.4.0 Ant-v4",
    .reward_threshold = 6000.0,
    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_ant_v5 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options_v5),
    .id = "Ant-v5",
    .reference = "gymnasium 1.4.0 Ant-v5",
    .reward_threshold = 6000.0,
    .max_episode_steps = 1000,
    .configure = configure_v5,
};
