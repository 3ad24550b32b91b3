/* quadruped: walk, run, escape from a bowl, or fetch a ball on four legs. */
#include "task.h"
#include "terrain.h"

enum {
  TORSO,
  VELOCIMETER,
  IMU,   /* accelerometer, then gyroscope */
  FORCE, /* forces of four toes, then torques */
  ROOT,
  BALL_BODY,
  BALL_ROOT,
  BALL_VELOCITY,
  ROOT_VELOCITY,
  TARGET,
  WORKSPACE,
  FLOOR,
  BALL_GEOM,
  BASE = BALL_BODY, /* a site: escape has these instead of fetch's */
  RANGES
};
enum { MOVE, ESCAPE, FETCH };

static const char *const names[] = {"body:torso", "sensor:velocimeter", "sensor:imu_accel",
                                    "sensor:force_toe_front_left", "qpos:root"};
static const char *const fetch_names[] = {"body:ball",  "qpos:ball_root", "qvel:ball_root",
                                          "qvel:root",  "site:target",    "site:workspace",
                                          "geom:floor", "geom:ball"};
static const char *const escape_names[] = {"site:workspace", "sensor:rf_00"};
enum {
  NUM_RANGES = 20,
  NUM_IMU = 6,
  NUM_FORCES = 24,
  MOST_HEIGHTS = 10000,
};
static const double HEIGHT_STEP = 0.01, SMOOTHNESS = 0.15;
static const double ESCAPE_ANGLE = 20; /* degrees */

static int prepare_escape(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "origin", 3);
  suite_describe_vector(config, shared, "rangefinder", NUM_RANGES);
  shared->limit = pp_numpy_cos(&shared->model.numpy, ESCAPE_ANGLE * (SUITE_PI / 180));
  shared->num_own = SUITE_BUMPS * SUITE_BUMPS;
  return suite_find(config, shared, BASE, escape_names, 2);
}

static int prepare_fetch(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "ball_state", 9);
  suite_describe_vector(config, shared, "target_position", 3);
  return suite_find(config, shared, BALL_BODY, fetch_names, 8);
}

static int prepare(pp_config *config, suite_shared *shared) {
  const suite_model *model = &shared->model;
  suite_describe_vector(config, shared, "egocentric_state",
                        2 * suite_num_hinges(model) + model->na);
  suite_describe_vector(config, shared, "torso_velocity", 3);
  suite_describe_vector(config, shared, "torso_upright", 0);
  suite_describe_vector(config, shared, "imu", NUM_IMU);
  suite_describe_vector(config, shared, "force_torque", NUM_FORCES);
  shared->limit = 1;
  int status = suite_find(config, shared, 0, names, 5);
  if (shared->kind->variant == MOVE || status < 0) return status;
  return shared->kind->variant == ESCAPE ? prepare_escape(config, shared)
                                         : prepare_fetch(config, shared);
}

/* ------------------------------------------------------------------------------------- reset -- */

/* Lifts the quadruped from the floor until nothing touches. place: x, y, and the orientation */
static int lift(suite_sim *sim, const double place[6]) {
  double *root = sim->data->qpos + sim->ids[ROOT], height = 0;
  for (int32_t i = 0; i < MOST_HEIGHTS; i++) {
    suite_physics_reset(sim->physics);
    suite_copy(root, place, 2);
    root[2] = height;
    suite_copy(root + 3, place + 2, 4);
    suite_physics_settle(sim->physics);
    if (*sim->data->ncon == 0) return PP_OK;
    height += HEIGHT_STEP;
  }
  return pp_fail(sim->env->error, PP_ERR_ENV, "failed to find a non-contacting configuration");
}

static void apply(suite_sim *sim) {
  if (sim->kind->variant != ESCAPE) return;
  suite_make_terrain(sim->numpy, sim->own, sim->values->hfield_data);
}

static int begin_move(suite_sim *sim) {
  double place[6] = {0};
  for (int32_t i = 2; i < 6; i++) place[i] = pp_random_state_randn(sim->random);
  suite_normalize(sim->numpy, place + 2, 4);
  return lift(sim, place);
}

static int begin_escape(suite_sim *sim) {
  for (int32_t i = 0; i < sim->shared->num_own; i++) {
    sim->own[i] = pp_random_state_uniform(sim->random, SMOOTHNESS, 1);
  }
  apply(sim);
  return begin_move(sim);
}

static int begin_fetch(suite_sim *sim) {
  pp_random_state *random = sim->random;
  double azimuth = pp_random_state_uniform(random, 0, 2 * SUITE_PI);
  double radius = 0.9 * sim->values->geom_size[3 * sim->ids[FLOOR]];
  double place[6] = {0};

  place[2] = pp_numpy_cos(sim->numpy, azimuth / 2);
  place[5] = pp_numpy_sin(sim->numpy, azimuth / 2);
  for (int32_t i = 0; i < 2; i++) place[i] = pp_random_state_uniform(random, -radius, radius);
  int status = lift(sim, place);
  if (status < 0) return status;
  double *ball = sim->data->qpos + sim->ids[BALL_ROOT];
  double *velocity = sim->data->qvel + sim->ids[BALL_VELOCITY];
  for (int32_t i = 0; i < 2; i++) ball[i] = pp_random_state_uniform(random, -radius, radius);
  ball[2] = 2;
  for (int32_t i = 0; i < 2; i++) velocity[i] = 5 * pp_random_state_randn(random);
  return PP_OK;
}

static int begin(suite_sim *sim) {
  switch (sim->kind->variant) {
    case ESCAPE: return begin_escape(sim);
    case FETCH: return begin_fetch(sim);
    default: return begin_move(sim);
  }
}

/* ----------------------------------------------------------------------------------- observe -- */

static double *observe_fetch(const suite_sim *sim, double *row) {
  const suite_data *data = sim->data;
  const double *frame = data->xmat + 9 * sim->ids[TORSO];
  const double *torso = data->xpos + 3 * sim->ids[TORSO];
  const double *velocity = data->qvel + sim->ids[BALL_VELOCITY];
  double ball[9], offset[3];

  suite_subtract(ball, data->xpos + 3 * sim->ids[BALL_BODY], torso, 3);
  suite_subtract(ball + 3, velocity, data->qvel + sim->ids[ROOT_VELOCITY], 3);
  suite_copy(ball + 6, velocity + 3, 3);
  pp_numpy_matmul(sim->numpy, ball, 3, 3, frame, 3, row);
  suite_subtract(offset, suite_site(sim, TARGET), torso, 3);
  return suite_localize(sim, row + 9, offset, frame);
}

static double *observe_escape(const suite_sim *sim, double *row) {
  const double *frame = sim->data->xmat + 9 * sim->ids[TORSO];
  const double *ranges = sim->data->sensordata + sim->ids[RANGES];

  suite_localize(sim, row, sim->data->xpos + 3 * sim->ids[TORSO], frame);
  for (int32_t i = 0; i < 3; i++, row++) *row = -*row;
  // -1: nothing was hit
  for (int32_t i = 0; i < NUM_RANGES; i++) {
    *row++ = ranges[i] == -1 ? 1 : pp_numpy_tanh(sim->numpy, ranges[i]);
  }
  return row;
}

static double *observe(suite_sim *sim, double *row) {
  const double *sensors = sim->data->sensordata;
  row = suite_observe_hinges(sim, row);
  row = suite_copy(row, sim->data->act, sim->shared->model.na);
  row = suite_copy(row, sensors + sim->ids[VELOCIMETER], 3);
  *row++ = suite_body(sim, TORSO, SUITE_ZZ);
  row = suite_copy(row, sensors + sim->ids[IMU], NUM_IMU);
  for (int32_t i = 0; i < NUM_FORCES; i++) {
    *row++ = pp_numpy_arcsinh(sim->numpy, sensors[sim->ids[FORCE] + i]);
  }
  if (sim->kind->variant == ESCAPE) return observe_escape(sim, row);
  return sim->kind->variant == FETCH ? observe_fetch(sim, row) : row;
}

/* ------------------------------------------------------------------------------------ reward -- */

static double move_reward(const suite_sim *sim) {
  double speed = sim->kind->number;
  return suite_tolerate(sim, sim->data->sensordata[sim->ids[VELOCIMETER]],
                        (suite_tolerance){.low = speed,
                                          .high = HUGE_VAL,
                                          .margin = speed,
                                          .sigmoid = SUITE_LINEAR,
                                          .at_margin = 0.5});
}

/* the reward for a site that is so close to the ball */
static double near_ball(const suite_sim *sim, int32_t site, double close) {
  double arena = sim->values->geom_size[3 * sim->ids[FLOOR]] * sqrt(2), offset[2];
  suite_subtract(offset, suite_site(sim, site), sim->data->xpos + 3 * sim->ids[BALL_BODY], 2);
  return suite_tolerate(sim, suite_norm(sim, offset, 2),
                        (suite_tolerance){.high = close, .margin = arena, .sigmoid = SUITE_LINEAR});
}

static double fetch_reward(const suite_sim *sim) {
  const double *sites = sim->values->site_size;
  double ball = sim->values->geom_size[3 * sim->ids[BALL_GEOM]];
  double reach = near_ball(sim, WORKSPACE, sites[3 * sim->ids[WORKSPACE]] + ball);
  double fetch = near_ball(sim, TARGET, sites[3 * sim->ids[TARGET]]);
  return reach * (0.5 + 0.5 * fetch);
}

static double escape_reward(const suite_sim *sim) {
  double size = sim->values->hfield_size[0];
  return suite_tolerate(
      sim, suite_norm(sim, suite_site(sim, BASE), 3),
      (suite_tolerance){.low = size, .high = HUGE_VAL, .margin = size, .sigmoid = SUITE_LINEAR});
}

static double reward(suite_sim *sim) {
  double limit = sim->shared->limit;
  double upright = suite_tolerate(
      sim, suite_body(sim, TORSO, SUITE_ZZ),
      (suite_tolerance){
          .low = limit, .high = HUGE_VAL, .margin = 1 + limit, .sigmoid = SUITE_LINEAR});
  switch (sim->kind->variant) {
    case ESCAPE: return upright * escape_reward(sim);
    case FETCH: return upright * fetch_reward(sim);
    default: return upright * move_reward(sim);
  }
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind walk = {.task = &task, .variant = MOVE, .number = 0.5};
static const suite_kind run = {.task = &task, .variant = MOVE, .number = 5};
static const suite_kind escape = {.task = &task, .variant = ESCAPE, .writes_model = true};
static const suite_kind fetch = {.task = &task, .variant = FETCH};
static const pp_option walk_options[] = SUITE_OPTIONS("quadruped_walk", 4);
static const pp_option run_options[] = SUITE_OPTIONS("quadruped_run", 4);
static const pp_option escape_options[] = SUITE_OPTIONS("quadruped_escape", 4);
static const pp_option fetch_options[] = SUITE_OPTIONS("quadruped_fetch", 4);

const pp_env_def pp_env_suite_quadruped[8] = {
    SUITE_TASK("quadruped", "walk", "QuadrupedWalk", walk_options, &walk),
    SUITE_TASK("quadruped", "run", "QuadrupedRun", run_options, &run),
    SUITE_TASK("quadruped", "escape", "QuadrupedEscape", escape_options, &escape),
    SUITE_TASK("quadruped", "fetch", "QuadrupedFetch", fetch_options, &fetch),
};
