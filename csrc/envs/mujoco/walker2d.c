/* Walker2d: two legs that walk in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/walker2d_v4.py, walker2d_v5.py) bit for bit.
 */
#include "upright.h"

static const pp_option options_v4[] = {UPRIGHT_OPTIONS("walker2d.xml", 0.8, 2.0, 1.0)};
/* another friction of the feet */
static const pp_option options_v5[] = {UPRIGHT_OPTIONS("walker2d_v5.xml", 0.8, 2.0, 1.0)};

static void finish_v4(mujoco_moment *moment) {
  upright_finish_v4(moment, upright_stands(moment));
}

static void finish_v5(mujoco_moment *moment) {
  upright_finish_v5(moment, upright_stands(moment));
}

static const mujoco_task task_v4 =
    UPRIGHT_TASK(upright_prepare, upright_begin_v4, finish_v4, infos_v4);
static const mujoco_task task_v5 =
    UPRIGHT_TASK(upright_prepare, upright_begin_v5, finish_v5, infos_v5);

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_walker2d_v3 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Walker2d-v3",       .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_walker2d_v4 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Walker2d-v4",       .reference = "gymnasium 1.4.0 Walker2d-v4",
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_walker2d_v5 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v5),
    .id = "Walker2d-v5",       .reference = "gymnasium 1.4.0 Walker2d-v5",
    .reward_threshold = NAN,   .max_episode_steps = 1000,
    .configure = configure_v5,
};
