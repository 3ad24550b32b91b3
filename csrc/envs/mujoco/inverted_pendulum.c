/* InvertedPendulum: a cart that balances a pole.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/inverted_pendulum_v4.py, inverted_pendulum_v5.py) bit for
 * bit. */
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum { RESET_NOISE_SCALE = MUJOCO_NUM_COMMON_OPTIONS };

static const pp_option option_table[] = {
    MUJOCO_COMMON_OPTIONS("inverted_pendulum.xml", 2),
    MUJOCO_NOISE_SCALE(0.01),
};

/* v4 has no infos */
static const pp_field infos_v5[] = {MUJOCO_STEP_INFO("reward_survive", PP_INT64)};

/* --------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared) {
  (void)config;
  mujoco_prepare_state(shared, RESET_NOISE_SCALE, 0);
  return PP_OK;
}

/* -------------------------------------------------------------------------- reset and step -- */

static void after_step_v4(mujoco_transition *transition) {
  transition->terminated = !mujoco_is_finite(transition) || fabs(transition->now->qpos[1]) > 0.2;
  transition->reward = 1;
}

static void after_step_v5(mujoco_transition *transition) {
  after_step_v4(transition);
  transition->reward = !transition->terminated;
  transition->infos[0] = transition->reward;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                            \
  .least_nq = 2, .prepare = prepare, .draw_state = mujoco_draw_uniform, \
  .observe = mujoco_observe_state

static const mujoco_task task_v4 = {TASK, .after_step = after_step_v4};
static const mujoco_task task_v5 = {TASK, .after_step = after_step_v5, MUJOCO_INFOS(infos_v5)};

#define DEFINITION                                                               \
  MUJOCO_DEFINITION, MUJOCO_OPTIONS(option_table), .has_reward_threshold = true, \
      .reward_threshold = 950.0, .max_episode_steps = 1000

const pp_env_def pp_env_inverted_pendulum[3] = {
    {DEFINITION, MUJOCO_ENVPOOL("InvertedPendulum-v2"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("InvertedPendulum-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("InvertedPendulum-v5"), .data = &task_v5},
};
