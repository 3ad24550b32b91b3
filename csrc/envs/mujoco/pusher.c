/* Pusher: an arm with seven joints that pushes a cylinder to a goal.
 *
 * v5 equals gymnasium 1.4.0 (envs/mujoco/pusher_v5.py) bit for bit. v4 is pusher_v4.py, which
 * Gymnasium refuses to run on MuJoCo 3 and newer because its cylinder is too light there. */
#include <string.h>

#include "base/random.h"
#include "task.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum {
  REWARD_NEAR_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  REWARD_DIST_WEIGHT,
  REWARD_CONTROL_WEIGHT,
};

#define OPTIONS(xml)                                                                           \
  MUJOCO_COMMON_OPTIONS(xml, 5),                                                               \
      MUJOCO_WEIGHT("reward_near_weight", 0.5, "weight of the tips' distance to the object"),  \
      MUJOCO_WEIGHT("reward_dist_weight", 1.0, "weight of the object's distance to the goal"), \
      MUJOCO_ACTION_WEIGHT("reward_control_weight", 0.1, "weight of the squared action")

static const pp_option options_v4[] = {OPTIONS("pusher.xml")};
static const pp_option options_v5[] = {OPTIONS("pusher_v5.xml")};

/* v4's infos are without the weights. */
static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_dist", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
};
static const pp_field infos_v5[] = {
    MUJOCO_STEP_INFO("reward_dist", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),
    MUJOCO_STEP_INFO("reward_near", PP_FLOAT64),
};

/* --------------------------------------------------------------------------------- prepare -- */

/* in ids: the bodies */
enum { OBJECT, TIPS, GOAL, NUM_BODIES };

/* the arm's joints, which are the first ones of the model; no others are observed */
enum { NUM_JOINTS = 7 };

static int prepare(pp_config *config, mujoco_shared *shared) {
  static const char *const names[NUM_BODIES] = {"object", "tips_arm", "goal"};
  shared->obs_size = 2 * NUM_JOINTS + 3 * NUM_BODIES;
  return mujoco_find_bodies(config, shared, names, NUM_BODIES);
}

/* -------------------------------------------------------------------------- reset and step -- */

static void draw_state(const mujoco_shared *shared, double noise, pp_rng *rng, double *qpos,
                       double *qvel) {
  (void)noise;
  int32_t nq = shared->sim.nq, nv = shared->sim.nv;
  double cylinder[2];

  // not on the goal, which is at the origin
  do {
    cylinder[0] = pp_rng_uniform(rng, -0.3, 0);
    cylinder[1] = pp_rng_uniform(rng, -0.2, 0.2);
  } while (mujoco_norm(shared, cylinder, 2) <= 0.17);
  mujoco_add_uniform(rng, 0.005, qvel, nv);
  for (int i = 0; i < 2; i++) {
    qpos[nq - 4 + i] = cylinder[i];
    qpos[nq - 2 + i] = 0;
  }
  memset(qvel + nv - 4, 0, sizeof(double) * 4);
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  static const int order[NUM_BODIES] = {TIPS, OBJECT, GOAL};

  memcpy(obs, now->qpos, sizeof(double) * NUM_JOINTS);
  memcpy(obs + NUM_JOINTS, now->qvel, sizeof(double) * NUM_JOINTS);
  obs += 2 * NUM_JOINTS;
  for (int i = 0; i < NUM_BODIES; i++) {
    memcpy(obs + 3 * i, now->xpos + 3 * shared->ids[order[i]], sizeof(double) * 3);
  }
}

/* in carry: the object's distances, for the next step's reward */
enum { DISTANCE_TO_TIPS, DISTANCE_TO_GOAL };

static void keep_distances(mujoco_transition *transition) {
  transition->carry[DISTANCE_TO_TIPS] = mujoco_distance(transition, OBJECT, TIPS);
  transition->carry[DISTANCE_TO_GOAL] = mujoco_distance(transition, OBJECT, GOAL);
}

/* v4's reward uses the distances before the step. */
static void after_step_v4(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double near = -transition->carry[DISTANCE_TO_TIPS];
  double distance = -transition->carry[DISTANCE_TO_GOAL], unused;
  const pp_value one = {.f = 1};

  transition->reward = options[REWARD_DIST_WEIGHT].f * distance +
                       mujoco_control_reward(transition, &options[REWARD_CONTROL_WEIGHT], &unused) +
                       options[REWARD_NEAR_WEIGHT].f * near;
  transition->infos[0] = distance;
  mujoco_control_reward(transition, &one, &transition->infos[1]);
  keep_distances(transition);
}

static void after_step_v5(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double near = -mujoco_distance(transition, OBJECT, TIPS) * options[REWARD_NEAR_WEIGHT].f;
  double distance = -mujoco_distance(transition, OBJECT, GOAL) * options[REWARD_DIST_WEIGHT].f;

  transition->reward =
      distance +
      mujoco_control_reward(transition, &options[REWARD_CONTROL_WEIGHT], &transition->infos[1]) +
      near;
  transition->infos[0] = distance;
  transition->infos[2] = near;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK                                                                                    \
  .least_nq = NUM_JOINTS, .least_nv = NUM_JOINTS, .prepare = prepare, .draw_state = draw_state, \
  .observe = observe

static const mujoco_task task_v4 = {
    TASK,
    .after_reset = keep_distances,
    .after_step = after_step_v4,
    MUJOCO_INFOS(infos_v4),
};
static const mujoco_task task_v5 = {
    TASK,
    .after_step = after_step_v5,
    .weight_option = REWARD_CONTROL_WEIGHT,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION \
  MUJOCO_DEFINITION, .has_reward_threshold = true, .reward_threshold = 0.0, .max_episode_steps = 100

const pp_env_def pp_env_pusher[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("Pusher-v2"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("Pusher-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("Pusher-v5"), .data = &task_v5},
};
