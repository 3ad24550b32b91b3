/* walker: stand, walk or run on two legs in the plane. */
#include "task.h"

enum { TORSO, VELOCITY };

static const char *const names[] = {"body:torso", "sensor:torso_subtreelinvel"};
static const double STAND_HEIGHT = 1.2;

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "orientations", 2 * (shared->model.sim.nbody - 1));
  suite_describe_vector(config, shared, "height", 0);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, 2);
}

static int begin(suite_sim *sim) {
  suite_randomize_joints(sim);
  return PP_OK;
}

static double height(const suite_sim *sim) {
  return sim->data->xpos[3 * sim->ids[TORSO] + 2];
}

static double *observe(suite_sim *sim, double *row) {
  for (int32_t i = 1; i < sim->shared->model.sim.nbody; i++) {
    *row++ = sim->data->xmat[9 * i + SUITE_XX];
    *row++ = sim->data->xmat[9 * i + SUITE_XZ];
  }
  *row++ = height(sim);
  return suite_observe_velocities(sim, row);
}

static double reward(suite_sim *sim) {
  double speed = sim->kind->number;
  double standing = suite_tolerate(
      sim, height(sim),
      (suite_tolerance){.low = STAND_HEIGHT, .high = HUGE_VAL, .margin = STAND_HEIGHT / 2});
  double upright = (1 + suite_body(sim, TORSO, SUITE_ZZ)) / 2;
  double stand = (3 * standing + upright) / 4;
  if (speed == 0) return stand;
  double move = suite_tolerate(sim, suite_sensor(sim, VELOCITY),
                               (suite_tolerance){.low = speed,
                                                 .high = HUGE_VAL,
                                                 .margin = speed / 2,
                                                 .sigmoid = SUITE_LINEAR,
                                                 .at_margin = 0.5});
  return stand * (5 * move + 1) / 6;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind stand_kind = {.task = &task};
static const suite_kind walk = {.task = &task, .number = 1};
static const suite_kind run = {.task = &task, .number = 8};
static const pp_option options[] = SUITE_OPTIONS("walker", 10);

const pp_env_def pp_env_suite_walker[6] = {
    SUITE_TASK("walker", "stand", "WalkerStand", options, &stand_kind),
    SUITE_TASK("walker", "walk", "WalkerWalk", options, &walk),
    SUITE_TASK("walker", "run", "WalkerRun", options, &run),
};
