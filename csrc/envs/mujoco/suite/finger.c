/* finger: spin a body on a hinge, or turn it to an angle. */
#include "task.h"

enum {
  TOUCH_TOP,
  TOUCH_BOTTOM,
  HINGE_VELOCITY,
  TIP,
  SPINNER,
  PROXIMAL,
  DISTAL,
  PROXIMAL_VELOCITY,
  DISTAL_VELOCITY,
  TARGET,
  TARGET_SITE,
  CAP,
  HINGE_DOF
};
enum { SPIN, TURN };
enum { X, Z, NUM_OWN };

static const char *const names[] = {
    "sensor:touchtop",
    "sensor:touchbottom",
    "sensor:hinge_velocity",
    "sensor:tip",
    "sensor:spinner",
    "sensor:proximal",
    "sensor:distal",
    "sensor:proximal_velocity",
    "sensor:distal_velocity",
    "sensor:target",
    "site:target",
    "geom:cap1",
    "qvel:hinge",
};
static const double SPIN_VELOCITY = 15, SPIN_DAMPING = .03;
enum { ATTEMPTS = 1000 };

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", 4);
  suite_describe_vector(config, shared, "velocity", 3);
  suite_describe_vector(config, shared, "touch", 2);
  if (shared->kind->variant == TURN) {
    suite_describe_vector(config, shared, "target_position", 2);
    suite_describe_vector(config, shared, "dist_to_target", 0);
    shared->num_own = NUM_OWN;
  }
  return suite_find(config, shared, 0, names, sizeof(names) / sizeof(*names));
}

/* the x and z of one sensor of a position relative to the spinner's */
static double *from_spinner(const suite_sim *sim, double *row, int32_t sensor) {
  const double *point = sim->data->sensordata + sim->ids[sensor];
  const double *spinner = sim->data->sensordata + sim->ids[SPINNER];
  *row++ = point[0] - spinner[0];
  *row++ = point[2] - spinner[2];
  return row;
}

static double distance(const suite_sim *sim) {
  double tip[2], target[2];
  from_spinner(sim, tip, TIP);
  from_spinner(sim, target, TARGET);
  suite_subtract(target, target, tip, 2);
  return suite_norm(sim, target, 2) - sim->values->site_size[3 * sim->ids[TARGET_SITE]];
}

static void apply(suite_sim *sim) {
  if (sim->kind->variant == SPIN) {
    sim->values->dof_damping[sim->ids[HINGE_DOF]] = SPIN_DAMPING;
    return;
  }
  double *position = sim->values->site_pos + 3 * sim->ids[TARGET_SITE];
  position[0] = sim->own[X];
  position[2] = sim->own[Z];
  sim->values->site_size[3 * sim->ids[TARGET_SITE]] = sim->kind->number;
}

/* The hinge belongs to the last joint, so that its anchor is the last. */
static void draw_target(suite_sim *sim) {
  double angle = pp_random_state_uniform(sim->random, -SUITE_PI, SUITE_PI);
  const double *hinge = sim->data->xanchor + 3 * (sim->shared->model.num_joints - 1);
  double radius = pp_pairwise_sum(sim->values->geom_size + 3 * sim->ids[CAP], 3);
  sim->own[X] = hinge[0] + radius * pp_numpy_sin(sim->numpy, angle);
  sim->own[Z] = hinge[2] + radius * pp_numpy_cos(sim->numpy, angle);
}

static int draw(suite_sim *sim) {
  suite_randomize_joints(sim);
  return PP_OK;
}

static int begin(suite_sim *sim) {
  if (sim->kind->variant == TURN) draw_target(sim);
  apply(sim);
  return suite_draw_without_contacts(sim, draw, ATTEMPTS);
}

static double *observe(suite_sim *sim, double *row) {
  *row++ = suite_sensor(sim, PROXIMAL);
  *row++ = suite_sensor(sim, DISTAL);
  row = from_spinner(sim, row, TIP);
  *row++ = suite_sensor(sim, PROXIMAL_VELOCITY);
  *row++ = suite_sensor(sim, DISTAL_VELOCITY);
  *row++ = suite_sensor(sim, HINGE_VELOCITY);
  *row++ = pp_numpy_log1p(sim->numpy, suite_sensor(sim, TOUCH_TOP));
  *row++ = pp_numpy_log1p(sim->numpy, suite_sensor(sim, TOUCH_BOTTOM));
  if (sim->kind->variant == SPIN) return row;
  row = from_spinner(sim, row, TARGET);
  *row++ = distance(sim);
  return row;
}

static double reward(suite_sim *sim) {
  if (sim->kind->variant == TURN) return distance(sim) <= 0;
  return suite_sensor(sim, HINGE_VELOCITY) <= -SPIN_VELOCITY;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind spin = {.task = &task, .variant = SPIN, .writes_model = true};
static const suite_kind easy = {
    .task = &task, .variant = TURN, .number = 0.07, .writes_model = true};
static const suite_kind hard = {
    .task = &task, .variant = TURN, .number = 0.03, .writes_model = true};
static const pp_option options[] = SUITE_OPTIONS("finger", 2);

const pp_env_def pp_env_suite_finger[6] = {
    SUITE_TASK("finger", "spin", "FingerSpin", options, &spin),
    SUITE_TASK("finger", "turn_easy", "FingerTurnEasy", options, &easy),
    SUITE_TASK("finger", "turn_hard", "FingerTurnHard", options, &hard),
};
