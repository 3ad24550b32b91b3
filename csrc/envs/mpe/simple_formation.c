/* mpe/simple_formation_v1: agents form a circle around a landmark. */
#include "matching.h"

static const double RADIUS = 0.5, PI = 3.141592653589793;

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  return mpe_make_matching(shared, options, 1, 0.05, error);
}

static void reset(const mpe_world *world, pp_rng *rng) {
  mpe_scatter(world, rng, 1, 0.5);
}

/* Returns the angle of an agent around the landmark, 0 <= angle < 2 pi. */
static double angle_of(const mpe_world *world, int32_t agent) {
  mpe_point d = mpe_minus(world->position[agent], *mpe_landmark(world, 0));
  double angle = pp_numpy_arctan2(&world->shared->numpy, d.y, d.x);
  return angle < 0 ? angle + 2 * PI : angle;
}

/* places the targets on the circle, from the agent with the least angle on */
static void place_targets(const mpe_world *world) {
  const pp_numpy_loops *numpy = &world->shared->numpy;
  mpe_point center = *mpe_landmark(world, 0);
  int32_t count = world->shared->num_agents;
  double start = angle_of(world, 0), between = 2 * PI / count;
  for (int32_t i = 1; i < count; i++) {
    double angle = angle_of(world, i);
    if (angle < start) start = angle;
  }
  for (int32_t i = 0; i < count; i++) {
    double angle = start + i * between;
    world->target[i].x = center.x + RADIUS * pp_numpy_cos(numpy, angle);
    world->target[i].y = center.y + RADIUS * pp_numpy_sin(numpy, angle);
  }
}

static void reward(const mpe_world *world, double *reward) {
  place_targets(world);
  mpe_match(world);
  mpe_put_shared_reward(world, reward);
}

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .is_over = mpe_is_matched,
                                      .observe = mpe_put_plain};

const pp_env_def pp_env_mpe_simple_formation_v1 = {MPE_DEFINITION(
    "simple_formation_v1", mpe_matching_options, MPE_MATCHING_NUM_OPTIONS, scenario)};
