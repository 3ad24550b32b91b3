/* Reacher: an arm with two links whose fingertip reaches for a target in the plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/reacher_v4.py, reacher_v5.py) bit for bit. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum { REWARD_DIST_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS, REWARD_CONTROL_WEIGHT };

static const pp_option option_table[] = {
    MUJOCO_COMMON_OPTIONS("reacher.xml", 2),
    MUJOCO_WEIGHT("reward_dist_weight", 1.0, "weight of the distance to the target in the reward"),
    /* Gymnasium's v4 has no weight, and v5's default is an int */
    {.name = "reward_control_weight",
     .type = PP_OPT_FLOAT,
     .number = 1,
     .number_dtype = PP_INT64 | PP_PYTHON,
     .low = -HUGE_VAL,
     .high = HUGE_VAL,
     .doc = "weight of the squared action in the reward",
     .varies = true,
     .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON},
};

static const pp_field infos[] = {
    MUJOCO_STEP_INFO("reward_dist", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
};

/* --------------------------------------------------------------------------------- prepare -- */

/* in ids: the bodies */
enum { FINGERTIP, TARGET, NUM_BODIES };

/* in parameters: how many coordinates of the fingertip's offset from the target are observed */
enum { AXES };

/* sizes of the model: two angles and the target's x and y, and at least the angles' velocities */
enum { NQ = 4, LEAST_NV = 2 };

static int prepare(pp_config *config, mujoco_shared *shared, int32_t axes) {
  static const char *const names[NUM_BODIES] = {"fingertip", "target"};

  // the size of the observation is fixed
  if (shared->sim.nq != NQ) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "the model has nq=%d: Reacher needs nq=%d",
                   shared->sim.nq, NQ);
  }
  shared->parameters[AXES] = axes;
  shared->obs_size = 8 + axes;
  return mujoco_find_bodies(config, shared, names, NUM_BODIES);
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 3);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 2);
}

/* -------------------------------------------------------------------------- reset and step -- */

static void draw_state(const mujoco_shared *shared, double noise, pp_rng *rng, double *qpos,
                       double *qvel) {
  (void)noise;
  int32_t nq = shared->sim.nq, nv = shared->sim.nv;
  double goal[2];

  mujoco_add_uniform(rng, 0.1, qpos, nq);
  do {
    for (int i = 0; i < 2; i++) goal[i] = pp_rng_uniform(rng, -0.2, 0.2);
  } while (mujoco_norm(shared, goal, 2) >= 0.2);
  mujoco_add_uniform(rng, 0.005, qvel, nv);
  for (int i = 0; i < 2; i++) {
    qpos[nq - 2 + i] = goal[i];
    qvel[nv - 2 + i] = 0;
  }
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  double offset[3];

  mujoco_offset(shared, now, FINGERTIP, TARGET, offset);
  for (int i = 0; i < 2; i++) {
    obs[i] = cos(now->qpos[i]);
    obs[2 + i] = sin(now->qpos[i]);
    obs[4 + i] = now->qpos[2 + i];
    obs[6 + i] = now->qvel[i];
  }
  memcpy(obs + 8, offset, sizeof(double) * (size_t)shared->parameters[AXES]);
}

static void keep_distance(mujoco_transition *transition) {
  transition->carry[0] = mujoco_distance(transition, FINGERTIP, TARGET);
}

static void write_reward(mujoco_transition *transition, double distance) {
  const pp_value *options = transition->options;
  double reward_dist = -distance * options[REWARD_DIST_WEIGHT].f;

  transition->reward =
      reward_dist +
      mujoco_control_reward(transition, &options[REWARD_CONTROL_WEIGHT], &transition->infos[1]);
  transition->infos[0] = reward_dist;
}

/* v4's reward uses the distance before the step. */
static void after_step_v4(mujoco_transition *transition) {
  write_reward(transition, transition->carry[0]);
  keep_distance(transition);
}

static void after_step_v5(mujoco_transition *transition) {
  write_reward(transition, mujoco_distance(transition, FINGERTIP, TARGET));
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                                          \
  .least_nq = NQ, .least_nv = LEAST_NV, .draw_state = draw_state, .observe = observe, \
  .weight_option = REWARD_CONTROL_WEIGHT, MUJOCO_INFOS(infos)

static const mujoco_task task_v4 = {
    TASK,
    .prepare = prepare_v4,
    .after_reset = keep_distance,
    .after_step = after_step_v4,
};
static const mujoco_task task_v5 = {TASK, .prepare = prepare_v5, .after_step = after_step_v5};

#define DEFINITION                                                               \
  MUJOCO_DEFINITION, MUJOCO_OPTIONS(option_table), .has_reward_threshold = true, \
      .reward_threshold = -3.75, .max_episode_steps = 50

const pp_env_def pp_env_reacher[3] = {
    {DEFINITION, MUJOCO_ENVPOOL("Reacher-v2"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("Reacher-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("Reacher-v5"), .data = &task_v5},
};
