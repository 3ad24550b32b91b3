/* AdroitHandDoor: undo a latch and open a door.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/adroit_hand/adroit_door.py) bit for bit. */
#include "adroit.h"

enum { NUM_POSITIONS = 30, NUM_OWN = 3 /* where the frame is */ };

/* The angle is read where the hinge's velocity would be, as in Gymnasium-Robotics. */
enum { ANGLE, PALM, HANDLE, FRAME, NUM_NAMES };
static const char *const names[NUM_NAMES] = {"qvel:door_hinge", "site:S_grasp", "site:S_handle",
                                             "body:frame"};

static int prepare(pp_config *config, robotics_shared *shared) {
  int status = adroit_prepare(config, shared, NUM_POSITIONS, 39);
  shared->num_own = NUM_OWN;
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  if (status < 0) return status;
  return robotics_read_reward_type(config, ADROIT_REWARD_TYPE, &shared->is_dense);
}

static int begin(robotics_sim *sim) {
  pp_rng *rng = sim->env->rng;
  sim->own[0] = pp_rng_uniform(rng, -0.3, -0.2);
  sim->own[1] = pp_rng_uniform(rng, 0.25, 0.35);
  sim->own[2] = pp_rng_uniform(rng, 0.252, 0.35);
  return PP_OK;
}

static void apply(robotics_sim *sim) {
  robotics_copy(sim->values.body_pos + 3 * sim->ids[FRAME], sim->own, 3);
}

static double angle_of(const robotics_sim *sim) {
  return sim->in->qpos[sim->ids[ANGLE]];
}

static double *observe(robotics_sim *sim, double *row) {
  const double *palm = robotics_site(sim, PALM), *handle = robotics_site(sim, HANDLE);
  double angle = angle_of(sim);

  row = robotics_copy(row, sim->in->qpos + 1, NUM_POSITIONS - 3);
  *row++ = sim->in->qpos[NUM_POSITIONS - 1];
  *row++ = angle;
  row = robotics_copy(row, palm, 3);
  row = robotics_copy(row, handle, 3);
  row = robotics_subtract(row, palm, handle, 3);
  *row++ = angle > 1.0 ? 1.0 : -1.0;
  return row;
}

static int judge(robotics_sim *sim) {
  double angle = angle_of(sim);
  if (!adroit_judge(sim, angle >= 1.35)) return PP_OK;
  sim->reward = 0.1 * adroit_distance(sim, robotics_site(sim, PALM), robotics_site(sim, HANDLE));
  sim->reward += -0.1 * (angle - 1.57) * (angle - 1.57);
  sim->reward += -1e-5 * mujoco_square_sum(sim->in->qvel, NUM_POSITIONS, PP_FLOAT64);
  if (angle > 0.2) sim->reward += 2;
  if (angle > 1.0) sim->reward += 8;
  if (angle > 1.35) sim->reward += 10;
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
static const pp_option dense[] = ADROIT_OPTIONS("adroit_hand/adroit_door.xml", "dense");
static const pp_option sparse[] = ADROIT_OPTIONS("adroit_hand/adroit_door.xml", "sparse");

const pp_env_def pp_env_adroit_door[2] = {ADROIT_IDS("AdroitHandDoor", dense, sparse, &kind)};
