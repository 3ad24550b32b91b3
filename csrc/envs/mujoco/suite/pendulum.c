/* pendulum: swing a pole up, and hold it there. */
#include "task.h"

enum { HINGE, HINGE_VELOCITY, POLE };

static const char *const names[] = {"qpos:hinge", "qvel:hinge", "body:pole"};
static const double ANGLE_BOUND = 8; /* degrees */

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "orientation", 2);
  suite_describe_vector(config, shared, "velocity", 1);
  shared->limit = pp_numpy_cos(&shared->model.numpy, ANGLE_BOUND * (SUITE_PI / 180));
  return suite_find(config, shared, 0, names, 3);
}

static int begin(suite_sim *sim) {
  sim->data->qpos[sim->ids[HINGE]] = pp_random_state_uniform(sim->random, -SUITE_PI, SUITE_PI);
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  *row++ = suite_body(sim, POLE, SUITE_ZZ);
  *row++ = suite_body(sim, POLE, SUITE_XZ);
  *row++ = sim->data->qvel[sim->ids[HINGE_VELOCITY]];
  return row;
}

static double reward(suite_sim *sim) {
  return suite_tolerate(sim, suite_body(sim, POLE, SUITE_ZZ),
                        (suite_tolerance){.low = sim->shared->limit, .high = 1});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind kind = {.task = &task};
static const pp_option options[] = SUITE_OPTIONS("pendulum", 1);

const pp_env_def pp_env_suite_pendulum[2] = {
    SUITE_TASK("pendulum", "swingup", "PendulumSwingup", options, &kind)};
