/* Hopper: one leg that hops in a plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/hopper_v4.py, hopper_v5.py) bit for bit.
 */
#include "upright.h"

enum { HEALTHY_STATE_MIN = UPRIGHT_OWN, HEALTHY_STATE_MAX };
enum { STATE_MIN = UPRIGHT_PARAMETERS, STATE_MAX };

static const pp_option options[] = {
    UPRIGHT_OPTIONS("hopper.xml", 0.7, HUGE_VAL, 0.2),
    MUJOCO_FLOAT("healthy_state_min", -100.0,
                 "healthy positions but x and z, and all velocities, "
                 "are greater"),
    MUJOCO_FLOAT("healthy_state_max", 100.0,
                 "healthy positions but x and z, and all velocities, "
                 "are less"),
};

static int prepare(pp_config *config, mujoco_shared *shared) {
  shared->parameters[STATE_MIN] = config->options[HEALTHY_STATE_MIN].f;
  shared->parameters[STATE_MAX] = config->options[HEALTHY_STATE_MAX].f;
  return upright_prepare(config, shared);
}

static int is_healthy(const mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  double low = shared->parameters[STATE_MIN], high = shared->parameters[STATE_MAX];
  const double *qpos = moment->now->qpos, *qvel = moment->now->qvel;
  int healthy = upright_stands(moment);

  for (int32_t i = 2; i < shared->nq; i++) healthy &= low < qpos[i] && qpos[i] < high;
  for (int32_t i = 0; i < shared->nv; i++) healthy &= low < qvel[i] && qvel[i] < high;
  return healthy;
}

static void finish_v4(mujoco_moment *moment) {
  upright_finish_v4(moment, is_healthy(moment));
}

static void finish_v5(mujoco_moment *moment) {
  upright_finish_v5(moment, is_healthy(moment));
}

static const mujoco_task task_v4 = UPRIGHT_TASK(prepare, upright_begin_v4, finish_v4, infos_v4);
static const mujoco_task task_v5 = UPRIGHT_TASK(prepare, upright_begin_v5, finish_v5, infos_v5);

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_hopper_v3 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "Hopper-v3",          .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 3800.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_hopper_v4 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "Hopper-v4",          .reference = "gymnasium 1.4.0 Hopper-v4",
    .reward_threshold = 3800.0, .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_hopper_v5 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "Hopper-v5",          .reference = "gymnasium 1.4.0 Hopper-v5",
    .reward_threshold = 3800.0, .max_episode_steps = 1000,
    .configure = configure_v5,
};
