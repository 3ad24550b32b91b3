/* mpe/simple_v3: one agent goes to one landmark. */
#include "world.h"

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  (void)options;
  mpe_name(shared, 0, "agent", 0);
  shared->observation_sizes[0] = 4;
  return mpe_populate(shared, 1, 1, error);
}

static void reset(const mpe_world *world, pp_rng *rng) {
  mpe_scatter(world, rng, 1, 1);
}

static void reward(const mpe_world *world, double *reward) {
  reward[0] = -mpe_square_distance(world->position[0], *mpe_landmark(world, 0));
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  return mpe_put_landmarks(world, agent, mpe_put(out, world->velocity[agent]));
}

static const mpe_scenario scenario = {
    .make = make, .reset = reset, .reward = reward, .observe = observe};

static const pp_option options[] = {MPE_COMMON_OPTIONS};

const pp_env_def pp_env_mpe_simple_v3 = {
    MPE_DEFINITION("simple_v3", options, MPE_NUM_COMMON, scenario)};
