/* Swimmer: three links that swim in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/swimmer_v4.py, swimmer_v5.py) bit for bit.
 */
#include "task.h"

enum { FORWARD_REWARD_WEIGHT = MUJOCO_OWN, CTRL_COST_WEIGHT, RESET_NOISE_SCALE, EXCLUDE_POSITIONS };

/* parameters by the names of the options that they come from */
enum { FORWARD, CONTROL, NOISE, SKIPPED };

static const pp_option options[] = {
    MUJOCO_COMMON_OPTIONS("swimmer.xml", 4),
    MUJOCO_FLOAT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),
    MUJOCO_FLOAT("ctrl_cost_weight", 1e-4, "weight of the squared action in the reward"),
    MUJOCO_NOISE_SCALE(0.1),
    MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y"),
};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_fwd", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
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
    MUJOCO_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
};

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;
  parameters[FORWARD] = given[FORWARD_REWARD_WEIGHT].f;
  parameters[CONTROL] = given[CTRL_COST_WEIGHT].f;
  parameters[NOISE] = given[RESET_NOISE_SCALE].f;
  parameters[SKIPPED] = given[EXCLUDE_POSITIONS].i ? 2 : 0;
  shared->obs_size = shared->nq + shared->nv - (int32_t)parameters[SKIPPED];
  return PP_OK;
}

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_uniform(rng, scale, qvel, shared->nv);
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  mujoco_observe_state(shared, now, (int32_t)shared->parameters[SKIPPED], obs);
}

/* where it is; before the next step, where it was */
static void remember(mujoco_moment *moment) {
  moment->carry[0] = moment->now->qpos[0];
  moment->carry[1] = moment->now->qpos[1];
}

/* x, y, and how far that is from the origin */
static void tell_place(const mujoco_moment *moment, double infos[3]) {
  const double *qpos = moment->now->qpos;
  infos[0] = qpos[0];
  infos[1] = qpos[1];
  infos[2] = mujoco_norm(moment->shared, qpos, 2);
}

static void begin_v5(mujoco_moment *moment) {
  remember(moment);
  tell_place(moment, moment->infos);
}

/* what a step came to */
typedef struct outcome {
  double velocity[2];
  double forward;
  double control;
} outcome;

static outcome settle(mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  double before[2] = {moment->carry[0], moment->carry[1]};
  outcome it = {.control = mujoco_control_cost(moment, shared->parameters[CONTROL])};

  remember(moment);
  for (int i = 0; i < 2; i++) it.velocity[i] = (moment->carry[i] - before[i]) / shared->dt;
  it.forward = shared->parameters[FORWARD] * it.velocity[0];
  moment->reward = it.forward - it.control;
  return it;
}

static void finish_v4(mujoco_moment *moment) {
  outcome it = settle(moment);
  moment->infos[0] = it.forward;
  moment->infos[1] = -it.control;
  tell_place(moment, moment->infos + 2);
  moment->infos[5] = it.velocity[0];
  moment->infos[6] = it.velocity[1];
  moment->infos[7] = it.forward;
}

static void finish_v5(mujoco_moment *moment) {
  outcome it = settle(moment);
  tell_place(moment, moment->infos);
  moment->infos[3] = it.velocity[0];
  moment->infos[4] = it.velocity[1];
  moment->infos[5] = it.forward;
  moment->infos[6] = -it.control;
}

static const mujoco_task task_v4 = {.least_nq = 2,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = remember,
                                    .finish = finish_v4,
                                    MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v5 = {.least_nq = 2,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = begin_v5,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_swimmer_v3 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Swimmer-v3",        .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 360.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_swimmer_v4 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Swimmer-v4",        .reference = "gymnasium 1.4.0 Swimmer-v4",
    .reward_threshold = 360.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_swimmer_v5 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Swimmer-v5",        .reference = "gymnasium 1.4.0 Swimmer-v5",
    .reward_threshold = 360.0, .max_episode_steps = 1000,
    .configure = configure_v5,
};
