/* cheetah: run fast. */
#include "task.h"

enum { VELOCITY };

static const char *const names[] = {"sensor:torso_subtreelinvel"};
enum { RUN_SPEED = 10, SETTLING_STEPS = 200 };

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq - 1);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, 1);
}

static int begin(suite_sim *sim) {
  const suite_model *model = &sim->shared->model;
  for (int32_t i = 0; i < model->num_joints; i++) {
    const double *range = sim->values->jnt_range + 2 * i;
    if (!model->joints[i].is_limited) continue;
    sim->data->qpos[i] = pp_random_state_uniform(sim->random, range[0], range[1]);
  }
  int status = suite_physics_step(sim->physics, SETTLING_STEPS);
  *sim->data->time = 0;
  return status;
}

static double *observe(suite_sim *sim, double *row) {
  return suite_observe_velocities(sim, suite_observe_positions(sim, row, 1));
}

static double reward(suite_sim *sim) {
  return suite_tolerate(
      sim, suite_sensor(sim, VELOCITY),
      (suite_tolerance){
          .low = RUN_SPEED, .high = HUGE_VAL, .margin = RUN_SPEED, .sigmoid = SUITE_LINEAR});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind kind = {.task = &task};
static const pp_option options[] = SUITE_OPTIONS("cheetah", 1);

const pp_env_def pp_env_suite_cheetah[2] = {
    SUITE_TASK("cheetah", "run", "CheetahRun", options, &kind)};
