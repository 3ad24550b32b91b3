/* point_mass: move a point to a target, with motors along the axes or in random directions. */
#include "task.h"

enum { TARGET, POINT };
enum { EASY, HARD };

static const char *const names[] = {"geom:target", "geom:pointmass"};
/* the factors of both joints in both motors' tendons */
enum { NUM_FACTORS = 4 };
static const double TOO_PARALLEL = 0.9;

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  shared->num_own = shared->kind->variant == HARD ? NUM_FACTORS : 0;
  return suite_find(config, shared, 0, names, 2);
}

static void apply(suite_sim *sim) {
  if (sim->kind->variant == HARD) suite_copy(sim->values->wrap_prm, sim->own, NUM_FACTORS);
}

static void draw_direction(suite_sim *sim, double *direction) {
  direction[0] = pp_random_state_randn(sim->random);
  direction[1] = pp_random_state_randn(sim->random);
  suite_normalize(sim->numpy, direction, 2);
}

static int begin(suite_sim *sim) {
  suite_randomize_joints(sim);
  if (sim->kind->variant == EASY) return PP_OK;
  draw_direction(sim, sim->own);
  do draw_direction(sim, sim->own + 2);
  while (fabs(pp_numpy_dot(sim->numpy, sim->own, sim->own + 2, 2)) > TOO_PARALLEL);
  apply(sim);
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  return suite_observe_velocities(sim, suite_observe_positions(sim, row, 0));
}

static double reward(suite_sim *sim) {
  double offset[3], size = sim->values->geom_size[3 * sim->ids[TARGET]];
  suite_subtract(offset, suite_geom(sim, TARGET), suite_geom(sim, POINT), 3);
  double near = suite_tolerate(sim, suite_norm(sim, offset, 3),
                               (suite_tolerance){.high = size, .margin = size});
  return near * ((suite_control_reward(sim) + 4) / 5);
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind easy = {.task = &task, .variant = EASY};
static const suite_kind hard = {.task = &task, .variant = HARD, .writes_model = true};
static const pp_option options[] = SUITE_OPTIONS("point_mass", 1);

const pp_env_def pp_env_suite_point_mass[4] = {
    SUITE_TASK("point_mass", "easy", "PointMassEasy", options, &easy),
    SUITE_TASK("point_mass", "hard", "PointMassHard", options, &hard),
};
