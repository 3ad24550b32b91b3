/* mpe/collect_treasure_v1: collectors pick up treasures and bring each to the deposit of its kind.
 *
 * world->own: of a collector the kind of the treasure that it holds, of a deposit the kind that it
 * takes, of a treasure its kind; NOTHING for a free collector and for a treasure that is not
 * there. */
#include "base/fail.h"
#include "base/state_check.h"
#include "world.h"

enum { COLLECTORS = MPE_NUM_COMMON, DEPOSITS, TREASURES, NUM_OPTIONS, MAX_KINDS = 6 };

enum { NOTHING = -1 };

static const double BOUND = 0.95, GAIN = 5.0;

/* ------------------------------------------------------------------------------ setting up -- */

/* shared->counts */
enum { COUNT_COLLECTORS, COUNT_KINDS };

static int32_t collectors_of(const mpe_shared *shared) {
  return shared->counts[COUNT_COLLECTORS];
}

static int32_t kinds_of(const mpe_shared *shared) {
  return shared->counts[COUNT_KINDS];
}

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  int32_t collectors = (int32_t)options[COLLECTORS].i, kinds = (int32_t)options[DEPOSITS].i;
  int status = mpe_populate(shared, collectors + kinds, options[TREASURES].i, error);
  if (status < 0) return status;
  shared->counts[COUNT_COLLECTORS] = collectors;
  shared->counts[COUNT_KINDS] = kinds;
  shared->num_channels = 2;
  shared->keeps_own = true;
  shared->benchmark_size = 2;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    bool is_collector = i < collectors;
    mpe_entity *it = &shared->entities[i];
    mpe_name(shared, i, is_collector ? "collector" : "deposit", is_collector ? i : i - collectors);
    it->size = is_collector ? 0.05 : 0.075;
    it->mass = is_collector ? 1.0 : 2.25;
    it->sensitivity = 1.5;
    it->max_speed = 1.0;
    shared->observation_sizes[i] = 4 + (is_collector ? kinds : 0) +
                                   (4 + 2 * kinds) * (shared->num_agents - 1) +
                                   (2 + kinds) * shared->num_landmarks;
  }
  for (int32_t i = 0; i < shared->num_landmarks; i++) {
    shared->entities[shared->num_agents + i].size = 0.025;
  }
  return PP_OK;
}

static void reset(const mpe_world *world, pp_rng *rng) {
  const mpe_shared *shared = world->shared;
  int32_t agents = shared->num_agents, collectors = collectors_of(shared);
  // mpe2 keeps a copy of the generator for what happens in steps
  world->state->rng = *rng;
  mpe_scatter_agents(world, rng, 1);
  for (int32_t i = 0; i < agents; i++) world->own[i] = i < collectors ? NOTHING : i - collectors;
  for (int32_t i = agents; i < agents + shared->num_landmarks; i++) {
    world->own[i] = (int32_t)pp_rng_integers(rng, 0, kinds_of(shared));
    world->position[i] = mpe_draw(rng, BOUND);
  }
}

/* ----------------------------------------------------------------------- picking up, giving -- */

/* Gives a treasure to the first free collector that touches it. Returns whether there is one. */
static bool pick_up(const mpe_world *world, int32_t treasure) {
  for (int32_t i = 0; i < collectors_of(world->shared); i++) {
    if (world->own[i] != NOTHING || !mpe_is_collision(world, treasure, i)) continue;
    world->own[i] = world->own[treasure];
    world->own[treasure] = NOTHING;
    return true;
  }
  return false;
}

/* puts a treasure that was picked up back into the plane */
static void put_back(const mpe_world *world, int32_t treasure) {
  pp_rng *rng = &world->state->rng;
  pp_rng_double(rng);  // mpe2's chance that it comes back now, which is 1
  world->position[treasure] = mpe_draw(rng, BOUND);
  world->own[treasure] = (int32_t)pp_rng_integers(rng, 0, kinds_of(world->shared));
}

static bool hand_over(const mpe_world *world, int32_t collector) {
  int32_t deposit = collectors_of(world->shared) + world->own[collector];
  if (world->own[collector] == NOTHING || !mpe_is_collision(world, collector, deposit)) {
    return false;
  }
  world->own[collector] = NOTHING;
  return true;
}

static void after_step(const mpe_world *world) {
  const mpe_shared *shared = world->shared;
  double collected = 0, delivered = 0;
  for (int32_t i = shared->num_agents; i < shared->num_agents + shared->num_landmarks; i++) {
    if (world->own[i] == NOTHING) {
      put_back(world, i);
    } else if (pick_up(world, i)) {
      collected += GAIN;
    }
  }
  for (int32_t i = 0; i < collectors_of(shared); i++) {
    if (hand_over(world, i)) delivered += GAIN;
  }
  world->state->gain = collected + delivered;
}

/* ----------------------------------------------------------------------------- the rewards -- */

/* Returns the distance from an agent to the nearest treasure, or infinity if there is none. */
static double nearest_treasure(const mpe_world *world, int32_t agent) {
  const mpe_shared *shared = world->shared;
  double nearest = INFINITY;
  for (int32_t i = shared->num_agents; i < shared->num_agents + shared->num_landmarks; i++) {
    double distance = mpe_distance(world->position[i], world->position[agent]);
    if (world->own[i] != NOTHING && distance < nearest) nearest = distance;
  }
  return nearest;
}

static double reward_of_collector(const mpe_world *world, int32_t agent) {
  int32_t collectors = collectors_of(world->shared), held = world->own[agent];
  double reward = 0, distance;
  for (int32_t i = 0; i < collectors; i++) {
    if (i != agent && mpe_is_collision(world, agent, i)) reward -= 5;
  }
  distance = held == NOTHING
                 ? nearest_treasure(world, agent)
                 : mpe_distance(world->position[collectors + held], world->position[agent]);
  if (distance < INFINITY) reward -= 0.1 * distance;
  return reward + world->state->gain;
}

/* Returns the distance from an agent to the mean position of the collectors. */
static double distance_to_collectors(const mpe_world *world, int32_t agent) {
  int32_t collectors = collectors_of(world->shared);
  mpe_point sum = world->position[0];
  for (int32_t i = 1; i < collectors; i++) {
    sum.x += world->position[i].x;
    sum.y += world->position[i].y;
  }
  return pp_numpy_norm(&world->shared->numpy, sum.x / collectors - world->position[agent].x,
                       sum.y / collectors - world->position[agent].y);
}

static double reward_of_deposit(const mpe_world *world, int32_t agent) {
  double nearest = INFINITY;
  for (int32_t i = 0; i < collectors_of(world->shared); i++) {
    double distance = mpe_distance(world->position[i], world->position[agent]);
    if (world->own[i] == world->own[agent] && distance < nearest) nearest = distance;
  }
  if (nearest == INFINITY) nearest = distance_to_collectors(world, agent);
  return 0 - 0.1 * nearest + world->state->gain;
}

static void reward(const mpe_world *world, double *reward) {
  for (int32_t i = 0; i < world->shared->num_agents; i++) {
    reward[i] = i < collectors_of(world->shared) ? reward_of_collector(world, i)
                                                 : reward_of_deposit(world, i);
  }
}

/* of a collector what it holds (NaN: nothing), of a deposit how many collectors hold its kind; the
 * treasures that are there */
static void benchmark(const mpe_world *world, int32_t agent, double *out) {
  const mpe_shared *shared = world->shared;
  int32_t collectors = collectors_of(shared), own = world->own[agent], holding = 0, there = 0;
  for (int32_t i = 0; i < collectors; i++) holding += world->own[i] == own;
  for (int32_t i = shared->num_agents; i < shared->num_agents + shared->num_landmarks; i++) {
    there += world->own[i] != NOTHING;
  }
  out[0] = agent >= collectors ? holding : own == NOTHING ? (double)NAN : own;
  out[1] = there;
}

/* ------------------------------------------------------------------------------- observing -- */

static float *put_kind(const mpe_world *world, int32_t kind, float *out) {
  for (int32_t i = 0; i < kinds_of(world->shared); i++) *out++ = (float)(i == kind);
  return out;
}

/* Lists entities by their distance from an agent, the nearest first; treasures that are not there
 * come last. */
static void sort(const mpe_world *world, int32_t agent, int32_t first, int32_t end,
                 int32_t *sorted) {
  double keys[MPE_MAX_AGENTS + MPE_MAX_LANDMARKS];
  int32_t count = 0;
  for (int32_t i = first; i < end; i++) {
    bool is_there = world->own[i] != NOTHING || i < world->shared->num_agents;
    if (i == agent) continue;
    keys[count] = is_there ? mpe_distance(world->position[i], world->position[agent]) : 1e6;
    sorted[count++] = i;
  }
  mpe_sort(sorted, keys, count);
}

static float *put_other(const mpe_world *world, mpe_point from, int32_t other, float *out) {
  bool is_collector = other < collectors_of(world->shared);
  out = mpe_put(out, mpe_minus(world->position[other], from));
  out = mpe_put(out, world->velocity[other]);
  out = put_kind(world, is_collector ? NOTHING : world->own[other], out);
  return put_kind(world, is_collector ? world->own[other] : NOTHING, out);
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  const mpe_shared *shared = world->shared;
  int32_t agents = shared->num_agents, sorted[MPE_MAX_AGENTS + MPE_MAX_LANDMARKS];
  mpe_point from = world->position[agent], nowhere = {0, 0};

  out = mpe_put(mpe_put(out, from), world->velocity[agent]);
  if (agent < collectors_of(shared)) out = put_kind(world, world->own[agent], out);
  sort(world, agent, 0, agents, sorted);
  for (int32_t i = 0; i < agents - 1; i++) out = put_other(world, from, sorted[i], out);
  sort(world, agent, agents, agents + shared->num_landmarks, sorted);
  for (int32_t i = 0; i < shared->num_landmarks; i++) {
    bool is_there = world->own[sorted[i]] != NOTHING;
    out = mpe_put(out, is_there ? mpe_minus(world->position[sorted[i]], from) : nowhere);
    out = put_kind(world, world->own[sorted[i]], out);
  }
  return out;
}

static bool check(const mpe_world *world, const pp_env *env) {
  int32_t entities = world->shared->num_agents + world->shared->num_landmarks;
  for (int32_t i = 0; i < entities; i++) {
    int32_t kind = world->own[i];
    if (!pp_state_check_range(env, "kind", kind, NOTHING, kinds_of(world->shared) - 1)) {
      return false;
    }
  }
  // the first reset makes it, after it has seeded the engine's
  if (pp_state_check_rng(&world->state->rng, env->rng->inc_low & 1)) return true;
  pp_fail(env->error, PP_ERR_ARGUMENT, "the second generator is none");
  return false;
}

/* ------------------------------------------------------------------------------ definition -- */

static const mpe_scenario scenario = {.make = make,
                                      .reset = reset,
                                      .reward = reward,
                                      .observe = observe,
                                      .after_step = after_step,
                                      .check = check,
                                      .benchmark = benchmark};

static const pp_option options[NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [COLLECTORS] = MPE_COUNT("num_collectors", 6, 1, "agents that collect"),
    [DEPOSITS] = {.name = "num_deposits",
                  .type = PP_OPT_INT,
                  .number = 2,
                  .low = 1,
                  .high = MAX_KINDS,
                  .doc = "agents that take treasures, and kinds of treasures"},
    [TREASURES] = MPE_COUNT("num_treasures", 6, 1, "treasures in the plane at one time"),
};

const pp_env_def pp_env_mpe_collect_treasure_v1 = {
    MPE_DEFINITION("collect_treasure_v1", options, NUM_OPTIONS, scenario)};
