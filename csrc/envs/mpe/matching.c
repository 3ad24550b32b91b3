/* Matching: scipy.optimize.linear_sum_assignment of the agents' distances to their targets.
 *
 * The optimal assignment is unique but for equal sums of distances, so any exact method gives
 * SciPy's. This one adds an agent at a time along a shortest augmenting path (D. F. Crouse, "On
 * implementing 2D rectangular assignment algorithms", 2016). */
#include "matching.h"

#include "base/pairwise_sum.h"

static const double NEAR = 0.05, FARTHEST = 2.0;

enum { NONE = -1, MOST = MPE_MAX_AGENTS };

/* the state of the search for one assignment */
typedef struct assignment {
  int32_t count;
  double cost[MOST][MOST];
  double agent_price[MOST], target_price[MOST];
  int32_t target_of[MOST], agent_of[MOST];
  int32_t path[MOST];    /* the agent from which a target was reached; first the new one */
  double shortest[MOST]; /* the length of that path */
  bool has_agent[MOST], has_target[MOST];
} assignment;

/* Returns the target without an agent to which the shortest path from a new agent leads, and writes
 * its length. */
static int32_t find_path(assignment *it, int32_t agent, double *length) {
  double least = 0;
  int32_t current = agent, sink = NONE;
  for (int32_t i = 0; i < it->count; i++) {
    it->has_agent[i] = it->has_target[i] = false;
    it->shortest[i] = INFINITY;
    // no path is shorter than infinity if positions are NaN, which only forged snapshots have
    it->path[i] = agent;
  }
  while (sink == NONE) {
    int32_t next = NONE;
    double nearest = INFINITY;
    it->has_agent[current] = true;
    for (int32_t t = 0; t < it->count; t++) {
      double reached;
      if (it->has_target[t]) continue;
      reached = least + it->cost[current][t] - it->agent_price[current] - it->target_price[t];
      if (reached < it->shortest[t]) {
        it->shortest[t] = reached;
        it->path[t] = current;
      }
      if (next == NONE || it->shortest[t] < nearest) {
        nearest = it->shortest[t];
        next = t;
      }
    }
    least = nearest;
    it->has_target[next] = true;
    if (it->agent_of[next] == NONE) {
      sink = next;
    } else {
      current = it->agent_of[next];
    }
  }
  *length = least;
  return sink;
}

static void add_agent(assignment *it, int32_t agent) {
  double length;
  int32_t target = find_path(it, agent, &length);

  it->agent_price[agent] += length;
  for (int32_t i = 0; i < it->count; i++) {
    if (it->has_agent[i] && i != agent) {
      it->agent_price[i] += length - it->shortest[it->target_of[i]];
    }
  }
  for (int32_t t = 0; t < it->count; t++) {
    if (it->has_target[t]) it->target_price[t] -= length - it->shortest[t];
  }

  // each agent on the path changes to the target that it leads to
  for (int32_t i = NONE; i != agent;) {
    int32_t before;
    i = it->path[target];
    before = it->target_of[i];
    it->agent_of[target] = i;
    it->target_of[i] = target;
    target = before;
  }
}

void mpe_match(const mpe_world *world) {
  assignment it = {.count = world->shared->num_agents};
  double distances[MOST], clipped[MOST];
  bool is_done = true;
  for (int32_t i = 0; i < it.count; i++) {
    it.target_of[i] = it.agent_of[i] = NONE;
    for (int32_t t = 0; t < it.count; t++) {
      mpe_point d = mpe_minus(world->position[i], world->target[t]);
      it.cost[i][t] = pp_numpy_norm(&world->shared->numpy, d.x, d.y);
    }
  }
  for (int32_t i = 0; i < it.count; i++) add_agent(&it, i);
  for (int32_t i = 0; i < it.count; i++) {
    distances[i] = it.cost[i][it.target_of[i]];
    clipped[i] = distances[i] > FARTHEST ? FARTHEST : distances[i];
    is_done &= distances[i] < NEAR;
  }
  world->state->is_done = is_done;
  world->state->gain = -(pp_pairwise_sum(clipped, it.count) / it.count);
}

bool mpe_is_matched(const mpe_world *world) {
  return world->state->is_done;
}

void mpe_put_shared_reward(const mpe_world *world, double *reward) {
  for (int32_t i = 0; i < world->shared->num_agents; i++) reward[i] = world->state->gain;
}

float *mpe_put_plain(const mpe_world *world, int32_t agent, float *out) {
  out = mpe_put(mpe_put(out, world->velocity[agent]), world->position[agent]);
  return mpe_put_landmarks(world, agent, out);
}

const pp_option mpe_matching_options[MPE_MATCHING_NUM_OPTIONS] = {
    MPE_COMMON_OPTIONS,
    [MPE_MATCHING_N] = MPE_COUNT("N", 4, 1, "agents"),
    [MPE_MATCHING_SUCCESS] = MPE_SUCCESS,
};

int mpe_make_matching(mpe_shared *shared, const pp_value *options, int64_t landmarks,
                      double agent_size, pp_error *error) {
  int status = mpe_populate(shared, options[MPE_MATCHING_N].i, landmarks, error);
  if (status < 0) return status;
  shared->ends_on_success = options[MPE_MATCHING_SUCCESS].i != 0;
  shared->keeps_targets = true;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    mpe_name(shared, i, "agent", i);
    shared->entities[i].collides = true;
    shared->entities[i].size = agent_size;
    shared->observation_sizes[i] = 4 + 2 * landmarks;
  }
  return PP_OK;
}
