/* Walker2d: two legs that walk in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/walker2d_v4.py, walker2d_v5.py) bit for bit. */
#include "upright.h"

/* The models differ in the friction of the feet. */
static const pp_option options_v4[] = {
    UPRIGHT_OPTIONS("walker2d.xml", 0.8, 2.0, 1.0, MUJOCO_PLAIN_SURVIVE_WEIGHT)};
static const pp_option options_v5[] = {
    UPRIGHT_OPTIONS("walker2d_v5.xml", 0.8, 2.0, 1.0, MUJOCO_SURVIVE_WEIGHT)};

static void after_step_v4(mujoco_transition *transition) {
  upright_after_step_v4(transition, upright_is_healthy(transition));
}

static void after_step_v5(mujoco_transition *transition) {
  upright_after_step_v5(transition, upright_is_healthy(transition));
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {UPRIGHT_TASK(v4, V4)};
static const mujoco_task task_v5 = {UPRIGHT_TASK(v5, V5)};

#define DEFINITION MUJOCO_DEFINITION, .max_episode_steps = 1000

const pp_env_def pp_env_walker2d[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("Walker2d-v3"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_GYMNASIUM("Walker2d-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("Walker2d-v5"), .data = &task_v5},
};
