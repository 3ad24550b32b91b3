/* mpe/simple_tag_v3: slow adversaries chase fast agents among obstacles. */
#include "world.h"

enum {
  GOOD = MPE_NUM_COMMON,
  ADVERSARIES,
  OBSTACLES,
  CURRICULUM,
  SUCCESS,
  SEEN_AGENTS,
  SEEN_LANDMARKS,
  NUM_OPTIONS
};

/* of the agents' speed and sensitivity, for each stage of the curriculum */
static const double SPEED_FACTORS[MPE_MAX_STAGE + 1] = {0.5, 0.75, 1.0};

/* ------------------------------------------------------------------------------ setting up -- */

/* Returns how many of the agents that an agent may see are not adversaries. */
static int32_t velocity_slots(const mpe_shared *shared, int32_t agent) {
  if (shared->seen_agents) return shared->seen_agents;
  return shared->num_agents - shared->num_adversaries - !shared->entities[agent].is_adversary;
}

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int64_t adversaries = options[ADVERSARIES].i;
  int status = mpe_populate(shared, adversaries + options[GOOD].i, options[OBSTACLES].i, error);
  if (status < 0) return status;
  shared->num_adversaries = (int32_t)adversaries;
  shared->has_curriculum = options[CURRICULUM].i != 0;
  shared->ends_on_success = options[SUCCESS].i != 0;
  shared->seen_agents = mpe_neighbors(&options[SEEN_AGENTS]);
  shared->seen_landmarks = mpe_neighbors(&options[SEEN_LANDMARKS]);
  shared->num_channels = 2;
  shared->benchmark_size = 1;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    bool is_adversary = i < adversaries;
    mpe_entity *it = &shared->entities[i];
    mpe_name(shared, i, is_adversary ? "adversary" : "agent",
             is_adversary ? i : i - (int32_t)adversaries);
    it->is_adversary = is_adversary;
    it->collides = true;
    it->size = is_adversary ? 0.075 : 0.05;
    it->sensitivity = is_adversary ? 3.0 : 4.0;
    it->max_speed = is_adversary ? 1.0 : 1.3;
  }
  for (int32_t i = 0; i < shared->num_agents; i++) {
    shared->observation_sizes[i] = 4 + 2 * mpe_landmark_slots(shared) +
                                   2 * mpe_other_slots(shared) + 2 * velocity_slots(shared, i);
  }
  for (int32_t i = shared->num_agents; i < shared->num_agents + shared->num_landmarks; i++) {
    shared->entities[i].collides = true;
    shared->entities[i].size = 0.2;
  }
  return PP_OK;
}

static void reset(const mpe_world *world, pp_rng *rng) {
  mpe_scatter(world, rng, 1, 0.9);
  world->state->speed = world->shared->has_curriculum ? SPEED_FACTORS[world->state->stage] : 1;
}

/* ----------------------------------------------------------------------------- the rewards -- */

/* Returns how many pairs of an adversary and another agent touch. */
static int32_t catches(const mpe_world *world) {
  const mpe_shared *shared = world->shared;
  int32_t count = 0;
  for (int32_t good = shared->num_adversaries; good < shared->num_agents; good++) {
    for (int32_t i = 0; i < shared->num_adversaries; i++) count += mpe_is_collision(world, good, i);
  }
  return count;
}

static int32_t catches_of(const mpe_world *world, int32_t good) {
  int32_t count = 0;
  for (int32_t i = 0; i < world->shared->num_adversaries; i++) {
    count += mpe_is_collision(world, good, i);
  }
  return count;
}

static void reward(const mpe_world *world, double *reward) {
  const mpe_shared *shared = world->shared;
  double of_all = 10.0 * catches(world);
  for (int32_t i = 0; i < shared->num_agents; i++) {
    if (shared->entities[i].is_adversary) {
      reward[i] = of_all;
      continue;
    }
    reward[i] = -10.0 * catches_of(world, i);
    reward[i] -= mpe_out_of_bounds(world, world->position[i].x);
    reward[i] -= mpe_out_of_bounds(world, world->position[i].y);
  }
}

static bool is_over(const mpe_world *world) {
  for (int32_t i = world->shared->num_adversaries; i < world->shared->num_agents; i++) {
    if (!catches_of(world, i)) return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------- observing -- */

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  const mpe_shared *shared = world->shared;
  int32_t others[MPE_MAX_AGENTS], count = mpe_list_others(world, agent, others);
  float *end;
  out = mpe_put(out, world->velocity[agent]);
  out = mpe_put(out, world->position[agent]);
  out = mpe_put_landmarks(world, agent, out);
  out = mpe_put_others(world, agent, others, count, mpe_other_slots(shared), out);
  end = out + 2 * velocity_slots(shared, agent);
  for (int32_t i = 0; i < count; i++) {
    bool is_adversary = shared->entities[others[i]].is_adversary;
    // an agent that sees only some has a place for each of them, with zeros for adversaries
    if (is_adversary && !shared->seen_agents) continue;
    out = mpe_put(out, is_adversary ? (mpe_point){0, 0} : world->velocity[others[i]]);
  }
  while (out < end) *out++ = 0;
  return out;
}

/* ------------------------------------------------------------------------------ definition -- */

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .is_over = is_over,
                                      .observe = observe,
                                      .benchmark = mpe_count_caught};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [GOOD] = MPE_COUNT("num_good", 1, 0, "agents that are chased"),
    [ADVERSARIES] = MPE_COUNT("num_adversaries", 3, 0, "agents that chase"),
    [OBSTACLES] = MPE_COUNT("num_obstacles", 2, 0, "landmarks that are in the way"),
    [CURRICULUM] = {.name = "curriculum",
                    .type = PP_OPT_BOOL,
                    .doc = "in the first two of three stages the chased agents are slower"},
    [SUCCESS] = MPE_SUCCESS,
    [SEEN_AGENTS] = MPE_NEIGHBORS("num_agent_neighbors", "agents"),
    [SEEN_LANDMARKS] = MPE_NEIGHBORS("num_landmark_neighbors", "landmarks"),
};

static const pp_option reset_options[] = {MPE_STAGE(MPE_MAX_STAGE)};

const pp_env_def pp_env_mpe_simple_tag_v3 = {
    MPE_DEFINITION("simple_tag_v3", options, NUM_OPTIONS, scenario),
    .reset_options = reset_options,
    .num_reset_options = 1,
};
