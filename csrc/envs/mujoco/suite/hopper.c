/* hopper: stand on one leg, or hop. */
#include "task.h"

enum { TORSO, FOOT, VELOCITY, TOE, HEEL };
enum { STAND, HOP };

static const char *const names[] = {"body:torso", "body:foot", "sensor:torso_subtreelinvel",
                                    "sensor:touch_toe", "sensor:touch_heel"};
static const double STAND_HEIGHT = 0.6;
enum { HOP_SPEED = 2 };

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq - 1);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  suite_describe_vector(config, shared, "touch", 2);
  return suite_find(config, shared, 0, names, 5);
}

static int begin(suite_sim *sim) {
  suite_randomize_joints(sim);
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  row = suite_observe_velocities(sim, suite_observe_positions(sim, row, 1));
  *row++ = pp_numpy_log1p(sim->numpy, suite_sensor(sim, TOE));
  *row++ = pp_numpy_log1p(sim->numpy, suite_sensor(sim, HEEL));
  return row;
}

static double reward(suite_sim *sim) {
  const double *xipos = sim->data->xipos;
  double height = xipos[3 * sim->ids[TORSO] + 2] - xipos[3 * sim->ids[FOOT] + 2];
  double standing = suite_tolerate(sim, height, (suite_tolerance){.low = STAND_HEIGHT, .high = 2});
  if (sim->kind->variant == STAND) return standing * ((suite_control_reward(sim) + 4) / 5);
  return standing * suite_tolerate(sim, suite_sensor(sim, VELOCITY),
                                   (suite_tolerance){.low = HOP_SPEED,
                                                     .high = HUGE_VAL,
                                                     .margin = HOP_SPEED / 2.0,
                                                     .sigmoid = SUITE_LINEAR,
                                                     .at_margin = 0.5});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind stand = {.task = &task, .variant = STAND};
static const suite_kind hop = {.task = &task, .variant = HOP};
static const pp_option options[] = SUITE_OPTIONS("hopper", 4);

const pp_env_def pp_env_suite_hopper[4] = {
    SUITE_TASK("hopper", "stand", "HopperStand", options, &stand),
    SUITE_TASK("hopper", "hop", "HopperHop", options, &hop),
};
