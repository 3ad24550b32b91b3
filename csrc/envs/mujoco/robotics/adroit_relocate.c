/* AdroitHandRelocate: carry a ball to a place.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/adroit_hand/adroit_relocate.py) bit for bit. */
#include "adroit.h"

enum { NUM_POSITIONS = 36 };

enum { TARGET, PALM, BALL, NUM_NAMES };
static const char *const names[NUM_NAMES] = {"site:target", "site:S_grasp", "body:Object"};

/* own numbers: places, the ball's without its height */
enum { BALL_PLACE, TARGET_PLACE = 2, NUM_OWN = 5 };

static int prepare(pp_config *config, robotics_shared *shared) {
  int status = adroit_prepare(config, shared, NUM_POSITIONS, 39);
  shared->num_own = NUM_OWN;
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  if (status < 0) return status;
  return robotics_read_reward_type(config, ADROIT_REWARD_TYPE, &shared->is_dense);
}

static int begin(robotics_sim *sim) {
  pp_rng *rng = sim->env->rng;
  double *ball = sim->own + BALL_PLACE, *target = sim->own + TARGET_PLACE;
  ball[0] = pp_rng_uniform(rng, -0.15, 0.15);
  ball[1] = pp_rng_uniform(rng, -0.15, 0.3);
  target[0] = pp_rng_uniform(rng, -0.2, 0.2);
  target[1] = pp_rng_uniform(rng, -0.2, 0.2);
  target[2] = pp_rng_uniform(rng, 0.15, 0.35);
  return PP_OK;
}

static void apply(robotics_sim *sim) {
  robotics_copy(sim->values.body_pos + 3 * sim->ids[BALL], sim->own + BALL_PLACE, 2);
  robotics_copy(sim->values.site_pos + 3 * sim->ids[TARGET], sim->own + TARGET_PLACE, 3);
}

static double *observe(robotics_sim *sim, double *row) {
  const double *ball = robotics_body(sim, BALL), *palm = robotics_site(sim, PALM);
  const double *target = robotics_site(sim, TARGET);

  row = robotics_copy(row, sim->in->qpos, NUM_POSITIONS - 6);
  row = robotics_subtract(row, palm, ball, 3);
  row = robotics_subtract(row, palm, target, 3);
  return robotics_subtract(row, ball, target, 3);
}

static int judge(robotics_sim *sim) {
  const double *ball = robotics_body(sim, BALL), *palm = robotics_site(sim, PALM);
  const double *target = robotics_site(sim, TARGET);
  double distance = adroit_distance(sim, ball, target);

  if (!adroit_judge(sim, distance < 0.1)) return PP_OK;
  sim->reward = 0.1 * adroit_distance(sim, palm, ball);
  if (ball[2] > 0.04) {
    sim->reward += 1.0;
    sim->reward += -0.5 * adroit_distance(sim, palm, target);
    sim->reward += -0.5 * distance;
  }
  if (distance < 0.1) sim->reward += 10.0;
  if (distance < 0.05) sim->reward += 20.0;
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
static const pp_option dense[] = ADROIT_OPTIONS("adroit_hand/adroit_relocate.xml", "dense");
static const pp_option sparse[] = ADROIT_OPTIONS("adroit_hand/adroit_relocate.xml", "sparse");

const pp_env_def pp_env_adroit_relocate[2] = {
    ADROIT_IDS("AdroitHandRelocate", dense, sparse, &kind)};
