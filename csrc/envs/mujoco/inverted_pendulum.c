/* InvertedPendulum: a cart that balances a pole.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/inverted_pendulum_v4.py, inverted_pendulum_v5.py) bit for
 * bit.
 */
#include "task.h"

enum { RESET_NOISE_SCALE = MUJOCO_OWN };

/* parameters by the names of the options that they come from */
enum { NOISE };

static const pp_option options[] = {
    MUJOCO_COMMON_OPTIONS("inverted_pendulum.xml", 2),
    MUJOCO_NOISE_SCALE(0.01),
};

/* v4 tells nothing */
static const pp_field infos_v5[] = {MUJOCO_STEP_INFO("reward_survive", PP_INT64)};

static int prepare(pp_config *config, mujoco_shared *shared) {
  shared->parameters[NOISE] = config->options[RESET_NOISE_SCALE].f;
  shared->obs_size = shared->nq + shared->nv;
  return PP_OK;
}

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_uniform(rng, scale, qvel, shared->nv);
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  mujoco_observe_state(shared, now, 0, obs);
}

static void finish_v4(mujoco_moment *moment) {
  moment->terminated = !mujoco_is_finite(moment) || fabs(moment->now->qpos[1]) > 0.2;
  moment->reward = 1;
}

static void finish_v5(mujoco_moment *moment) {
  finish_v4(moment);
  moment->reward = !moment->terminated;
  moment->infos[0] = moment->reward;
}

static const mujoco_task task_v4 = {
    .least_nq = 2, .prepare = prepare, .draw = draw, .observe = observe, .finish = finish_v4};
static const mujoco_task task_v5 = {.least_nq = 2,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_inverted_pendulum_v2 = {
    MUJOCO_DEFINITION,           MUJOCO_OPTIONS(options),
    .id = "InvertedPendulum-v2", .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 950.0,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_inverted_pendulum_v4 = {
    MUJOCO_DEFINITION,           MUJOCO_OPTIONS(options),
    .id = "InvertedPendulum-v4", .reference = "gymnasium 1.4.0 InvertedPendulum-v4",
    .reward_threshold = 950.0,   .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_inverted_pendulum_v5 = {
    MUJOCO_DEFINITION,           MUJOCO_OPTIONS(options),
    .id = "InvertedPendulum-v5", .reference = "gymnasium 1.4.0 InvertedPendulum-v5",
    .reward_threshold = 950.0,   .max_episode_steps = 1000,
    .configure = configure_v5,
};
