/* Reacher: an arm with two links whose fingertip is to touch a target in the plane.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/reacher_v4.py, reacher_v5.py) bit for bit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "task.h"

enum { REWARD_DIST_WEIGHT = MUJOCO_OWN, REWARD_CONTROL_WEIGHT };

/* parameters by the names of the options that they come from; how many coordinates of the way to
 * the target are observed; bodies */
enum { DISTANCE, CONTROL, AXES };
enum { FINGERTIP, TARGET, NUM_BODIES };

enum { LEAST_NQ = 4, LEAST_NV = 2 };

static const pp_option options[] = {
    MUJOCO_COMMON_OPTIONS("reacher.xml", 2),
    MUJOCO_FLOAT("reward_dist_weight", 1.0, "weight of the distance to the target in the reward"),
    MUJOCO_FLOAT("reward_control_weight", 1.0, "weight of the squared action in the reward"),
};

static const pp_field infos[] = {
    MUJOCO_STEP_INFO("reward_dist", PP_FLOAT64),
    MUJOCO_FOLLOWING_INFO("reward_ctrl"),
};

/* ------------------------------------------------------------------------------- prepare -- */

static int prepare(pp_config *config, mujoco_shared *shared, int32_t axes) {
  static const char *const names[NUM_BODIES] = {"fingertip", "target"};
  const pp_value *given = config->options;
  int status = PP_OK;

  // two angles and the target's place: the observation has room for no more
  if (shared->nq != LEAST_NQ) {
    snprintf(config->error->text, sizeof(config->error->text),
             "the model has nq=%d: Reacher's has %d", shared->nq, LEAST_NQ);
    return PP_ERR_ARGUMENT;
  }
  shared->parameters[DISTANCE] = given[REWARD_DIST_WEIGHT].f;
  shared->parameters[CONTROL] = given[REWARD_CONTROL_WEIGHT].f;
  shared->parameters[AXES] = axes;
  // v4 has no weight, and v5's is an integer unless somebody gives another
  shared->has_whole_cost = shared->parameters[CONTROL] == 1;
  shared->obs_size = 8 + axes;
  for (int i = 0; i < NUM_BODIES && status >= 0; i++) {
    status = mujoco_find(config, shared, MUJOCO_BODY, names[i], &shared->ids[i]);
  }
  return status;
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 3);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  return prepare(config, shared, 2);
}

/* ------------------------------------------------------------------------- reset and step -- */

static void draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel) {
  int32_t nq = shared->nq, nv = shared->nv;
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

/* from the target to the fingertip */
static void find_way(const mujoco_shared *shared, const mujoco_workspace *now, double way[3]) {
  const double *fingertip = now->xpos + 3 * shared->ids[FINGERTIP];
  const double *target = now->xpos + 3 * shared->ids[TARGET];
  for (int i = 0; i < 3; i++) way[i] = fingertip[i] - target[i];
}

static void observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  double way[3];
  find_way(shared, now, way);
  for (int i = 0; i < 2; i++) {
    obs[i] = cos(now->qpos[i]);
    obs[2 + i] = sin(now->qpos[i]);
    obs[4 + i] = now->qpos[2 + i];
    obs[6 + i] = now->qvel[i];
  }
  memcpy(obs + 8, way, sizeof(double) * (size_t)shared->parameters[AXES]);
}

static double distance(const mujoco_moment *moment) {
  double way[3];
  find_way(moment->shared, moment->now, way);
  return mujoco_norm(moment->shared, way, 3);
}

static void remember(mujoco_moment *moment) {
  moment->carry[0] = distance(moment);
}

static void pay(mujoco_moment *moment, double way) {
  const mujoco_shared *shared = moment->shared;
  double reward_dist = -way * shared->parameters[DISTANCE];
  double reward_ctrl = mujoco_control_reward(moment, shared->parameters[CONTROL]);

  moment->reward = reward_dist + reward_ctrl;
  moment->infos[0] = reward_dist;
  moment->infos[1] = shared->has_whole_cost ? mujoco_whole_control_info(moment) : reward_ctrl;
}

/* v4 pays for the distance before the step */
static void finish_v4(mujoco_moment *moment) {
  pay(moment, moment->carry[0]);
  remember(moment);
}

static void finish_v5(mujoco_moment *moment) {
  pay(moment, distance(moment));
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = LEAST_NQ,
                                    .least_nv = LEAST_NV,
                                    .prepare = prepare_v4,
                                    .draw = draw,
                                    .observe = observe,
                                    .begin = remember,
                                    .finish = finish_v4,
                                    MUJOCO_INFOS(infos)};
static const mujoco_task task_v5 = {.least_nq = LEAST_NQ,
                                    .least_nv = LEAST_NV,
                                    .prepare = prepare_v5,
                                    .draw = draw,
                                    .observe = observe,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_reacher_v2 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Reacher-v2",        .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = -3.75, .max_episode_steps = 50,
    .configure = configure_v4,
};

const pp_env_def pp_env_reacher_v4 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Reacher-v4",        .reference = "gymnasium 1.4.0 Reacher-v4",
    .reward_threshold = -3.75, .max_episode_steps = 50,
    .configure = configure_v4,
};

const pp_env_def pp_env_reacher_v5 = {
    MUJOCO_DEFINITION,         MUJOCO_OPTIONS(options),
    .id = "Reacher-v5",        .reference = "gymnasium 1.4.0 Reacher-v5",
    .reward_threshold = -3.75, .max_episode_steps = 50,
    .configure = configure_v5,
};
