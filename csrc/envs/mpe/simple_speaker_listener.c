/* mpe/simple_speaker_listener_v4: one agent knows the goal and can only speak; another can only
 * move. */
#include "world.h"

enum { SPEAKER, LISTENER, NUM_AGENTS, NUM_LANDMARKS = 3, CHANNELS = 3 };

static const double COLORS[NUM_LANDMARKS][3] = {
    {0.65, 0.15, 0.15}, {0.15, 0.65, 0.15}, {0.15, 0.15, 0.65}};

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int status = mpe_populate(shared, NUM_AGENTS, NUM_LANDMARKS, error);
  (void)options;
  shared->num_channels = CHANNELS;
  shared->keeps_messages = true;
  shared->benchmark_size = 1;
  mpe_name(shared, SPEAKER, "speaker", 0);
  mpe_name(shared, LISTENER, "listener", 0);
  shared->entities[SPEAKER].is_movable = false;
  shared->entities[SPEAKER].is_silent = false;
  shared->observation_sizes[SPEAKER] = 3;
  shared->observation_sizes[LISTENER] = 2 + 2 * NUM_LANDMARKS + CHANNELS;
  return status;
}

static double reward_of_both(const mpe_world *world) {
  return -mpe_square_distance(world->position[LISTENER], mpe_goal(world, 0));
}

static void reward(const mpe_world *world, double *reward) {
  reward[SPEAKER] = reward[LISTENER] = reward_of_both(world);
}

static void benchmark(const mpe_world *world, int32_t agent, double *out) {
  (void)agent;
  out[0] = reward_of_both(world);
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  if (agent == SPEAKER) return mpe_put_color(out, COLORS[world->state->goals[0]]);
  out = mpe_put_landmarks(world, LISTENER, mpe_put(out, world->velocity[LISTENER]));
  return mpe_put_message(world, SPEAKER, out);
}

static const mpe_scenario scenario = {.make = make,
                                      .reset = mpe_scatter_with_goal,
                                      .reward = reward,
                                      .observe = observe,
                                      .benchmark = benchmark};

static const pp_option options[] = {MPE_COMMON_OPTIONS};

const pp_env_def pp_env_mpe_simple_speaker_listener_v4 = {
    MPE_DEFINITION("simple_speaker_listener_v4", options, MPE_NUM_COMMON, scenario)};
