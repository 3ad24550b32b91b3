/* HalfCheetah: a two-legged runner in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/half_cheetah_v4.py, half_cheetah_v5.py) bit for bit. */
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum {
  FORWARD_REWARD_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  CTRL_COST_WEIGHT,
  RESET_NOISE_SCALE,
  EXCLUDE_POSITIONS,
};

static const pp_option option_table[] = {
    MUJOCO_COMMON_OPTIONS("half_cheetah.xml", 5),
    MUJOCO_WEIGHT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),
    MUJOCO_ACTION_WEIGHT("ctrl_cost_weight", 0.1, "weight of the squared action in the reward"),
    MUJOCO_NOISE_SCALE(0.1),
    MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out the x position"),
};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_run", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
};

/* --------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options;
  mujoco_prepare_state(shared, RESET_NOISE_SCALE, options[EXCLUDE_POSITIONS].i ? 1 : 0);
  return PP_OK;
}

/* -------------------------------------------------------------------------- reset and step -- */

static void after_reset(mujoco_transition *transition) {
  mujoco_keep_point(transition, transition->now->qpos, 1);
  transition->infos[0] = transition->now->qpos[0];
}

static void after_step(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double control = mujoco_control_cost(transition, &options[CTRL_COST_WEIGHT]);
  double velocity, *infos = transition->infos;

  mujoco_velocity(transition, transition->now->qpos, 1, &velocity);
  double forward = options[FORWARD_REWARD_WEIGHT].f * velocity;
  transition->reward = forward - control;
  infos[0] = transition->now->qpos[0];
  infos[1] = velocity;
  infos[2] = forward;
  infos[3] = -control;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                                             \
  .least_nq = 1, .prepare = prepare, .draw_state = mujoco_draw_uniform_normal,           \
  .observe = mujoco_observe_state, .after_reset = after_reset, .after_step = after_step, \
  .weight_option = CTRL_COST_WEIGHT

static const mujoco_task task_v4 = {TASK, MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v5 = {TASK, MUJOCO_INFOS(infos_v5)};

#define DEFINITION                                                               \
  MUJOCO_DEFINITION, MUJOCO_OPTIONS(option_table), .has_reward_threshold = true, \
      .reward_threshold = 4800.0, .max_episode_steps = 1000

const pp_env_def pp_env_half_cheetah[3] = {
    {DEFINITION, MUJOCO_ENVPOOL("HalfCheetah-v3"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("HalfCheetah-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("HalfCheetah-v5"), .data = &task_v5},
};
