/* AdroitHandPen: turn a pen in the hand to an orientation.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/adroit_hand/adroit_pen.py) bit for bit. */
#include "adroit.h"
#include "rotations.h"

enum { NUM_POSITIONS = 30 };

/* the bottom of a pen follows its top */
enum { TARGET, PEN, GOAL, PEN_TOP, TARGET_TOP = PEN_TOP + 2, NUM_NAMES = TARGET_TOP + 2 };
static const char *const names[NUM_NAMES] = {
    "body:target",        "body:Object",     "site:eps_ball",     "site:object_top",
    "site:object_bottom", "site:target_top", "site:target_bottom"};

/* own numbers */
enum { ROTATION, PEN_LENGTH = 4, TARGET_LENGTH, NUM_OWN };

static int prepare(pp_config *config, robotics_shared *shared) {
  int status = adroit_prepare(config, shared, NUM_POSITIONS, 45);
  shared->num_own = NUM_OWN;
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  if (status < 0) return status;
  return robotics_read_reward_type(config, ADROIT_REWARD_TYPE, &shared->is_dense);
}

static int begin(robotics_sim *sim) {
  double angles[3] = {0};
  for (int i = 0; i < 2; i++) angles[i] = pp_rng_uniform(sim->env->rng, -1, 1);
  robotics_euler_to_quat(&sim->shared->numpy, angles, sim->own + ROTATION);
  return PP_OK;
}

static void apply(robotics_sim *sim) {
  robotics_copy(sim->values.body_quat + 4 * sim->ids[TARGET], sim->own + ROTATION, 4);
}

static double length_of(const robotics_sim *sim, int32_t top) {
  return adroit_distance(sim, robotics_site(sim, top), robotics_site(sim, top + 1));
}

static void after_begin(robotics_sim *sim) {
  sim->own[PEN_LENGTH] = length_of(sim, PEN_TOP);
  sim->own[TARGET_LENGTH] = length_of(sim, TARGET_TOP);
}

/* the directions of the pen and of the target, from bottom to top */
typedef struct directions {
  double pen[3];
  double target[3];
} directions;

static directions find_directions(const robotics_sim *sim) {
  directions found;
  robotics_subtract(found.pen, robotics_site(sim, PEN_TOP), robotics_site(sim, PEN_TOP + 1), 3);
  robotics_subtract(found.target, robotics_site(sim, TARGET_TOP),
                    robotics_site(sim, TARGET_TOP + 1), 3);
  for (int i = 0; i < 3; i++) {
    found.pen[i] /= sim->own[PEN_LENGTH];
    found.target[i] /= sim->own[TARGET_LENGTH];
  }
  return found;
}

static double *observe(robotics_sim *sim, double *row) {
  directions found = find_directions(sim);

  row = robotics_copy(row, sim->in->qpos, NUM_POSITIONS - 6);
  row = robotics_copy(row, robotics_body(sim, PEN), 3);
  row = robotics_copy(row, sim->in->qvel + NUM_POSITIONS - 6, 6);
  row = robotics_copy(row, found.pen, 3);
  row = robotics_copy(row, found.target, 3);
  row = robotics_subtract(row, robotics_body(sim, PEN), robotics_site(sim, GOAL), 3);
  return robotics_subtract(row, found.pen, found.target, 3);
}

static int judge(robotics_sim *sim) {
  directions found = find_directions(sim);
  double distance = adroit_distance(sim, robotics_body(sim, PEN), robotics_site(sim, GOAL));
  double similarity = pp_numpy_dot(&sim->shared->numpy, found.pen, found.target, 3);
  bool is_near = distance < 0.075;

  if (!adroit_judge(sim, is_near && similarity > 0.95)) return PP_OK;
  sim->reward = -distance + similarity;
  if (is_near && similarity > 0.9) sim->reward += 10;
  if (is_near && similarity > 0.95) sim->reward += 50;
  if (robotics_body(sim, PEN)[2] < 0.075) sim->reward -= 5;
  return PP_OK;
}

static const robotics_task task = {.prepare = prepare,
                                   .begin = begin,
                                   .apply = apply,
                                   .after_begin = after_begin,
                                   .act = adroit_act,
                                   .advance = robotics_advance,
                                   .observe = observe,
                                   .judge = judge};
static const robotics_kind kind = {&task};
static const pp_option dense[] = ADROIT_OPTIONS("adroit_hand/adroit_pen.xml", "dense");
static const pp_option sparse[] = ADROIT_OPTIONS("adroit_hand/adroit_pen.xml", "sparse");

const pp_env_def pp_env_adroit_pen[2] = {ADROIT_IDS("AdroitHandPen", dense, sparse, &kind)};
