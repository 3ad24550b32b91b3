/* AdroitHandHammer: drive a nail into a board.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/adroit_hand/adroit_hammer.py) bit for bit. */
#include "adroit.h"
#include "rotations.h"

enum { NUM_POSITIONS = 33, NUM_OWN = 1 /* the height of the board */ };

enum { NAIL, PALM, HAMMER, HEAD, DEEP, BOARD, IMPACT, NUM_NAMES };
static const char *const names[NUM_NAMES] = {"site:S_target", "site:S_grasp",   "body:Object",
                                             "site:tool",     "site:nail_goal", "body:nail_board",
                                             "sensor:S_nail"};

static int prepare(pp_config *config, robotics_shared *shared) {
  int status = adroit_prepare(config, shared, NUM_POSITIONS, 46);
  shared->num_own = NUM_OWN;
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  if (status < 0) return status;
  return robotics_read_reward_type(config, ADROIT_REWARD_TYPE, &shared->is_dense);
}

static int begin(robotics_sim *sim) {
  sim->own[0] = pp_rng_uniform(sim->env->rng, 0.1, 0.25);
  return PP_OK;
}

static void apply(robotics_sim *sim) {
  sim->values.body_pos[3 * sim->ids[BOARD] + 2] = sim->own[0];
}

static double *observe(robotics_sim *sim, double *row) {
  row = robotics_copy(row, sim->in->qpos, NUM_POSITIONS - 6);
  for (int32_t i = NUM_POSITIONS - 6; i < NUM_POSITIONS; i++) {
    *row++ = mujoco_clip(sim->in->qvel[i], -1.0, 1.0);
  }
  row = robotics_copy(row, robotics_site(sim, PALM), 3);
  row = robotics_copy(row, robotics_body(sim, HAMMER), 3);
  robotics_quat_to_euler(&sim->shared->numpy, sim->data.xquat + 4 * sim->ids[HAMMER], row);
  row = robotics_copy(row + 3, robotics_site(sim, NAIL), 3);
  *row++ = mujoco_clip(sim->data.sensordata[sim->ids[IMPACT]], -1.0, 1.0);
  return row;
}

static int judge(robotics_sim *sim) {
  const double *hammer = robotics_body(sim, HAMMER), *head = robotics_site(sim, HEAD);
  const double *nail = robotics_site(sim, NAIL);
  double missing = adroit_distance(sim, nail, robotics_site(sim, DEEP));

  if (!adroit_judge(sim, missing < 0.01)) return PP_OK;
  sim->reward = 0.1 * adroit_distance(sim, robotics_site(sim, PALM), hammer);
  sim->reward -= adroit_distance(sim, head, nail);
  sim->reward -= 10 * missing;
  sim->reward -= 1e-2 * robotics_norm(sim, sim->in->qvel, NUM_POSITIONS);
  if (hammer[2] > 0.04 && head[2] > 0.04) sim->reward += 2;
  if (missing < 0.020) sim->reward += 25;
  if (missing < 0.010) sim->reward += 75;
  return PP_OK;
}

static const robotics_task task = {.prepare = prepare,
                                   .begin = begin,
                                   .apply = apply,
                                   .act = adroit_act,
                                   .advance = robotics_advance,
                                   .observe = observe,
                                   .judge = judge};
static const robotics_kind kind = {&task};
static const pp_option dense[] = ADROIT_OPTIONS("adroit_hand/adroit_hammer.xml", "dense");
static const pp_option sparse[] = ADROIT_OPTIONS("adroit_hand/adroit_hammer.xml", "sparse");

const pp_env_def pp_env_adroit_hammer[2] = {ADROIT_IDS("AdroitHandHammer", dense, sparse, &kind)};
