/* swimmer: swim to a target with 6 or 15 links. */
#include "task.h"

enum { TARGET, NOSE, HEAD, LIGHT };
enum { X, Y, NUM_OWN };

static const char *const names[] = {"geom:target", "geom:nose", "body:head", "light:target_light"};
enum {
  ROOT_JOINTS = 3,
  HEAD_SENSORS = 12, /* numbers; those of a link follow, and the next link's */
  LINK_SENSORS = 6,
};
static const double CLOSE_CHANCE = .2;

/* without the head */
static int32_t num_links(const suite_shared *shared) {
  return shared->model.sim.nq - ROOT_JOINTS;
}

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "joints", num_links(shared));
  suite_describe_vector(config, shared, "to_target", 2);
  suite_describe_vector(config, shared, "body_velocities", 3 * (num_links(shared) + 1));
  shared->num_own = NUM_OWN;
  return suite_find(config, shared, 0, names, 4);
}

static void apply(suite_sim *sim) {
  suite_copy(sim->values->geom_pos + 3 * sim->ids[TARGET], sim->own, 2);
  suite_copy(sim->values->light_pos + 3 * sim->ids[LIGHT], sim->own, 2);
}

static int begin(suite_sim *sim) {
  suite_randomize_joints(sim);
  double box = pp_random_state_rand(sim->random) < CLOSE_CHANCE ? .3 : 2;
  sim->own[X] = pp_random_state_uniform(sim->random, -box, box);
  sim->own[Y] = pp_random_state_uniform(sim->random, -box, box);
  apply(sim);
  return PP_OK;
}

/* the vector from nose to target in the frame of the head */
static void to_target(const suite_sim *sim, double local[3]) {
  double offset[3];
  suite_subtract(offset, suite_geom(sim, TARGET), suite_geom(sim, NOSE), 3);
  suite_localize(sim, local, offset, sim->data->xmat + 9 * sim->ids[HEAD]);
}

static double *observe(suite_sim *sim, double *row) {
  double local[3];
  row = suite_observe_positions(sim, row, ROOT_JOINTS);
  to_target(sim, local);
  row = suite_copy(row, local, 2);
  for (int32_t i = 0; i <= num_links(sim->shared); i++) {
    const double *velocity = sim->data->sensordata + HEAD_SENSORS + LINK_SENSORS * i;
    *row++ = velocity[0];
    *row++ = velocity[1];
    *row++ = velocity[5];
  }
  return row;
}

static double reward(suite_sim *sim) {
  double local[3], size = sim->values->geom_size[3 * sim->ids[TARGET]];
  to_target(sim, local);
  return suite_tolerate(
      sim, suite_norm(sim, local, 2),
      (suite_tolerance){.high = size, .margin = 5 * size, .sigmoid = SUITE_LONG_TAIL});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind kind = {.task = &task, .writes_model = true};
static const pp_option six[] = SUITE_OPTIONS("swimmer_6", 15);
static const pp_option fifteen[] = SUITE_OPTIONS("swimmer_15", 15);

const pp_env_def pp_env_suite_swimmer[4] = {
    SUITE_TASK("swimmer", "swimmer6", "SwimmerSwimmer6", six, &kind),
    SUITE_TASK("swimmer", "swimmer15", "SwimmerSwimmer15", fifteen, &kind),
};
