/* manipulator: bring a ball or a peg to a place, or insert it there. */
#include "arm.h"

enum {
  PEG = 1,    /* the object is a peg, not a ball */
  INSERT = 2, /* into a slot or a cup */
};
enum {
  OBJECT = SUITE_NUM_ARM_IDS, /* a body */
  TARGET,
  OBJECT_JOINTS, /* x, z and y in qpos, then in qvel */
  OBJECT_VELOCITIES = OBJECT_JOINTS + 3,
  OBJECT_SITE = OBJECT_VELOCITIES + 3,
  TARGET_SITE,
  PEG_GRASP,
  PEG_PINCH,
  PINCH,
  PEG_TIP,
  TARGET_TIP,
  RECEPTACLE
};
enum { TARGET_X, TARGET_Z, TARGET_ANGLE, NUM_OWN };
enum { IN_HAND, IN_TARGET, NUM_PLACES = 3 };

static const char *const ball[] = {"body:ball",   "body:target_ball", "qpos:ball_x", "qpos:ball_z",
                                   "qpos:ball_y", "qvel:ball_x",      "qvel:ball_z", "qvel:ball_y",
                                   "site:ball",   "site:target_ball"};
static const char *const peg[] = {
    "body:peg",       "body:target_peg", "qpos:peg_x", "qpos:peg_z",   "qpos:peg_y",
    "qvel:peg_x",     "qvel:peg_z",      "qvel:peg_y", "site:peg",     "site:target_peg",
    "site:peg_grasp", "site:peg_pinch",  "site:pinch", "site:peg_tip", "site:target_peg_tip"};
static const double CLOSE = .01;
static const double place_chances[NUM_PLACES] = {.1, .1, 1 - .1 - .1};

static int prepare(pp_config *config, suite_shared *shared) {
  bool is_peg = shared->kind->variant & PEG;
  const char *receptacle = is_peg ? "body:slot" : "body:cup";
  int status = suite_arm_prepare(config, shared);

  suite_describe_vector(config, shared, "object_pos", 4);
  suite_describe_vector(config, shared, "object_vel", 3);
  suite_describe_vector(config, shared, "target_pos", 4);
  shared->num_own = NUM_OWN;
  if (status >= 0)
    status = suite_find(config, shared, OBJECT, is_peg ? peg : ball, is_peg ? 15 : 10);
  if (status < 0 || !(shared->kind->variant & INSERT)) return status;
  return suite_find(config, shared, RECEPTACLE, &receptacle, 1);
}

static void place_body(suite_sim *sim, int32_t id) {
  double *position = sim->values->body_pos + 3 * sim->ids[id];
  double *orientation = sim->values->body_quat + 4 * sim->ids[id];
  position[0] = sim->own[TARGET_X];
  position[2] = sim->own[TARGET_Z];
  orientation[0] = pp_numpy_cos(sim->numpy, sim->own[TARGET_ANGLE] / 2);
  orientation[2] = pp_numpy_sin(sim->numpy, sim->own[TARGET_ANGLE] / 2);
}

static void apply(suite_sim *sim) {
  place_body(sim, TARGET);
  if (sim->kind->variant & INSERT) place_body(sim, RECEPTACLE);
}

static void draw_target(suite_sim *sim) {
  double most = sim->kind->variant & INSERT ? SUITE_PI / 3 : SUITE_PI;
  sim->own[TARGET_X] = pp_random_state_uniform(sim->random, -.4, .4);
  sim->own[TARGET_Z] = pp_random_state_uniform(sim->random, .1, .4);
  sim->own[TARGET_ANGLE] = pp_random_state_uniform(sim->random, -most, most);
  apply(sim);
}

/* draws x, z and angle of the object */
static int draw_object(suite_sim *sim, double place[3]) {
  int32_t kind = pp_random_state_choice(sim->random, place_chances, NUM_PLACES);

  if (kind == IN_TARGET) {
    suite_copy(place, sim->own, 3);
  } else if (kind == IN_HAND) {
    int status = suite_physics_forward(sim->physics);
    if (status < 0) return status;
    const double *frame = sim->data->site_xmat + 9 * sim->ids[SUITE_ARM_GRASP];
    place[0] = suite_site(sim, SUITE_ARM_GRASP)[0];
    place[1] = suite_site(sim, SUITE_ARM_GRASP)[2];
    place[2] = SUITE_PI - pp_numpy_arctan2(sim->numpy, frame[SUITE_ZX], frame[SUITE_XX]);
  } else {
    place[0] = pp_random_state_uniform(sim->random, -.5, .5);
    place[1] = pp_random_state_uniform(sim->random, 0, .7);
    place[2] = pp_random_state_uniform(sim->random, 0, 2 * SUITE_PI);
    sim->data->qvel[sim->ids[OBJECT_VELOCITIES]] = pp_random_state_uniform(sim->random, -5, 5);
  }
  return PP_OK;
}

static int draw(suite_sim *sim) {
  double place[3];
  suite_arm_draw(sim);
  draw_target(sim);
  int status = draw_object(sim, place);
  for (int32_t i = 0; i < 3; i++) sim->data->qpos[sim->ids[OBJECT_JOINTS + i]] = place[i];
  return status;
}

static int begin(suite_sim *sim) {
  return suite_draw_without_contacts(sim, draw, SUITE_MOST_ATTEMPTS);
}

static double *observe(suite_sim *sim, double *row) {
  row = suite_arm_observe(sim, row);
  row = suite_arm_pose(sim, row, OBJECT);
  for (int32_t i = 0; i < 3; i++) *row++ = sim->data->qvel[sim->ids[OBJECT_VELOCITIES + i]];
  return suite_arm_pose(sim, row, TARGET);
}

static double closeness(const suite_sim *sim, int32_t first, int32_t second) {
  return suite_tolerate(sim, suite_arm_distance(sim, first, second),
                        (suite_tolerance){.high = CLOSE, .margin = CLOSE * 2});
}

static double reward(suite_sim *sim) {
  if (!(sim->kind->variant & PEG)) return closeness(sim, OBJECT_SITE, TARGET_SITE);
  double grasping =
      (closeness(sim, PEG_GRASP, SUITE_ARM_GRASP) + closeness(sim, PEG_PINCH, PINCH)) / 2;
  double bringing =
      (closeness(sim, OBJECT_SITE, TARGET_SITE) + closeness(sim, TARGET_TIP, PEG_TIP)) / 2;
  return fmax(bringing, grasping / 3);
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind bring_ball = {.task = &task, .writes_model = true};
static const suite_kind bring_peg = {.task = &task, .variant = PEG, .writes_model = true};
static const suite_kind insert_ball = {.task = &task, .variant = INSERT, .writes_model = true};
static const suite_kind insert_peg = {.task = &task, .variant = PEG | INSERT, .writes_model = true};
static const pp_option ball_options[] = SUITE_OPTIONS("manipulator_bring_ball", 10);
static const pp_option peg_options[] = SUITE_OPTIONS("manipulator_bring_peg", 10);
static const pp_option cup_options[] = SUITE_OPTIONS("manipulator_insert_ball", 10);
static const pp_option slot_options[] = SUITE_OPTIONS("manipulator_insert_peg", 10);

const pp_env_def pp_env_suite_manipulator[8] = {
    SUITE_TASK("manipulator", "bring_ball", "ManipulatorBringBall", ball_options, &bring_ball),
    SUITE_TASK("manipulator", "bring_peg", "ManipulatorBringPeg", peg_options, &bring_peg),
    SUITE_TASK("manipulator", "insert_ball", "ManipulatorInsertBall", cup_options, &insert_ball),
    SUITE_TASK("manipulator", "insert_peg", "ManipulatorInsertPeg", slot_options, &insert_peg),
};
