/* reacher: touch a target in the plane with two links. */
#include "task.h"

enum { TARGET, FINGER };
enum { X, Y, NUM_OWN };

static const char *const names[] = {"geom:target", "geom:finger"};

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq);
  suite_describe_vector(config, shared, "to_target", 2);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  shared->num_own = NUM_OWN;
  return suite_find(config, shared, 0, names, 2);
}

static void apply(suite_sim *sim) {
  sim->values->geom_size[3 * sim->ids[TARGET]] = sim->kind->number;
  suite_copy(sim->values->geom_pos + 3 * sim->ids[TARGET], sim->own, 2);
}

static int begin(suite_sim *sim) {
  suite_randomize_joints(sim);
  double angle = pp_random_state_uniform(sim->random, 0, 2 * SUITE_PI);
  double radius = pp_random_state_uniform(sim->random, .05, .20);
  sim->own[X] = radius * pp_numpy_sin(sim->numpy, angle);
  sim->own[Y] = radius * pp_numpy_cos(sim->numpy, angle);
  apply(sim);
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  row = suite_observe_positions(sim, row, 0);
  row = suite_subtract(row, suite_geom(sim, TARGET), suite_geom(sim, FINGER), 2);
  return suite_observe_velocities(sim, row);
}

static double reward(suite_sim *sim) {
  const double *sizes = sim->values->geom_size;
  double radii = sizes[3 * sim->ids[TARGET]] + sizes[3 * sim->ids[FINGER]], offset[2];
  suite_subtract(offset, suite_geom(sim, TARGET), suite_geom(sim, FINGER), 2);
  return suite_tolerate(sim, suite_norm(sim, offset, 2), (suite_tolerance){.high = radii});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind easy = {.task = &task, .number = .05, .writes_model = true};
static const suite_kind hard = {.task = &task, .number = .015, .writes_model = true};
static const pp_option options[] = SUITE_OPTIONS("reacher", 1);

const pp_env_def pp_env_suite_reacher[4] = {
    SUITE_TASK("reacher", "easy", "ReacherEasy", options, &easy),
    SUITE_TASK("reacher", "hard", "ReacherHard", options, &hard),
};
