/* mpe/simple_line_v1: agents form a line between two landmarks. */
#include "matching.h"

static const double LENGTH = 1.25, PI = 3.141592653589793;

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  return mpe_make_matching(shared, options, 2, 0.03, error);
}

static mpe_point direction_of(const mpe_world *world, double angle) {
  const pp_numpy_loops *numpy = &world->shared->numpy;
  return (mpe_point){pp_numpy_cos(numpy, angle), pp_numpy_sin(numpy, angle)};
}

static mpe_point along(mpe_point from, double length, mpe_point direction) {
  return (mpe_point){from.x + length * direction.x, from.y + length * direction.y};
}

/* draws the agents and one landmark, and finds a place for the other one inside the plane */
static void reset(const mpe_world *world, pp_rng *rng) {
  const mpe_shared *shared = world->shared;
  mpe_point *ends = mpe_landmark(world, 0), direction;
  double angle, between = shared->num_agents > 1 ? LENGTH / (shared->num_agents - 1) : 0;
  mpe_scatter_agents(world, rng, 1);
  ends[0] = mpe_draw(rng, 0.25);
  angle = pp_rng_uniform(rng, 0, 2 * PI);
  for (;; angle += 5 * (PI / 180)) {
    direction = direction_of(world, angle);
    ends[1] = along(ends[0], LENGTH, direction);
    if (fabs(ends[1].x) < 1 && fabs(ends[1].y) < 1) break;
  }
  for (int32_t i = 0; i < shared->num_agents; i++) {
    world->target[i] = along(ends[0], i * between, direction);
  }
}

static void reward(const mpe_world *world, double *reward) {
  mpe_match(world);
  mpe_put_shared_reward(world, reward);
}

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .is_over = mpe_is_matched,
                                      .observe = mpe_put_plain};

const pp_env_def pp_env_mpe_simple_line_v1 = {
    MPE_DEFINITION("simple_line_v1", mpe_matching_options, MPE_MATCHING_NUM_OPTIONS, scenario)};
