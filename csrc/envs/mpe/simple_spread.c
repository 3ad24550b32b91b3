/* mpe/simple_spread_v3: agents cover all landmarks together and avoid each other. */
#include "world.h"

enum {
  N = MPE_NUM_COMMON,
  LOCAL_RATIO,
  CURRICULUM,
  SUCCESS,
  SEEN_AGENTS,
  SEEN_LANDMARKS,
  NUM_OPTIONS
};

static const double CAPTURE_RADIUS = 0.1;

/* ------------------------------------------------------------------------------ setting up -- */

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int status = mpe_populate(shared, options[N].i, options[N].i, error);
  if (status < 0) return status;
  shared->local_ratio = options[LOCAL_RATIO].f;
  shared->has_curriculum = options[CURRICULUM].i != 0;
  shared->ends_on_success = options[SUCCESS].i != 0;
  shared->seen_agents = mpe_neighbors(&options[SEEN_AGENTS]);
  shared->seen_landmarks = mpe_neighbors(&options[SEEN_LANDMARKS]);
  shared->num_channels = 2;
  shared->benchmark_size = 4;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    mpe_name(shared, i, "agent", i);
    shared->entities[i].size = 0.15;
    shared->entities[i].collides = true;
    // velocity, position, landmarks, the others and their messages, which are 0
    shared->observation_sizes[i] = 4 + 2 * mpe_landmark_slots(shared) + 4 * mpe_other_slots(shared);
  }
  return PP_OK;
}

static void reset(const mpe_world *world, pp_rng *rng) {
  mpe_scatter(world, rng, 1, 1);
}

/* ---------------------------------------------------------------------------- the rewards -- */

static double distance_to_landmark(const mpe_world *world, int32_t landmark) {
  return mpe_nearest_agent(world, 0, world->shared->num_agents, *mpe_landmark(world, landmark));
}

static int32_t collisions(const mpe_world *world, int32_t agent) {
  int32_t count = 0;
  for (int32_t i = 0; i < world->shared->num_agents; i++) {
    count += i != agent && mpe_is_collision(world, i, agent);
  }
  return count;
}

static void reward(const mpe_world *world, double *reward) {
  const mpe_shared *shared = world->shared;
  // the first stage of the curriculum has no penalty
  bool has_penalty = !shared->has_curriculum || world->state->stage > 0;
  double all = 0, ratio = shared->local_ratio;
  for (int32_t i = 0; i < shared->num_landmarks; i++) all -= distance_to_landmark(world, i);
  for (int32_t i = 0; i < shared->num_agents; i++) {
    double own = has_penalty ? -(double)collisions(world, i) : 0;
    reward[i] = all * (1 - ratio) + own * ratio;
  }
}

static bool is_over(const mpe_world *world) {
  for (int32_t i = 0; i < world->shared->num_landmarks; i++) {
    if (distance_to_landmark(world, i) >= CAPTURE_RADIUS) return false;
  }
  return true;
}

/* reward, collisions, sum of distances, occupied landmarks */
static void benchmark(const mpe_world *world, int32_t agent, double *out) {
  int32_t hits = collisions(world, agent), occupied = 0;
  double reward = 0, distances = 0;
  for (int32_t i = 0; i < world->shared->num_landmarks; i++) {
    double distance = distance_to_landmark(world, i);
    distances += distance;
    reward -= distance;
    occupied += distance < CAPTURE_RADIUS;
  }
  for (int32_t i = 0; i < hits; i++) reward -= 1;
  out[0] = reward;
  out[1] = hits;
  out[2] = distances;
  out[3] = occupied;
}

/* ------------------------------------------------------------------------------ observing -- */

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  int32_t others[MPE_MAX_AGENTS], count = mpe_list_others(world, agent, others);
  int32_t slots = mpe_other_slots(world->shared);
  out = mpe_put(out, world->velocity[agent]);
  out = mpe_put(out, world->position[agent]);
  out = mpe_put_landmarks(world, agent, out);
  return mpe_put_others(world, agent, others, count, slots, out);
}

/* ------------------------------------------------------------------------------ definition -- */

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .is_over = is_over,
                                      .observe = observe,
                                      .benchmark = benchmark};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [N] = MPE_COUNT("N", 3, 1, "agents, and landmarks"),
    [LOCAL_RATIO] = MPE_LOCAL_RATIO,
    [CURRICULUM] = {.name = "curriculum",
                    .type = PP_OPT_BOOL,
                    .doc = "the first of two stages has no penalty for collisions"},
    [SUCCESS] = MPE_SUCCESS,
    [SEEN_AGENTS] = MPE_NEIGHBORS("num_agent_neighbors", "agents"),
    [SEEN_LANDMARKS] = MPE_NEIGHBORS("num_landmark_neighbors", "landmarks"),
};

static const pp_option reset_options[] = {MPE_STAGE(1)};

const pp_env_def pp_env_mpe_simple_spread_v3 = {
    MPE_DEFINITION("simple_spread_v3", options, NUM_OPTIONS, scenario),
    .reset_options = reset_options,
    .num_reset_options = 1,
};
