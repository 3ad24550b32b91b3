/* lqr: drive a chain of masses on springs to rest; the seed draws the springs. */
#include "task.h"

enum { MOST_BODIES = SUITE_MOST_OWN };
static const double CONTROL_COST = 0.1, TERMINAL_NORM = 1e-6;

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  shared->num_own = shared->model.num_joints;
  return PP_OK;
}

static void seed(suite_sim *sim) {
  for (int32_t i = 0; i < sim->shared->num_own; i++) {
    sim->own[i] = pp_random_state_uniform(sim->random, 15, 25);
    // the damping, which is 0
    pp_random_state_uniform(sim->random, 0, 0);
  }
}

static void apply(suite_sim *sim) {
  suite_copy(sim->values->jnt_stiffness, sim->own, sim->shared->num_own);
}

static int begin(suite_sim *sim) {
  double *qpos = sim->data->qpos;
  int32_t count = sim->shared->model.sim.nq;
  double unit[MOST_BODIES];

  apply(sim);
  for (int32_t i = 0; i < count; i++) unit[i] = pp_random_state_randn(sim->random);
  double norm = suite_norm(sim, unit, count);
  for (int32_t i = 0; i < count; i++) qpos[i] = sqrt(2) * unit[i] / norm;
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  return suite_observe_velocities(sim, suite_observe_positions(sim, row, 0));
}

static double reward(suite_sim *sim) {
  const mujoco_simulator *simulator = &sim->shared->model.sim;
  const double *position = sim->data->qpos, *control = sim->data->ctrl;
  double state = 0.5 * pp_numpy_dot(sim->numpy, position, position, simulator->nq);
  double effort = 0.5 * pp_numpy_dot(sim->numpy, control, control, simulator->nu);
  return 1 - (state + effort * CONTROL_COST);
}

static bool has_ended(suite_sim *sim) {
  double state[2 * MOST_BODIES];
  double *end = observe(sim, state);
  return suite_norm(sim, state, (int32_t)(end - state)) < TERMINAL_NORM;
}

static const suite_task task = {.prepare = prepare,
                                .seed = seed,
                                .begin = begin,
                                .apply = apply,
                                .observe = observe,
                                .reward = reward,
                                .has_ended = has_ended};
static const suite_kind kind = {.task = &task, .writes_model = true};
static const pp_option two[] = SUITE_OPTIONS("lqr_2_1", 1);
static const pp_option six[] = SUITE_OPTIONS("lqr_6_2", 1);

const pp_env_def pp_env_suite_lqr[4] = {
    SUITE_LIMITED("lqr", "lqr_2_1", "LqrLqr21", 0, two, &kind),
    SUITE_LIMITED("lqr", "lqr_6_2", "LqrLqr62", 0, six, &kind),
};
