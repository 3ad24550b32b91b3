/* Hopper: one leg that hops in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/hopper_v4.py, hopper_v5.py) bit for bit. */
#include "upright.h"

enum { HEALTHY_STATE_MIN = UPRIGHT_NUM_COMMON_OPTIONS, HEALTHY_STATE_MAX };

#define OPTIONS(survive)                                                                          \
  UPRIGHT_OPTIONS("hopper.xml", 0.7, HUGE_VAL, 0.2, survive),                                     \
      MUJOCO_WEIGHT("healthy_state_min", -100.0,                                                  \
                    "healthy positions except x and z, and all healthy velocities, are greater"), \
      MUJOCO_WEIGHT("healthy_state_max", 100.0,                                                   \
                    "healthy positions except x and z, and all healthy velocities, are less")

static const pp_option options_v4[] = {OPTIONS(MUJOCO_PLAIN_SURVIVE_WEIGHT)};
static const pp_option options_v5[] = {OPTIONS(MUJOCO_SURVIVE_WEIGHT)};

static bool is_healthy(const mujoco_transition *transition) {
  const mujoco_shared *shared = transition->shared;
  double low = transition->options[HEALTHY_STATE_MIN].f;
  double high = transition->options[HEALTHY_STATE_MAX].f;
  const double *qpos = transition->now->qpos, *qvel = transition->now->qvel;
  bool healthy = upright_is_healthy(transition);

  for (int32_t i = 2; i < shared->sim.nq; i++) healthy &= low < qpos[i] && qpos[i] < high;
  for (int32_t i = 0; i < shared->sim.nv; i++) healthy &= low < qvel[i] && qvel[i] < high;
  return healthy;
}

static void after_step_v4(mujoco_transition *transition) {
  upright_after_step_v4(transition, is_healthy(transition));
}

static void after_step_v5(mujoco_transition *transition) {
  upright_after_step_v5(transition, is_healthy(transition));
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {UPRIGHT_TASK(v4, V4)};
static const mujoco_task task_v5 = {UPRIGHT_TASK(v5, V5)};

#define DEFINITION                                                             \
  MUJOCO_DEFINITION, .has_reward_threshold = true, .reward_threshold = 3800.0, \
      .max_episode_steps = 1000

const pp_env_def pp_env_hopper[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("Hopper-v3"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_GYMNASIUM("Hopper-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("Hopper-v5"), .data = &task_v5},
};
