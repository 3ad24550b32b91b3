/* HandReach: bring the tips of the thumb and of a finger together.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/shadow_dexterous_hand/reach.py) bit for bit. */
#include "base/normal.h"
#include "hand.h"

enum { REWARD_TYPE = ROBOTICS_NUM_COMMON_OPTIONS, DISTANCE_THRESHOLD, NUM_OPTIONS };

#define OPTIONS(reward)                                                         \
  {ROBOTICS_COMMON_OPTIONS("hand/reach.xml", 20), ROBOTICS_REWARD_TYPE(reward), \
   MUJOCO_WEIGHT("distance_threshold", 0.01,                                    \
                 "distance in m from which a goal is achieved, of all tips together")}

static const pp_option sparse[NUM_OPTIONS] = OPTIONS("sparse");
static const pp_option dense[NUM_OPTIONS] = OPTIONS("dense");

/* the tips of the fingers, the thumb's last; own numbers are their goal */
enum { THUMB = 4, NUM_TIPS, TARGET = NUM_TIPS, NUM_NAMES, GOAL_SIZE = 3 * NUM_TIPS };
static const char *const names[NUM_NAMES] = {"site:robot0:S_fftip", "site:robot0:S_mftip",
                                             "site:robot0:S_rftip", "site:robot0:S_lftip",
                                             "site:robot0:S_thtip", "site:target0"};

/* the setup: where the joints are at the start, the tips, and the palm */
enum { JOINTS, TIPS = HAND_JOINTS, PALM = TIPS + GOAL_SIZE };

static int prepare(pp_config *config, robotics_shared *shared) {
  int status = hand_prepare(config, shared, HAND_JOINTS, REWARD_TYPE);
  shared->num_own = GOAL_SIZE;
  robotics_describe_goals(config, shared, 2 * HAND_JOINTS + GOAL_SIZE, GOAL_SIZE);
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  // the sites of the other tips' goals follow
  shared->target = shared->ids[TARGET];
  return status;
}

static int begin(robotics_sim *sim) {
  robotics_copy(sim->in->qpos, sim->shared->setup + JOINTS, HAND_JOINTS);
  return PP_OK;
}

/* moves the goal of a tip to where the two meet, but for 5 mm, so that they do not overlap */
static void meet(const robotics_sim *sim, const double meeting[3], double *tip) {
  double direction[3];
  robotics_subtract(direction, meeting, tip, 3);
  double length = robotics_norm(sim, direction, 3);
  for (int i = 0; i < 3; i++) tip[i] = meeting[i] - 0.005 * (direction[i] / length);
}

static void after_begin(robotics_sim *sim) {
  static const double above[3] = {0.0, -0.09, 0.05};
  const double *tips = sim->shared->setup + TIPS, *palm = sim->shared->setup + PALM;
  pp_rng *rng = sim->env->rng;
  double meeting[3];
  int64_t finger = pp_rng_integers(rng, 0, THUMB);

  for (int i = 0; i < 3; i++) meeting[i] = palm[i] + above[i];
  mujoco_add_normal(rng, 0.005, meeting, 3);
  robotics_copy(sim->own, tips, GOAL_SIZE);
  meet(sim, meeting, sim->own + 3 * THUMB);
  meet(sim, meeting, sim->own + 3 * finger);
  // sometimes all fingers are to stay where they are
  if (pp_rng_double(rng) < 0.1) robotics_copy(sim->own, tips, GOAL_SIZE);
}

static double *observe_tips(const robotics_sim *sim, double *row) {
  for (int32_t i = 0; i < NUM_TIPS; i++) row = robotics_copy(row, robotics_site(sim, i), 3);
  return row;
}

static double *observe(robotics_sim *sim, double *row) {
  row = observe_tips(sim, hand_observe(sim, row));
  row = observe_tips(sim, row);
  return robotics_copy(row, sim->own, GOAL_SIZE);
}

static int judge(robotics_sim *sim) {
  double tips[GOAL_SIZE], threshold = sim->options[DISTANCE_THRESHOLD].f;
  observe_tips(sim, tips);
  double distance = robotics_distance(tips, sim->own, GOAL_SIZE);
  sim->infos[0] = distance < threshold;
  sim->reward = sim->shared->is_dense ? -distance : -(double)(distance > threshold);
  return PP_OK;
}

static const robotics_task task = {.prepare = prepare,
                                   .begin = begin,
                                   .after_begin = after_begin,
                                   .act = hand_act,
                                   .advance = robotics_advance,
                                   .observe = observe,
                                   .judge = judge};
static const robotics_kind kind = {&task};

#define DEFINITION(table)                                                             \
  ROBOTICS_DEFINITION, MUJOCO_OPTIONS(table), .data = &kind, .max_episode_steps = 50, \
      .action_dtypes = PP_ALL_ACTION_DTYPES

const pp_env_def pp_env_hand_reach[4] = {
    {DEFINITION(sparse), ROBOTICS_ENVPOOL("HandReach-v0")},
    {DEFINITION(sparse), ROBOTICS_ID("HandReach-v3")},
    {DEFINITION(dense), ROBOTICS_ENVPOOL("HandReachDense-v0")},
    {DEFINITION(dense), ROBOTICS_ID("HandReachDense-v3")},
};
