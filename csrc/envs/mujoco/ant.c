/* Ant: a four-legged runner in space.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/ant_v4.py, ant_v5.py) bit for bit. */
#include "ant.h"

#include "base/fail.h"

/* ------------------------------------------------------------------------ options and infos -- */

/* EnvPool's v3 observes contact forces by default. */
#define FIXED              \
  MUJOCO_NOISE_SCALE(0.1), \
      MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y")

static const pp_option options_v3[] = {
    ANT_OPTIONS(ANT_MAIN_BODY_V4, ANT_FORCES_V4(1), MUJOCO_FLOAT_SURVIVE_WEIGHT, FIXED)};
static const pp_option options_v4[] = {
    ANT_OPTIONS(ANT_MAIN_BODY_V4, ANT_FORCES_V4(0), MUJOCO_FLOAT_SURVIVE_WEIGHT, FIXED)};
static const pp_option options_v5[] = {
    ANT_OPTIONS(ANT_MAIN_BODY_V5, ANT_FORCES_V5, MUJOCO_SURVIVE_WEIGHT, FIXED)};

/* With contact forces, v4 overwrites reward_ctrl with their cost, which has another dtype. */
#define INFOS_V4(reward_ctrl)                                                                     \
  MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64), reward_ctrl,                                    \
      MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64), MUJOCO_STEP_INFO("x_position", PP_FLOAT64), \
      MUJOCO_STEP_INFO("y_position", PP_FLOAT64),                                                 \
      MUJOCO_STEP_INFO("distance_from_origin", PP_FLOAT64),                                       \
      MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64), MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),     \
      MUJOCO_STEP_INFO("forward_reward", PP_FLOAT64)

static const pp_field infos_v4[] = {INFOS_V4(MUJOCO_ACTION_INFO("reward_ctrl"))};
static const pp_field infos_v4_with_forces[] = {
    INFOS_V4(MUJOCO_STEP_INFO("reward_ctrl", PP_FLOAT64))};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_INFO("y_position", PP_FLOAT64),
    MUJOCO_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
    MUJOCO_STEP_INFO("reward_contact", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
};

/* --------------------------------------------------------------------------------- prepare -- */

/* in ids: the body whose velocity counts */
enum { MAIN };

/* sets what both versions need; first_body: the first one whose contact forces are observed */
static int prepare(pp_config *config, mujoco_shared *shared, int32_t first_body) {
  const pp_value *options = shared->options;
  int64_t body = options[ANT_MAIN_BODY].i;

  if (body >= shared->sim.nbody) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "main_body=%lld: the model has bodies 0 to %d",
                   (long long)body, shared->sim.nbody - 1);
  }
  shared->ids[MAIN] = (int32_t)body;
  mujoco_prepare_state(shared, ANT_RESET_NOISE_SCALE, options[ANT_EXCLUDE_POSITIONS].i ? 2 : 0);
  if (options[ANT_INCLUDE_FORCES].i) shared->obs_size += 6 * (shared->sim.nbody - first_body);
  return PP_OK;
}

/* v4, if it observes the contact forces: the info reward_ctrl then has them */
static const mujoco_task task_v4_with_forces;

/* v4 observes the contact forces on the world too. They cost only if they are observed. */
static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  static const char *const torso = "torso";
  int status = prepare(config, shared, 0);

  if (status >= 0 && shared->ids[MAIN] < 0) status = mujoco_find_bodies(config, shared, &torso, 1);
  shared->needs_constraint_forces = shared->options[ANT_INCLUDE_FORCES].i != 0;
  if (shared->needs_constraint_forces) shared->task = &task_v4_with_forces;
  return status;
}

/* v5 does not observe the contact forces on the world. They cost even if they are not observed. */
static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  shared->needs_constraint_forces = true;
  return prepare(config, shared, 1);
}

/* -------------------------------------------------------------------------- reset and step -- */

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs,
                    int32_t first_body) {
  const pp_value *options = shared->options;
  double low = options[ANT_CONTACT_FORCE_MIN].f, high = options[ANT_CONTACT_FORCE_MAX].f;

  obs = mujoco_write_state(shared, now, obs);
  if (!options[ANT_INCLUDE_FORCES].i) return;
  for (int32_t i = 6 * first_body; i < 6 * shared->sim.nbody; i++) {
    *obs++ = mujoco_clip(now->cfrc_ext[i], low, high);
  }
}

static void observe_v4(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  observe(shared, now, obs, 0);
}

static void observe_v5(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  observe(shared, now, obs, 1);
}

static bool is_healthy(const mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double z = transition->now->qpos[2];
  return mujoco_is_finite(transition) && options[ANT_HEALTHY_Z_MIN].f <= z &&
         z <= options[ANT_HEALTHY_Z_MAX].f;
}

static double contact_cost(const mujoco_transition *transition) {
  const mujoco_shared *shared = transition->shared;
  const pp_value *options = transition->options;
  return options[ANT_CONTACT_COST_WEIGHT].f *
         mujoco_clipped_square_sum(transition->now->cfrc_ext, 6 * shared->sim.nbody,
                                   options[ANT_CONTACT_FORCE_MIN].f,
                                   options[ANT_CONTACT_FORCE_MAX].f);
}

static const double *main_body(const mujoco_transition *transition) {
  return transition->now->xpos + 3 * transition->shared->ids[MAIN];
}

static void after_reset_v4(mujoco_transition *transition) {
  mujoco_keep_point(transition, main_body(transition), 2);
}

static void after_reset_v5(mujoco_transition *transition) {
  mujoco_keep_point(transition, main_body(transition), 2);
  mujoco_write_place(transition->shared, transition->now->qpos, transition->infos);
}

static void after_step_v4(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  bool terminates = options[ANT_TERMINATE_WHEN_UNHEALTHY].i != 0, healthy = is_healthy(transition);
  double survive = (double)(healthy || terminates) * options[ANT_HEALTHY_REWARD].f;
  double costs = mujoco_control_cost(transition, &options[ANT_CTRL_COST_WEIGHT]);
  double reward_ctrl = -costs, velocity[2], *infos = transition->infos;

  mujoco_velocity(transition, main_body(transition), 2, velocity);
  double forward = velocity[0] * options[ANT_FORWARD_REWARD_WEIGHT].f;
  if (options[ANT_INCLUDE_FORCES].i) {
    double contact = contact_cost(transition);
    costs += contact;
    reward_ctrl = -contact;
  }
  transition->reward = forward + survive - costs;
  transition->terminated = !healthy && terminates;
  infos[0] = forward;
  infos[1] = reward_ctrl;
  infos[2] = survive;
  mujoco_write_place(transition->shared, main_body(transition), infos + 3);
  infos[6] = velocity[0];
  infos[7] = velocity[1];
  infos[8] = forward;
}

static void after_step_v5(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  bool healthy = is_healthy(transition);
  double survive = (double)healthy * options[ANT_HEALTHY_REWARD].f;
  double control = mujoco_control_cost(transition, &options[ANT_CTRL_COST_WEIGHT]);
  double contact = contact_cost(transition), velocity[2], *infos = transition->infos;

  mujoco_velocity(transition, main_body(transition), 2, velocity);
  double forward = velocity[0] * options[ANT_FORWARD_REWARD_WEIGHT].f;
  transition->reward = forward + survive - (control + contact);
  transition->terminated = !healthy && options[ANT_TERMINATE_WHEN_UNHEALTHY].i;
  mujoco_write_place(transition->shared, transition->now->qpos, infos);
  infos[3] = velocity[0];
  infos[4] = velocity[1];
  infos[5] = forward;
  infos[6] = -control;
  infos[7] = -contact;
  infos[8] = survive;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK_V4                                                                      \
  .least_nq = 3, .prepare = prepare_v4, .draw_state = mujoco_draw_uniform_normal,    \
  .observe = observe_v4, .after_reset = after_reset_v4, .after_step = after_step_v4, \
  .weight_option = ANT_CTRL_COST_WEIGHT, .survive_info = 2, .survive_option = ANT_HEALTHY_REWARD

const mujoco_task mujoco_ant_v4 = {TASK_V4, MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v4_with_forces = {TASK_V4, MUJOCO_INFOS(infos_v4_with_forces)};
const mujoco_task mujoco_ant_v5 = {
    .least_nq = 3,
    .prepare = prepare_v5,
    .draw_state = mujoco_draw_uniform_normal,
    .observe = observe_v5,
    .after_reset = after_reset_v5,
    .after_step = after_step_v5,
    .weight_option = ANT_CTRL_COST_WEIGHT,
    .survive_info = 8,
    .survive_option = ANT_HEALTHY_REWARD,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION                                                             \
  MUJOCO_DEFINITION, .has_reward_threshold = true, .reward_threshold = 6000.0, \
      .max_episode_steps = 1000

const pp_env_def pp_env_ant[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v3), MUJOCO_ENVPOOL("Ant-v3"), .data = &mujoco_ant_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_GYMNASIUM("Ant-v4"), .data = &mujoco_ant_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("Ant-v5"), .data = &mujoco_ant_v5},
};
