/* mpe/simple_world_comm_v3: adversaries with a leader, who speaks, chase agents, who look for food
 * and hide in forests. */
#include "world.h"

enum { GOOD = MPE_NUM_COMMON, ADVERSARIES, OBSTACLES, FOOD, FORESTS, NUM_OPTIONS };

enum { LEADER, CHANNELS = 4 };

/* shared->counts: landmarks are obstacles, food and forests, in this order */
enum { COUNT_OBSTACLES, COUNT_FOOD, COUNT_FORESTS };

/* ------------------------------------------------------------------------------ setting up -- */

static int32_t first_food(const mpe_shared *shared) {
  return shared->counts[COUNT_OBSTACLES];
}

static int32_t first_forest(const mpe_shared *shared) {
  return shared->counts[COUNT_OBSTACLES] + shared->counts[COUNT_FOOD];
}

static void make_agent(mpe_shared *shared, int32_t agent) {
  int32_t adversaries = shared->num_adversaries, good = shared->num_agents - adversaries;
  int32_t forests = shared->counts[COUNT_FORESTS];
  bool is_adversary = agent < adversaries;
  mpe_entity *it = &shared->entities[agent];
  if (agent == LEADER) {
    mpe_name(shared, agent, "leadadversary", 0);
  } else {
    mpe_name(shared, agent, is_adversary ? "adversary" : "agent",
             is_adversary ? agent - 1 : agent - adversaries);
  }
  it->is_adversary = is_adversary;
  it->is_silent = agent != LEADER;
  it->collides = true;
  it->size = is_adversary ? 0.075 : 0.045;
  it->sensitivity = is_adversary ? 3.0 : 4.0;
  it->max_speed = is_adversary ? 1.0 : 1.3;
  // velocity, position, landmarks, others, velocities of good others, forests, the leader's message
  shared->observation_sizes[agent] = 4 + 2 * shared->num_landmarks + 2 * (shared->num_agents - 1) +
                                     2 * (is_adversary ? good : good - 1) + forests +
                                     (is_adversary ? CHANNELS : 0);
}

static void make_landmark(mpe_shared *shared, int32_t landmark) {
  mpe_entity *it = &shared->entities[shared->num_agents + landmark];
  it->collides = landmark < first_food(shared);
  it->size = landmark < first_food(shared) ? 0.2 : landmark < first_forest(shared) ? 0.03 : 0.3;
}

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int64_t agents = options[GOOD].i + options[ADVERSARIES].i, landmarks = 0;
  int status;
  for (int32_t i = 0; i < 3; i++) {
    shared->counts[i] = (int32_t)options[OBSTACLES + i].i;
    landmarks += shared->counts[i];
  }
  status = mpe_populate(shared, agents, landmarks, error);
  if (status < 0) return status;
  shared->num_adversaries = (int32_t)options[ADVERSARIES].i;
  shared->num_channels = CHANNELS;
  shared->keeps_messages = true;
  shared->benchmark_size = 1;
  for (int32_t i = 0; i < shared->num_agents; i++) make_agent(shared, i);
  for (int32_t i = 0; i < shared->num_landmarks; i++) make_landmark(shared, i);
  return PP_OK;
}

static void reset(const mpe_world *world, pp_rng *rng) {
  const mpe_shared *shared = world->shared;
  mpe_scatter(world, rng, 1, 0.9);
  // mpe2 draws the positions of food and forests a second time
  for (int32_t i = first_food(shared); i < shared->num_landmarks; i++) {
    *mpe_landmark(world, i) = mpe_draw(rng, 0.9);
  }
}

/* ----------------------------------------------------------------------------- the rewards -- */

static bool meets(const mpe_world *world, int32_t agent, int32_t landmark) {
  return mpe_is_collision(world, agent, world->shared->num_agents + landmark);
}

static double reward_of_adversary(const mpe_world *world, int32_t agent) {
  int32_t agents = world->shared->num_agents, adversaries = world->shared->num_adversaries;
  double reward = 0 - 0.1 * mpe_nearest_agent(world, adversaries, agents, world->position[agent]);
  for (int32_t good = adversaries; good < agents; good++) {
    for (int32_t i = 0; i < adversaries; i++) {
      if (mpe_is_collision(world, good, i)) reward += 5;
    }
  }
  return reward;
}

static double reward_of_good(const mpe_world *world, int32_t agent) {
  const mpe_shared *shared = world->shared;
  mpe_point at = world->position[agent];
  double reward = 0, nearest = INFINITY;
  for (int32_t i = 0; i < shared->num_adversaries; i++) {
    if (mpe_is_collision(world, i, agent)) reward -= 5;
  }
  reward -= 2 * mpe_out_of_bounds(world, at.x);
  reward -= 2 * mpe_out_of_bounds(world, at.y);
  for (int32_t i = first_food(shared); i < first_forest(shared); i++) {
    double distance = mpe_distance(*mpe_landmark(world, i), at);
    if (meets(world, agent, i)) reward += 2;
    if (distance < nearest) nearest = distance;
  }
  return reward - 0.05 * nearest;
}

static void reward(const mpe_world *world, double *reward) {
  for (int32_t i = 0; i < world->shared->num_agents; i++) {
    reward[i] = world->shared->entities[i].is_adversary ? reward_of_adversary(world, i)
                                                        : reward_of_good(world, i);
  }
}

/* ------------------------------------------------------------------------------- observing -- */

/* Returns the forests that an agent is in, a bit for each. */
static uint64_t forests_of(const mpe_world *world, int32_t agent) {
  const mpe_shared *shared = world->shared;
  uint64_t in = 0;
  for (int32_t i = first_forest(shared); i < shared->num_landmarks; i++) {
    in |= (uint64_t)meets(world, agent, i) << (i - first_forest(shared));
  }
  return in;
}

/* Returns whether an agent sees another: both are in one forest, or both in none. */
static bool sees(int32_t agent, uint64_t in, uint64_t other_in) {
  return agent == LEADER || (in & other_in) || (!in && !other_in);
}

static float *put_forests(const mpe_world *world, uint64_t in, float *out) {
  for (int32_t i = 0; i < world->shared->counts[COUNT_FORESTS]; i++) {
    *out++ = in >> i & 1 ? 1 : -1;
  }
  return out;
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  const mpe_shared *shared = world->shared;
  const mpe_point hidden = {0, 0};
  mpe_point at = world->position[agent], velocities[MPE_MAX_AGENTS];
  uint64_t in = forests_of(world, agent);
  bool is_adversary = shared->entities[agent].is_adversary;
  int32_t count = 0;

  out = mpe_put_landmarks(world, agent, mpe_put(mpe_put(out, world->velocity[agent]), at));
  for (int32_t i = 0; i < shared->num_agents; i++) {
    if (i == agent) continue;
    bool is_seen = sees(agent, in, forests_of(world, i));
    out = mpe_put(out, is_seen ? mpe_minus(world->position[i], at) : hidden);
    if (!shared->entities[i].is_adversary) {
      velocities[count++] = is_seen ? world->velocity[i] : hidden;
    }
  }
  if (!is_adversary) out = put_forests(world, in, out);
  for (int32_t i = 0; i < count; i++) out = mpe_put(out, velocities[i]);
  return is_adversary ? mpe_put_message(world, LEADER, put_forests(world, in, out)) : out;
}

/* ------------------------------------------------------------------------------ definition -- */

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .observe = observe,
                                      .benchmark = mpe_count_caught};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [GOOD] = MPE_COUNT("num_good", 2, 1, "agents that are chased"),
    [ADVERSARIES] = MPE_COUNT("num_adversaries", 4, 1, "agents that chase, with the leader"),
    [OBSTACLES] = MPE_COUNT("num_obstacles", 1, 0, "landmarks that are in the way"),
    [FOOD] = MPE_COUNT("num_food", 2, 1, "pieces of food"),
    [FORESTS] = MPE_COUNT("num_forests", 2, 0, "forests"),
};

const pp_env_def pp_env_mpe_simple_world_comm_v3 = {
    MPE_DEFINITION("simple_world_comm_v3", options, NUM_OPTIONS, scenario)};
