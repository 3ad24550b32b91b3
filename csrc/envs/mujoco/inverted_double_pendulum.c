/* InvertedDoublePendulum: a cart that balances two poles, one on top of the other.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/inverted_double_pendulum_v4.py,
 * inverted_double_pendulum_v5.py) bit for bit.
 */
#include "base/sincos.h"
#include "base/square.h"
#include "task.h"

enum { HEALTHY_REWARD = MUJOCO_OWN, RESET_NOISE_SCALE };

/* parameters: options by their names, and how many constraint forces are observed */
enum { HEALTHY, NOISE, NUM_FORCES };

static const pp_option options[] = {
    MUJOCO_COMMON_OPTIONS("inverted_double_pendulum.xml", 5),
    MUJOCO_FLOAT("healthy_reward", 10.0, "reward of a step, before penalties"),
    MUJOCO_NOISE_SCALE(0.1),
};

/* v4 tells nothing */
static const pp_field infos_v5[] = {
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
    MUJOCO_STEP_INFO("distance_penalty", PP_FLOAT64),
    MUJOCO_STEP_INFO("velocity_penalty", PP_FLOAT64),
};

/* ------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared, int32_t num_forces) {
  double *parameters = shared->parameters;
  parameters[HEALTHY] = config->options[HEALTHY_REWARD].f;
  parameters[NOISE] = config->options[RESET_NOISE_SCALE].f;
  parameters[NUM_FORCES] = num_forces;
  shared->obs_size = 2 * shared->nq - 1 + shared->nv + num_forces;
  return PP_OK;
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, shared->nv);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 1);
}

/* ------------------------------------------------------------------------- reset and step -- */

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  double scale = shared->parameters[NOISE];
  mujoco_add_uniform(rng, scale, qpos, shared->nq);
  mujoco_add_normal(rng, scale, qvel, shared->nv);
}

/* the cart's place, sines and cosines of the angles, velocities, forces of constraints */
static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  int32_t angles = shared->nq - 1, num_forces = (int32_t)shared->parameters[NUM_FORCES];

  *obs++ = now->qpos[0];
  for (int32_t i = 0; i < angles; i++) pp_sincos(now->qpos[1 + i], &obs[i], &obs[angles + i]);
  obs += 2 * angles;
  for (int32_t i = 0; i < shared->nv; i++) *obs++ = mujoco_clip(now->qvel[i], -10, 10);
  for (int32_t i = 0; i < num_forces; i++) *obs++ = mujoco_clip(now->qfrc_constraint[i], -10, 10);
}

/* how far the tip is from straight up, how fast the poles turn, and whether the tip is too low */
typedef struct outcome {
  double distance;
  double velocity;
  int has_fallen;
} outcome;

static outcome settle(const mujoco_moment *moment) {
  const double *tip = moment->now->site_xpos, *qvel = moment->now->qvel;
  return (outcome){
      .distance = 0.01 * pp_square(tip[0]) + pp_square(tip[2] - 2),
      .velocity = 1e-3 * pp_square(qvel[1]) + 5e-3 * pp_square(qvel[2]),
      .has_fallen = tip[2] <= 1,
  };
}

static void finish_v4(mujoco_moment *moment) {
  outcome it = settle(moment);
  moment->reward = moment->shared->parameters[HEALTHY] - it.distance - it.velocity;
  moment->terminated = it.has_fallen;
}

static void finish_v5(mujoco_moment *moment) {
  outcome it = settle(moment);
  double survive = moment->shared->parameters[HEALTHY] * (double)!it.has_fallen;
  moment->reward = survive - it.distance - it.velocity;
  moment->terminated = it.has_fallen;
  moment->infos[0] = survive;
  moment->infos[1] = -it.distance;
  moment->infos[2] = -it.velocity;
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = 1,
                                    .least_nv = 3,
                                    .least_nsite = 1,
                                    .prepare = prepare_v4,
                                    .draw = draw,
                                    .observe = observe,
                                    .finish = finish_v4};
static const mujoco_task task_v5 = {.least_nq = 1,
                                    .least_nv = 3,
                                    .least_nsite = 1,
                                    .prepare = prepare_v5,
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

const pp_env_def pp_env_inverted_double_pendulum_v2 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options),
    .id = "InvertedDoublePendulum-v2",
    .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 9100.0,
    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_inverted_double_pendulum_v4 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options),
    .id = "InvertedDoublePendulum-v4",
    .reference = "gymnasium 1.4.0 InvertedDoublePendulum-v4",
    .reward_threshold = 9100.0,
    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_inverted_double_pendulum_v5 = {
    MUJOCO_DEFINITION,
    MUJOCO_OPTIONS(options),
    .id = "InvertedDoublePendulum-v5",
    .reference = "gymnasium 1.4.0 InvertedDoublePendulum-v5",
    .reward_threshold = 9100.0,
    .max_episode_steps = 1000,
    .configure = configure_v5,
};
