/* HalfCheetah: a two-legged runner in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/half_cheetah_v4.py, half_cheetah_v5.py) bit for bit.
 */
#include "task.h"

enum { FORWARD_REWARD_WEIGHT = MUJOCO_OWN, CTRL_COST_WEIGHT, RESET_NOISE_SCALE, EXCLUDE_POSITIONS };

/* parameters by the names of the options that they come from */
enum { FORWARD, CONTROL, NOISE, SKIPPED };

static const pp_option options[] = {
    MUJOCO_COMMON_OPTIONS("half_cheetah.xml", 5),
    MUJOCO_FLOAT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),
    MUJOCO_FLOAT("ctrl_cost_weight", 0.1, "weight of the squared action in the reward"),
    MUJOCO_NOISE_SCALE(0.1),
    MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out the x position"),
};

/* v4 and v5 differ in a name, and in what a reset tells */
static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_run", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
};

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;
  parameters[FORWARD] = given[FORWARD_REWARD_WEIGHT].f;
  parameters[CONTROL] = given[CTRL_COST_WEIGHT].f;
  parameters[NOISE] = given[RESET_NOISE_SCALE].f;
  parameters[SKIPPED] = (double)given[EXCLUDE_POSITIONS].i;
  shared->obs_size = shared->nq + shared->nv - (int32_t)parameters[SKIPPED];
  return PP_OK;
}

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_normal(rng, scale, qvel, shared->nv);
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  mujoco_observe_state(shared, now, (int32_t)shared->parameters[SKIPPED], obs);
}

static void begin(mujoco_moment *moment) {
  moment->carry[0] = moment->now->qpos[0];
  moment->infos[0] = moment->now->qpos[0];
}

static void finish(mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  const double *parameters = shared->parameters;
  double x = moment->now->qpos[0];
  double velocity = (x - moment->carry[0]) / shared->dt;
  double forward = parameters[FORWARD] * velocity;
  double control = mujoco_control_cost(moment, parameters[CONTROL]);

  moment->carry[0] = x;
  moment->reward = forward - control;
  moment->infos[0] = x;
  moment->infos[1] = velocity;
  moment->infos[2] = forward;
  moment->infos[3] = -control;
}

static const mujoco_task task_v4 = {.least_nq = 1,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = begin,
                                    .finish = finish,
                                    MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v5 = {.least_nq = 1,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = begin,
                                    .finish = finish,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_half_cheetah_v3 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HalfCheetah-v3",     .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 4800.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_half_cheetah_v4 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HalfCheetah-v4",     .reference = "gymnasium 1.4.0 HalfCheetah-v4",
    .reward_threshold = 4800.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_half_cheetah_v5 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HalfCheetah-v5",     .reference = "gymnasium 1.4.0 HalfCheetah-v5",
    .reward_threshold = 4800.0, .max_episode_steps = 1000,
    .configure = configure_v5,
};
