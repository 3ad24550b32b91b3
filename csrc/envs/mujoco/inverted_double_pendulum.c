/* InvertedDoublePendulum: a cart that balances two poles, one on top of the other.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/inverted_double_pendulum_v4.py,
 * inverted_double_pendulum_v5.py) bit for bit. */
#include "base/sincos.h"
#include "base/square.h"
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum { HEALTHY_REWARD = MUJOCO_NUM_COMMON_OPTIONS, RESET_NOISE_SCALE };

#define OPTIONS(survive)                                    \
  MUJOCO_COMMON_OPTIONS("inverted_double_pendulum.xml", 5), \
      survive(10.0, "reward of a step, before penalties"), MUJOCO_NOISE_SCALE(0.1)

static const pp_option options_v4[] = {OPTIONS(MUJOCO_PLAIN_SURVIVE_WEIGHT)};
static const pp_option options_v5[] = {OPTIONS(MUJOCO_SURVIVE_WEIGHT)};

/* v4 has no infos */
static const pp_field infos_v5[] = {
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
    MUJOCO_STEP_INFO("distance_penalty", PP_FLOAT64),
    MUJOCO_STEP_INFO("velocity_penalty", PP_FLOAT64),
};

/* --------------------------------------------------------------------------------- prepare -- */

/* in parameters: how many constraint forces are observed */
enum { NUM_FORCES };

static int prepare(pp_config *config, mujoco_shared *shared, int32_t num_forces) {
  (void)config;
  shared->noise_option = RESET_NOISE_SCALE;
  shared->parameters[NUM_FORCES] = num_forces;
  shared->obs_size = 2 * shared->sim.nq - 1 + shared->sim.nv + num_forces;
  return PP_OK;
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, shared->sim.nv);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 1);
}

/* -------------------------------------------------------------------------- reset and step -- */

/* writes the cart's position, sines and cosines of the angles, velocities, constraint forces */
static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  int32_t angles = shared->sim.nq - 1, num_forces = (int32_t)shared->parameters[NUM_FORCES];

  *obs++ = now->qpos[0];
  for (int32_t i = 0; i < angles; i++) pp_sincos(now->qpos[1 + i], &obs[i], &obs[angles + i]);
  obs += 2 * angles;
  for (int32_t i = 0; i < shared->sim.nv; i++) *obs++ = mujoco_clip(now->qvel[i], -10, 10);
  for (int32_t i = 0; i < num_forces; i++) *obs++ = mujoco_clip(now->qfrc_constraint[i], -10, 10);
}

/* what a step's reward comes from */
typedef struct outcome {
  double distance_penalty; /* of the tip from the upright position */
  double velocity_penalty;
  bool has_fallen; /* the tip is too low */
} outcome;

static outcome evaluate(const mujoco_transition *transition) {
  const double *tip = transition->now->site_xpos, *qvel = transition->now->qvel;
  return (outcome){
      .distance_penalty = 0.01 * pp_square(tip[0]) + pp_square(tip[2] - 2),
      .velocity_penalty = 1e-3 * pp_square(qvel[1]) + 5e-3 * pp_square(qvel[2]),
      .has_fallen = tip[2] <= 1,
  };
}

static void after_step_v4(mujoco_transition *transition) {
  outcome it = evaluate(transition);
  double survive = transition->options[HEALTHY_REWARD].f;
  transition->reward = survive - it.distance_penalty - it.velocity_penalty;
  transition->terminated = it.has_fallen;
}

static void after_step_v5(mujoco_transition *transition) {
  outcome it = evaluate(transition);
  double survive = transition->options[HEALTHY_REWARD].f * (double)!it.has_fallen;
  transition->reward = survive - it.distance_penalty - it.velocity_penalty;
  transition->terminated = it.has_fallen;
  transition->infos[0] = survive;
  transition->infos[1] = -it.distance_penalty;
  transition->infos[2] = -it.velocity_penalty;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                                                \
  .least_nq = 1, .least_nv = 3, .least_nsite = 1, .draw_state = mujoco_draw_uniform_normal, \
  .observe = observe

static const mujoco_task task_v4 = {
    TASK,
    .prepare = prepare_v4,
    .after_step = after_step_v4,
};
static const mujoco_task task_v5 = {
    TASK,
    .prepare = prepare_v5,
    .after_step = after_step_v5,
    .survive_info = 0,
    .survive_option = HEALTHY_REWARD,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION                                                             \
  MUJOCO_DEFINITION, .has_reward_threshold = true, .reward_threshold = 9100.0, \
      .max_episode_steps = 1000

const pp_env_def pp_env_inverted_double_pendulum[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("InvertedDoublePendulum-v2"),
     .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_GYMNASIUM("InvertedDoublePendulum-v4"),
     .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("InvertedDoublePendulum-v5"),
     .data = &task_v5},
};
