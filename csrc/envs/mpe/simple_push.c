/* mpe/simple_push_v3: an agent goes to a landmark, and an adversary pushes it away. */
#include "world.h"

enum { ADVERSARY, AGENT, NUM_AGENTS, NUM_LANDMARKS = 2 };

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int status = mpe_populate(shared, NUM_AGENTS, NUM_LANDMARKS, error);
  (void)options;
  shared->num_adversaries = 1;
  shared->num_channels = 2;
  mpe_name(shared, ADVERSARY, "adversary", 0);
  mpe_name(shared, AGENT, "agent", 0);
  shared->observation_sizes[ADVERSARY] = 8;
  shared->observation_sizes[AGENT] = 19;
  for (int32_t i = 0; i < NUM_AGENTS; i++) {
    shared->entities[i].is_adversary = i == ADVERSARY;
    shared->entities[i].collides = true;
  }
  return status;
}

static void reward(const mpe_world *world, double *reward) {
  double agent = mpe_distance(world->position[AGENT], mpe_goal(world, 0));
  reward[ADVERSARY] = agent - mpe_distance(mpe_goal(world, 0), world->position[ADVERSARY]);
  reward[AGENT] = -agent;
}

/* an agent sees what the goal looks like, and which landmark looks like it */
static float *put_colors(const mpe_world *world, mpe_point from, float *out) {
  int32_t goal = world->state->goals[0];
  double own[3] = {0.25, 0.25, 0.25};
  own[goal + 1] += 0.5;
  out = mpe_put_color(out, own);
  for (int32_t i = 0; i < NUM_LANDMARKS; i++) {
    out = mpe_put(out, mpe_minus(*mpe_landmark(world, i), from));
  }
  for (int32_t i = 0; i < NUM_LANDMARKS; i++) {
    double color[3] = {0.1, 0.1, 0.1};
    color[i + 1] += 0.8;
    out = mpe_put_color(out, color);
  }
  return out;
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  mpe_point from = world->position[agent];
  out = mpe_put(out, world->velocity[agent]);
  if (agent == AGENT) {
    out = put_colors(world, from, mpe_put(out, mpe_minus(mpe_goal(world, 0), from)));
  } else {
    out = mpe_put_landmarks(world, agent, out);
  }
  return mpe_put(out, mpe_minus(world->position[AGENT + ADVERSARY - agent], from));
}

static const mpe_scenario scenario = {
    .make = make, .reset = mpe_scatter_with_goal, .reward = reward, .observe = observe};

static const pp_option options[] = {MPE_COMMON_OPTIONS};

const pp_env_def pp_env_mpe_simple_push_v3 = {
    MPE_DEFINITION("simple_push_v3", options, MPE_NUM_COMMON, scenario)};
