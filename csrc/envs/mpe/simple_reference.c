/* mpe/simple_reference_v3: each of two agents knows where the other has to go, and says so. */
#include "world.h"

enum {
  LOCAL_RATIO = MPE_NUM_COMMON,
  NUM_OPTIONS,
  NUM_AGENTS = 2,
  NUM_LANDMARKS = 3,
  CHANNELS = 10
};

static const double COLORS[NUM_LANDMARKS][3] = {
    {0.75, 0.25, 0.25}, {0.25, 0.75, 0.25}, {0.25, 0.25, 0.75}};

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int status = mpe_populate(shared, NUM_AGENTS, NUM_LANDMARKS, error);
  shared->local_ratio = options[LOCAL_RATIO].f;
  shared->num_channels = CHANNELS;
  shared->keeps_messages = true;
  for (int32_t i = 0; i < NUM_AGENTS; i++) {
    mpe_name(shared, i, "agent", i);
    shared->entities[i].is_silent = false;
    shared->observation_sizes[i] = 2 + 2 * NUM_LANDMARKS + 3 + CHANNELS;
  }
  return status;
}

/* goals[i] is where the other agent has to go, as agent i knows */
static void reset(const mpe_world *world, pp_rng *rng) {
  for (int32_t i = 0; i < NUM_AGENTS; i++) {
    world->state->goals[i] = (int32_t)pp_rng_integers(rng, 0, NUM_LANDMARKS);
  }
  mpe_scatter(world, rng, 1, 1);
}

static void reward(const mpe_world *world, double *reward) {
  double ratio = world->shared->local_ratio, all = 0;
  for (int32_t i = 0; i < NUM_AGENTS; i++) {
    reward[i] = -mpe_distance(world->position[1 - i], mpe_goal(world, i));
    all += reward[i];
  }
  all /= NUM_AGENTS;
  for (int32_t i = 0; i < NUM_AGENTS; i++) reward[i] = all * (1 - ratio) + reward[i] * ratio;
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  out = mpe_put_landmarks(world, agent, mpe_put(out, world->velocity[agent]));
  out = mpe_put_color(out, COLORS[world->state->goals[agent]]);
  return mpe_put_message(world, 1 - agent, out);
}

static const mpe_scenario scenario = {
    .make = make, .reset = reset, .reward = reward, .observe = observe};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [LOCAL_RATIO] = MPE_LOCAL_RATIO,
};

const pp_env_def pp_env_mpe_simple_reference_v3 = {
    MPE_DEFINITION("simple_reference_v3", options, NUM_OPTIONS, scenario)};
