/* mpe/simple_adversary_v3: agents know the goal and go there; an adversary has to guess it. */
#include "world.h"

enum { N = MPE_NUM_COMMON, SEEN_AGENTS, SEEN_LANDMARKS, NUM_OPTIONS };

/* ------------------------------------------------------------------------------ setting up -- */

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int status = mpe_populate(shared, options[N].i + 1, options[N].i, error);
  if (status < 0) return status;
  shared->num_adversaries = 1;
  shared->seen_agents = mpe_neighbors(&options[SEEN_AGENTS]);
  shared->seen_landmarks = mpe_neighbors(&options[SEEN_LANDMARKS]);
  shared->num_channels = 2;
  shared->benchmark_size = shared->num_landmarks + 1;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    bool is_adversary = i == 0;
    mpe_name(shared, i, is_adversary ? "adversary" : "agent", is_adversary ? 0 : i - 1);
    shared->entities[i].is_adversary = is_adversary;
    shared->entities[i].size = 0.15;
    shared->observation_sizes[i] =
        (is_adversary ? 0 : 2) + 2 * mpe_landmark_slots(shared) + 2 * mpe_other_slots(shared);
  }
  return PP_OK;
}

/* ----------------------------------------------------------------------------- the rewards -- */

static void reward(const mpe_world *world, double *reward) {
  int32_t agents = world->shared->num_agents;
  double adversary = mpe_distance(world->position[0], mpe_goal(world, 0));
  double shared = -mpe_nearest_agent(world, 1, agents, mpe_goal(world, 0)) + adversary;
  reward[0] = -adversary;
  for (int32_t i = 1; i < agents; i++) reward[i] = shared;
}

/* the square of an adversary's distance to the goal; an agent's to each landmark and to the goal */
static void benchmark(const mpe_world *world, int32_t agent, double *out) {
  int32_t landmarks = world->shared->num_landmarks;
  double to_goal = mpe_square_distance(world->position[agent], mpe_goal(world, 0));
  for (int32_t i = 0; i < landmarks; i++) {
    out[i] = agent ? mpe_square_distance(world->position[agent], *mpe_landmark(world, i)) : 0;
  }
  out[landmarks] = agent ? to_goal : 0;
  if (!agent) out[0] = to_goal;
}

/* ------------------------------------------------------------------------------- observing -- */

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  int32_t others[MPE_MAX_AGENTS], count = mpe_list_others(world, agent, others);
  if (agent) out = mpe_put(out, mpe_minus(mpe_goal(world, 0), world->position[agent]));
  out = mpe_put_landmarks(world, agent, out);
  return mpe_put_others(world, agent, others, count, mpe_other_slots(world->shared), out);
}

/* ------------------------------------------------------------------------------ definition -- */

static const mpe_scenario scenario = {.make = make,
                                      .reset = mpe_scatter_with_goal,
                                      .reward = reward,
                                      .observe = observe,
                                      .benchmark = benchmark};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [N] = MPE_COUNT("N", 2, 1, "agents, and landmarks; there is one adversary more"),
    [SEEN_AGENTS] = MPE_NEIGHBORS("num_agent_neighbors", "agents"),
    [SEEN_LANDMARKS] = MPE_NEIGHBORS("num_landmark_neighbors", "landmarks"),
};

const pp_env_def pp_env_mpe_simple_adversary_v3 = {
    MPE_DEFINITION("simple_adversary_v3", options, NUM_OPTIONS, scenario)};
