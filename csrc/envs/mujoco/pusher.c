/* Pusher: an arm with seven joints that is to push a cylinder to a goal.
 *
 * v5 equals gymnasium 1.4.0 (envs/mujoco/pusher_v5.py) bit for bit. v4 is pusher_v4.py, which
 * Gymnasium refuses to run on MuJoCo 3 and newer because its cylinder is too light there.
 */
#include <string.h>

#include "base/random.h"
#include "task.h"

enum { REWARD_NEAR_WEIGHT = MUJOCO_OWN, REWARD_DIST_WEIGHT, REWARD_CONTROL_WEIGHT };

/* parameters by the names of the options that they come from; bodies; what v4 carries */
enum { NEAR, DISTANCE, CONTROL };
enum { OBJECT, TIPS, GOAL, NUM_BODIES };
enum { NEAR_BEFORE, DISTANCE_BEFORE };

/* joints that are observed: the arm's */
enum { ARM = 7 };

#define OPTIONS(xml)                                                                          \
  MUJOCO_COMMON_OPTIONS(xml, 5),                                                              \
      MUJOCO_FLOAT("reward_near_weight", 0.5, "weight of the tips' distance to the object"),  \
      MUJOCO_FLOAT("reward_dist_weight", 1.0, "weight of the object's distance to the goal"), \
      MUJOCO_FLOAT("reward_control_weight", 0.1, "weight of the squared action")

static const pp_option options_v4[] = {OPTIONS("pusher.xml")};
static const pp_option options_v5[] = {OPTIONS("pusher_v5.xml")};

/* v4 tells them without their weights, and one less */
static const pp_field infos[] = {
    MUJOCO_STEP_INFO("reward_dist", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
    MUJOCO_STEP_INFO("reward_near", PP_FLOAT64),
};

/* ------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared) {
  static const char *const names[NUM_BODIES] = {"object", "tips_arm", "goal"};
  const pp_value *given = config->options;
  int status = PP_OK;

  shared->parameters[NEAR] = given[REWARD_NEAR_WEIGHT].f;
  shared->parameters[DISTANCE] = given[REWARD_DIST_WEIGHT].f;
  shared->parameters[CONTROL] = given[REWARD_CONTROL_WEIGHT].f;
  shared->obs_size = 2 * ARM + 3 * NUM_BODIES;
  for (int i = 0; i < NUM_BODIES && status >= 0; i++) {
    status = mujoco_find(config, shared, MUJOCO_BODY, names[i], &shared->ids[i]);
  }
  return status;
}

/* ------------------------------------------------------------------------- reset and step -- */

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  int32_t nq = shared->nq, nv = shared->nv;
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

static const double *position(const mujoco_shared *shared, const mujoco_workspace *now, int body) {
  return now->xpos + 3 * shared->ids[body];
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  memcpy(obs, now->qpos, sizeof(double) * ARM);
  memcpy(obs + ARM, now->qvel, sizeof(double) * ARM);
  obs += 2 * ARM;
  memcpy(obs, position(shared, now, TIPS), sizeof(double) * 3);
  memcpy(obs + 3, position(shared, now, OBJECT), sizeof(double) * 3);
  memcpy(obs + 6, position(shared, now, GOAL), sizeof(double) * 3);
}

/* of the object */
static double distance_to(const mujoco_moment *moment, int body) {
  const double *object = position(moment->shared, moment->now, OBJECT);
  const double *other = position(moment->shared, moment->now, body);
  double way[3];
  for (int i = 0; i < 3; i++) way[i] = object[i] - other[i];
  return mujoco_norm(moment->shared, way, 3);
}

static void remember(mujoco_moment *moment) {
  moment->carry[NEAR_BEFORE] = distance_to(moment, TIPS);
  moment->carry[DISTANCE_BEFORE] = distance_to(moment, GOAL);
}

/* v4 pays for the distances before the step */
static void finish_v4(mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  const double *parameters = shared->parameters;
  double near = -moment->carry[NEAR_BEFORE], distance = -moment->carry[DISTANCE_BEFORE];
  double control = mujoco_control_reward(moment, 1);

  moment->reward = parameters[DISTANCE] * distance +
                   mujoco_control_reward(moment, parameters[CONTROL]) + parameters[NEAR] * near;
  moment->infos[0] = distance;
  moment->infos[1] = control;
  remember(moment);
}

static void finish_v5(mujoco_moment *moment) {
  const mujoco_shared *shared = moment->shared;
  const double *parameters = shared->parameters;
  double near = -distance_to(moment, TIPS) * parameters[NEAR];
  double distance = -distance_to(moment, GOAL) * parameters[DISTANCE];
  double control = mujoco_control_reward(moment, parameters[CONTROL]);

  moment->reward = distance + control + near;
  moment->infos[0] = distance;
  moment->infos[1] = control;
  moment->infos[2] = near;
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = ARM,
                                    .least_nv = ARM,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = remember,
                                    .finish = finish_v4,
                                    .infos = infos,
                                    .num_infos = 2};
static const mujoco_task task_v5 = {.least_nq = ARM,
                                    .least_nv = ARM,
                                    .prepare = prepare,
                                    .draw = draw,
                                    .observe = observe,
                                    .finish = finish_v5,
                                    .infos = infos,
                                    .num_infos = 3};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_pusher_v2 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Pusher-v2",         .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 0.0,   .max_episode_steps = 100,
    .configure = configure_v4,
};

const pp_env_def pp_env_pusher_v4 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v4),
    .id = "Pusher-v4",         .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = 0.0,   .max_episode_steps = 100,
    .configure = configure_v4,
};

const pp_env_def pp_env_pusher_v5 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options_v5),
    .id = "Pusher-v5",         .reference = "gymnasium 1.4.0 Pusher-v5",
    .reward_threshold = 0.0,   .max_episode_steps = 100,
    .configure = configure_v5,
};
