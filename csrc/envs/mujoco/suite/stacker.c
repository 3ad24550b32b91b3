/* stacker: stack two or four boxes. */
#include "arm.h"

enum { MOST_BOXES = 4, BOX_NAMES = 8 /* body, x, z, y in qpos; x, y, z in qvel; a site */ };
enum {
  TARGET = SUITE_NUM_ARM_IDS, /* body, site and geom */
  TARGET_SITE,
  TARGET_GEOM,
  BOXES
};
_Static_assert(BOXES + MOST_BOXES * BOX_NAMES <= SUITE_MOST_IDS, "ids of the boxes");
enum { BOX_BODY, BOX_JOINTS, BOX_VELOCITIES = BOX_JOINTS + 3, BOX_SITE = BOX_VELOCITIES + 3 };
enum { TARGET_X, TARGET_Z, NUM_OWN };

static const char *const target[] = {"body:target", "site:target", "geom:target"};
#define BOX(name)                                                              \
  {"body:" name,      "qpos:" name "_x", "qpos:" name "_z", "qpos:" name "_y", \
   "qvel:" name "_x", "qvel:" name "_y", "qvel:" name "_z", "site:" name}
static const char *const boxes[MOST_BOXES][BOX_NAMES] = {BOX("box0"), BOX("box1"), BOX("box2"),
                                                         BOX("box3")};
static const double CLOSE = .01;

static int32_t num_boxes(const suite_sim *sim) {
  return sim->kind->variant;
}

static int32_t box(int32_t i, int32_t part) {
  return BOXES + BOX_NAMES * i + part;
}

static int prepare(pp_config *config, suite_shared *shared) {
  int32_t count = shared->kind->variant;
  int status = suite_arm_prepare(config, shared);

  suite_describe(config, shared, "box_pos", count, 4);
  suite_describe_vector(config, shared, "box_vel", 3 * count);
  suite_describe_vector(config, shared, "target_pos", 2);
  shared->num_own = NUM_OWN;
  if (status >= 0) status = suite_find(config, shared, TARGET, target, 3);
  for (int32_t i = 0; i < count && status >= 0; i++) {
    status = suite_find(config, shared, box(i, 0), boxes[i], BOX_NAMES);
  }
  return status;
}

static double box_size(const suite_sim *sim) {
  return sim->values->geom_size[3 * sim->ids[TARGET_GEOM]];
}

static void apply(suite_sim *sim) {
  double *position = sim->values->body_pos + 3 * sim->ids[TARGET];
  position[0] = sim->own[TARGET_X];
  position[2] = sim->own[TARGET_Z];
}

static int draw(suite_sim *sim) {
  const double lows[3] = {.1, 0, 0}, highs[3] = {.3, .7, 2 * SUITE_PI};

  suite_arm_draw(sim);
  double height = 2 * (double)pp_random_state_randint(sim->random, num_boxes(sim)) + 1;
  sim->own[TARGET_Z] = box_size(sim) * height;
  sim->own[TARGET_X] = pp_random_state_uniform(sim->random, -.37, .37);
  apply(sim);
  for (int32_t i = 0; i < num_boxes(sim); i++) {
    for (int32_t j = 0; j < 3; j++) {
      sim->data->qpos[sim->ids[box(i, BOX_JOINTS + j)]] =
          pp_random_state_uniform(sim->random, lows[j], highs[j]);
    }
  }
  return PP_OK;
}

static int begin(suite_sim *sim) {
  return suite_draw_without_contacts(sim, draw, SUITE_MOST_ATTEMPTS);
}

static double *observe(suite_sim *sim, double *row) {
  const double *position = sim->data->xpos + 3 * sim->ids[TARGET];
  row = suite_arm_observe(sim, row);
  for (int32_t i = 0; i < num_boxes(sim); i++) row = suite_arm_pose(sim, row, box(i, BOX_BODY));
  for (int32_t i = 0; i < num_boxes(sim); i++) {
    for (int32_t j = 0; j < 3; j++) {
      *row++ = sim->data->qvel[sim->ids[box(i, BOX_VELOCITIES + j)]];
    }
  }
  *row++ = position[0];
  *row++ = position[2];
  return row;
}

static double reward(suite_sim *sim) {
  double nearest = HUGE_VAL;
  for (int32_t i = 0; i < num_boxes(sim); i++) {
    nearest = fmin(nearest, suite_arm_distance(sim, box(i, BOX_SITE), TARGET_SITE));
  }
  double is_close = suite_tolerate(sim, nearest, (suite_tolerance){.margin = 2 * box_size(sim)});
  double hand = suite_arm_distance(sim, SUITE_ARM_GRASP, TARGET_SITE);
  double is_far =
      suite_tolerate(sim, hand, (suite_tolerance){.low = .1, .high = HUGE_VAL, .margin = CLOSE});
  return is_close * is_far;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind two = {.task = &task, .variant = 2, .writes_model = true};
static const suite_kind four = {.task = &task, .variant = 4, .writes_model = true};
static const pp_option two_options[] = SUITE_OPTIONS("stacker_2", 10);
static const pp_option four_options[] = SUITE_OPTIONS("stacker_4", 10);

const pp_env_def pp_env_suite_stacker[4] = {
    SUITE_TASK("stacker", "stack_2", "StackerStack2", two_options, &two),
    SUITE_TASK("stacker", "stack_4", "StackerStack4", four_options, &four),
};
