/* Swimmer: three links that swim in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/swimmer_v4.py, swimmer_v5.py) bit for bit. */
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum {
  FORWARD_REWARD_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  CTRL_COST_WEIGHT,
  RESET_NOISE_SCALE,
  EXCLUDE_POSITIONS,
};

static const pp_option option_table[] = {
    MUJOCO_COMMON_OPTIONS("swimmer.xml", 4),
    MUJOCO_WEIGHT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),
    MUJOCO_ACTION_WEIGHT("ctrl_cost_weight", 1e-4, "weight of the squared action in the reward"),
    MUJOCO_NOISE_SCALE(0.1),
    MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y"),
};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_fwd", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
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
    MUJOCO_ACTION_INFO("reward_ctrl"),
};

/* --------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options;
  mujoco_prepare_state(shared, RESET_NOISE_SCALE, options[EXCLUDE_POSITIONS].i ? 2 : 0);
  return PP_OK;
}

/* -------------------------------------------------------------------------- reset and step -- */

static void after_reset_v4(mujoco_transition *transition) {
  mujoco_keep_point(transition, transition->now->qpos, 2);
}

static void after_reset_v5(mujoco_transition *transition) {
  mujoco_keep_point(transition, transition->now->qpos, 2);
  mujoco_write_place(transition->shared, transition->now->qpos, transition->infos);
}

/* the terms of a step's reward, and what they come from */
typedef struct outcome {
  double velocity[2];
  double forward;
  double control;
} outcome;

/* computes the reward */
static outcome evaluate(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  outcome it = {.control = mujoco_control_cost(transition, &options[CTRL_COST_WEIGHT])};

  mujoco_velocity(transition, transition->now->qpos, 2, it.velocity);
  it.forward = options[FORWARD_REWARD_WEIGHT].f * it.velocity[0];
  transition->reward = it.forward - it.control;
  return it;
}

static void after_step_v4(mujoco_transition *transition) {
  outcome it = evaluate(transition);
  double *infos = transition->infos;
  infos[0] = it.forward;
  infos[1] = -it.control;
  mujoco_write_place(transition->shared, transition->now->qpos, infos + 2);
  infos[5] = it.velocity[0];
  infos[6] = it.velocity[1];
  infos[7] = it.forward;
}

static void after_step_v5(mujoco_transition *transition) {
  outcome it = evaluate(transition);
  double *infos = transition->infos;
  mujoco_write_place(transition->shared, transition->now->qpos, infos);
  infos[3] = it.velocity[0];
  infos[4] = it.velocity[1];
  infos[5] = it.forward;
  infos[6] = -it.control;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                            \
  .least_nq = 2, .prepare = prepare, .draw_state = mujoco_draw_uniform, \
  .observe = mujoco_observe_state, .weight_option = CTRL_COST_WEIGHT

static const mujoco_task task_v4 = {
    TASK,
    .after_reset = after_reset_v4,
    .after_step = after_step_v4,
    MUJOCO_INFOS(infos_v4),
};
static const mujoco_task task_v5 = {
    TASK,
    .after_reset = after_reset_v5,
    .after_step = after_step_v5,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION                                                               \
  MUJOCO_DEFINITION, MUJOCO_OPTIONS(option_table), .has_reward_threshold = true, \
      .reward_threshold = 360.0, .max_episode_steps = 1000

const pp_env_def pp_env_swimmer[3] = {
    {DEFINITION, MUJOCO_ENVPOOL("Swimmer-v3"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("Swimmer-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("Swimmer-v5"), .data = &task_v5},
};
