/* dog: stand, walk, trot, run, or fetch a ball. */
#include "task.h"

enum {
  TORSO,
  PELVIS,
  SKULL,
  VELOCITY,
  INERTIAL, /* three sensors of three numbers */
  TOUCH,    /* four numbers */
  FEET,     /* four sensors of three numbers: feet, then hands */
  ROOT,
  HEAD_SITE,
  BALL,   /* a geom */
  TARGET, /* a geom */
  FLOOR,
  UPPER_BITE,
  LOWER_BITE,
  BALL_ROOT,
  BALL_VELOCITY
};
enum { STAND, MOVE, FETCH };
enum { TORSO_HEIGHT, PELVIS_HEIGHT, WEIGHT, NUM_OWN };

static const char *const names[] = {"body:torso",
                                    "body:pelvis",
                                    "body:skull",
                                    "sensor:torso_linvel",
                                    "sensor:accelerometer",
                                    "sensor:palm_L",
                                    "sensor:foot_L",
                                    "qpos:root",
                                    "site:head"};
static const char *const fetch_names[] = {"geom:ball",       "geom:target",     "geom:floor",
                                          "site:upper_bite", "site:lower_bite", "qpos:ball_root",
                                          "qvel:ball_root"};
enum { NUM_TOUCH = 4, NUM_INERTIAL = 9, NUM_FEET = 12, NUM_UPRIGHT = 3 };
static const double STAND_FRACTION = 0.9, MOST_ANGLE = 30; /* degrees */

static int prepare(pp_config *config, suite_shared *shared) {
  const suite_model *model = &shared->model;
  suite_describe_vector(config, shared, "joint_angles", suite_num_hinges(model));
  suite_describe_vector(config, shared, "joint_velocites", suite_num_hinges(model));
  suite_describe_vector(config, shared, "torso_pelvis_height", 2);
  suite_describe_vector(config, shared, "z_projection", 3 * NUM_UPRIGHT);
  suite_describe_vector(config, shared, "torso_com_velocity", 3);
  suite_describe_vector(config, shared, "inertial_sensors", NUM_INERTIAL);
  suite_describe_vector(config, shared, "foot_forces", NUM_FEET);
  suite_describe_vector(config, shared, "touch_sensors", NUM_TOUCH);
  suite_describe_vector(config, shared, "actuator_state", model->na);
  shared->num_own = NUM_OWN;
  shared->limit = pp_numpy_cos(&model->numpy, MOST_ANGLE * (SUITE_PI / 180));
  int status = suite_find(config, shared, 0, names, 9);
  if (shared->kind->variant != FETCH || status < 0) return status;
  suite_describe_vector(config, shared, "ball_state", 6);
  suite_describe_vector(config, shared, "target_position", 3);
  return suite_find(config, shared, BALL, fetch_names, 7);
}

/* ------------------------------------------------------------------------------------- reset -- */

static double height(const suite_sim *sim, int32_t body) {
  return sim->data->xpos[3 * sim->ids[body] + 2];
}

static void throw_ball(suite_sim *sim) {
  pp_random_state *random = sim->random;
  const pp_numpy_loops *numpy = sim->numpy;
  double radius = 0.75 * sim->values->geom_size[3 * sim->ids[FLOOR]];
  double azimuth = pp_random_state_uniform(random, 0, 2 * SUITE_PI);
  double sine = pp_numpy_sin(numpy, azimuth), cosine = pp_numpy_cos(numpy, azimuth);
  double *position = sim->data->qpos + sim->ids[BALL_ROOT];
  double *velocity = sim->data->qvel + sim->ids[BALL_VELOCITY];

  position[0] = radius * sine;
  position[1] = radius * cosine;
  position[2] = 0.05;
  double most_height = pp_random_state_uniform(random, 0, 3);
  velocity[2] = sqrt(2 * sim->shared->model.gravity * most_height);
  double speed = pp_random_state_uniform(random, 0, 5);
  velocity[0] = speed * (-sine + 0.05 * pp_random_state_randn(random));
  velocity[1] = speed * (-cosine + 0.05 * pp_random_state_randn(random));
}

static int begin(suite_sim *sim) {
  const mujoco_simulator *simulator = &sim->shared->model.sim;
  const suite_data *data = sim->data;
  double *orientation = data->qpos + sim->ids[ROOT] + 3;

  suite_physics_reset(sim->physics);
  sim->own[TORSO_HEIGHT] = height(sim, TORSO) * STAND_FRACTION;
  sim->own[PELVIS_HEIGHT] = height(sim, PELVIS) * STAND_FRACTION;
  sim->own[WEIGHT] = sim->shared->model.gravity * sim->values->body_subtreemass[sim->ids[TORSO]];
  double azimuth = pp_random_state_uniform(sim->random, 0, 2 * SUITE_PI);
  orientation[0] = pp_numpy_cos(sim->numpy, azimuth / 2);
  orientation[1] = orientation[2] = 0;
  orientation[3] = pp_numpy_sin(sim->numpy, azimuth / 2);
  data->qvel[0] = 2 * pp_random_state_randn(sim->random);
  data->qvel[1] = 2 * pp_random_state_randn(sim->random);
  data->qvel[5] = 2 * pp_random_state_randn(sim->random);
  for (int32_t i = 0; i < simulator->nu; i++) {
    data->act[i] =
        pp_random_state_uniform(sim->random, simulator->control_low[i], simulator->control_high[i]);
  }
  if (sim->kind->variant == FETCH) throw_ball(sim);
  return PP_OK;
}

/* ----------------------------------------------------------------------------------- observe -- */

/* the linear velocity of a site or geom in the global frame */
static void find_velocity(const suite_sim *sim, int32_t type, int32_t id, double linear[3]) {
  double velocity[6];
  sim->shared->model.sim.library.mj_objectVelocity(sim->physics->in->model, sim->physics->in->data,
                                                   type, sim->ids[id], velocity, 0);
  suite_copy(linear, velocity + 3, 3);
}

static double *observe_fetch(const suite_sim *sim, double *row) {
  const double *frame = sim->data->site_xmat + 9 * sim->ids[HEAD_SITE];
  const double *head = suite_site(sim, HEAD_SITE);
  double offset[3], head_velocity[3], ball_velocity[3];

  suite_subtract(offset, suite_geom(sim, BALL), head, 3);
  row = suite_localize(sim, row, offset, frame);
  find_velocity(sim, MUJOCO_SITE, HEAD_SITE, head_velocity);
  find_velocity(sim, MUJOCO_GEOM, BALL, ball_velocity);
  suite_subtract(offset, ball_velocity, head_velocity, 3);
  row = suite_localize(sim, row, offset, frame);
  suite_subtract(offset, suite_geom(sim, TARGET), head, 3);
  return suite_localize(sim, row, offset, frame);
}

static double *torso_velocity(const suite_sim *sim, double *row) {
  return suite_localize(sim, row, sim->data->sensordata + sim->ids[VELOCITY],
                        sim->data->xmat + 9 * sim->ids[TORSO]);
}

static double *observe(suite_sim *sim, double *row) {
  const int32_t upright[NUM_UPRIGHT] = {SKULL, TORSO, PELVIS};
  const double *sensors = sim->data->sensordata;

  row = suite_observe_hinges(sim, row);
  *row++ = height(sim, TORSO);
  *row++ = height(sim, PELVIS);
  for (int32_t i = 0; i < NUM_UPRIGHT; i++) {
    row = suite_copy(row, sim->data->xmat + 9 * sim->ids[upright[i]] + SUITE_ZX, 3);
  }
  row = torso_velocity(sim, row);
  row = suite_copy(row, sensors + sim->ids[INERTIAL], NUM_INERTIAL);
  row = suite_copy(row, sensors + sim->ids[FEET], NUM_FEET);
  row = suite_copy(row, sensors + sim->ids[TOUCH], NUM_TOUCH);
  row = suite_copy(row, sim->data->act, sim->shared->model.na);
  return sim->kind->variant == FETCH ? observe_fetch(sim, row) : row;
}

/* ------------------------------------------------------------------------------------ reward -- */

/* above a height, whose margin it is, too */
static double stand_reward(const suite_sim *sim, int32_t body, double least) {
  return suite_tolerate(sim, height(sim, body),
                        (suite_tolerance){.low = least, .high = HUGE_VAL, .margin = least});
}

/* the product of the rewards for standing */
static double standing(const suite_sim *sim) {
  const int32_t upright[NUM_UPRIGHT] = {SKULL, TORSO, PELVIS};
  double limit = sim->shared->limit, weight = sim->own[WEIGHT];
  double product = stand_reward(sim, TORSO, sim->own[TORSO_HEIGHT]);

  product *= stand_reward(sim, PELVIS, sim->own[PELVIS_HEIGHT]);
  for (int32_t i = 0; i < NUM_UPRIGHT; i++) {
    product *= suite_tolerate_element(
        sim, suite_body(sim, upright[i], SUITE_ZZ),
        (suite_tolerance){
            .low = limit, .high = HUGE_VAL, .margin = limit + 1, .sigmoid = SUITE_LINEAR});
  }
  double touch = pp_pairwise_sum(sim->data->sensordata + sim->ids[TOUCH], NUM_TOUCH);
  return product * suite_tolerate(sim, touch,
                                  (suite_tolerance){.low = weight,
                                                    .high = HUGE_VAL,
                                                    .margin = weight,
                                                    .sigmoid = SUITE_LINEAR,
                                                    .at_margin = 0.9});
}

static double move_reward(const suite_sim *sim) {
  double speed = sim->kind->number, velocity[3];
  torso_velocity(sim, velocity);
  double forward = suite_tolerate(
      sim, velocity[0],
      (suite_tolerance){
          .low = speed, .high = 2 * speed, .margin = fmax(1.0, speed), .sigmoid = SUITE_LINEAR});
  return (4 * forward + 1) / 5;
}

static double ball_distance(const suite_sim *sim, const double *point) {
  double offset[3];
  suite_subtract(offset, suite_geom(sim, BALL), point, 3);
  return suite_norm(sim, offset, 3);
}

/* the rewards for reaching the ball and for bringing it to the target, times what is before */
static double fetch_reward(const suite_sim *sim, double before) {
  double mouth = 0.5 * (ball_distance(sim, suite_site(sim, UPPER_BITE)) +
                        ball_distance(sim, suite_site(sim, LOWER_BITE)));
  double to_target = ball_distance(sim, suite_geom(sim, TARGET));
  double radius = sim->values->geom_size[3 * sim->ids[TARGET]];
  double floor = sim->values->geom_size[3 * sim->ids[FLOOR]];
  double bite = sim->values->site_size[3 * sim->ids[UPPER_BITE]];
  double reach = suite_tolerate(
      sim, mouth, (suite_tolerance){.high = bite, .margin = 2, .sigmoid = SUITE_RECIPROCAL});
  double near = suite_tolerate(
      sim, to_target,
      (suite_tolerance){.high = radius, .margin = floor, .sigmoid = SUITE_RECIPROCAL});

  reach = to_target < 2 * radius ? 1 : (6 * reach + 1) / 7;
  return before * reach * ((near + 1) / 2);
}

static double reward(suite_sim *sim) {
  double product = standing(sim);
  if (sim->kind->variant == MOVE) return product * move_reward(sim);
  return sim->kind->variant == FETCH ? fetch_reward(sim, product) : product;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind stand = {.task = &task, .variant = STAND};
static const suite_kind walk = {.task = &task, .variant = MOVE, .number = 1};
static const suite_kind trot = {.task = &task, .variant = MOVE, .number = 3};
static const suite_kind run = {.task = &task, .variant = MOVE, .number = 9};
static const suite_kind fetch = {.task = &task, .variant = FETCH};
static const pp_option walk_options[] = SUITE_OPTIONS("dog_walk", 3);
static const pp_option trot_options[] = SUITE_OPTIONS("dog_trot", 3);
static const pp_option run_options[] = SUITE_OPTIONS("dog_run", 3);
static const pp_option fetch_options[] = SUITE_OPTIONS("dog_fetch", 3);

const pp_env_def pp_env_suite_dog[10] = {
    SUITE_TASK("dog", "stand", "DogStand", walk_options, &stand),
    SUITE_TASK("dog", "walk", "DogWalk", walk_options, &walk),
    SUITE_TASK("dog", "trot", "DogTrot", trot_options, &trot),
    SUITE_TASK("dog", "run", "DogRun", run_options, &run),
    SUITE_TASK("dog", "fetch", "DogFetch", fetch_options, &fetch),
};
