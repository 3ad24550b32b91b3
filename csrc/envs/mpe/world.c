/* The physics, actions and observations that all worlds share, and their callbacks. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/half.h"
#include "base/state_check.h"

static const double TIME_STEP = 0.1, DAMPING = 0.25, CONTACT_FORCE = 1e2, CONTACT_MARGIN = 1e-3;
static const double SENSITIVITY = 5.0;

enum { CONTROLS = 5 /* none, left, right, down, up */ };

/* ------------------------------------------------------------------------------ setting up -- */

int mpe_populate(mpe_shared *shared, int64_t agents, int64_t landmarks, pp_error *error) {
  if (agents < 1 || agents > MPE_MAX_AGENTS || landmarks > MPE_MAX_LANDMARKS) {
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "%lld agents and %lld landmarks: choose 1 to %d agents and at most %d landmarks",
                   (long long)agents, (long long)landmarks, MPE_MAX_AGENTS, MPE_MAX_LANDMARKS);
  }
  shared->num_agents = (int32_t)agents;
  shared->num_landmarks = (int32_t)landmarks;
  for (int32_t i = 0; i < agents + landmarks; i++) {
    bool is_agent = i < agents;
    shared->entities[i] = (mpe_entity){.size = 0.05,
                                       .mass = 1.0,
                                       .sensitivity = SENSITIVITY,
                                       .is_movable = is_agent,
                                       .is_silent = is_agent};
  }
  return PP_OK;
}

void mpe_name(mpe_shared *shared, int32_t agent, const char *kind, int32_t number) {
  snprintf(shared->names[agent], MPE_NAME, "%s_%d", kind, number);
}

/* Returns the size of an agent's action space: n of a Discrete, or the length of a Box. */
static int64_t action_size(const mpe_shared *shared, const mpe_entity *agent) {
  int64_t controls = agent->is_movable ? CONTROLS : 0, channels = shared->num_channels;
  if (shared->is_continuous) return controls + (agent->is_silent ? 0 : channels);
  return (controls ? controls : 1) * (agent->is_silent ? 1 : channels);
}

static int64_t largest(const int64_t *sizes, int32_t count) {
  int64_t most = 1;
  for (int32_t i = 0; i < count; i++) most = sizes[i] > most ? sizes[i] : most;
  return most;
}

/* the memory of one environment, part after part */
static size_t state_size(const mpe_shared *shared) {
  size_t agents = (size_t)shared->num_agents;
  size_t entities = agents + (size_t)shared->num_landmarks;
  size_t size = sizeof(mpe_state) + sizeof(mpe_point) * (entities + agents);
  if (shared->keeps_messages) size += sizeof(double) * agents * (size_t)shared->num_channels;
  if (shared->keeps_targets) size += sizeof(mpe_point) * agents;
  if (shared->keeps_own) size += sizeof(int32_t) * entities;
  return size;
}

static mpe_world world_of(const mpe_shared *shared, void *state) {
  size_t agents = (size_t)shared->num_agents;
  size_t entities = agents + (size_t)shared->num_landmarks;
  mpe_world world = {.shared = shared, .state = state};
  world.position = (mpe_point *)(world.state + 1);
  world.velocity = world.position + entities;
  world.target = world.velocity + agents;
  world.message = (double *)(world.target + (shared->keeps_targets ? agents : 0));
  world.own = (int32_t *)(world.message +
                          (shared->keeps_messages ? agents * (size_t)shared->num_channels : 0));
  return world;
}

/* describes the agents' spaces and infos to the engine */
static void describe(pp_config *config, mpe_shared *shared) {
  int32_t agents = shared->num_agents;
  for (int32_t i = 0; i < agents; i++) {
    shared->name_of[i] = shared->names[i];
    shared->action_sizes[i] = action_size(shared, &shared->entities[i]);
  }
  shared->observation_width = largest(shared->observation_sizes, agents);
  shared->action_width = largest(shared->action_sizes, agents);
  config->shared = shared;
  config->num_players = agents;
  config->player_names = shared->name_of;
  config->state_size = state_size(shared);
  config->fields[0] = (pp_field){.name = "obs",
                                 .dtype = PP_FLOAT32,
                                 .per_player = true,
                                 .ndim = 1,
                                 .shape = {shared->observation_width},
                                 .low = -INFINITY,
                                 .high = INFINITY,
                                 .player_sizes = shared->observation_sizes};
  config->num_fields = 1;
  if (shared->benchmark_size) {
    config->fields[config->num_fields++] = (pp_field){.name = "benchmark_data",
                                                      .is_info = true,
                                                      .when = PP_ON_STEP,
                                                      .dtype = PP_FLOAT64,
                                                      .per_player = true,
                                                      .ndim = 1,
                                                      .shape = {shared->benchmark_size}};
  }
  if (shared->is_continuous) {
    config->action = (pp_field){.name = "action",
                                .dtype = PP_FLOAT32,
                                .per_player = true,
                                .ndim = 1,
                                .shape = {shared->action_width},
                                .low = 0,
                                .high = 1};
  } else {
    config->action = (pp_field){.name = "action",
                                .dtype = PP_INT64,
                                .space = PP_DISCRETE,
                                .per_player = true,
                                .n = shared->action_width};
  }
  config->action.player_sizes = shared->action_sizes;
}

int mpe_configure(pp_config *config) {
  const mpe_scenario *scenario = config->def->data;
  const pp_value *options = config->options;
  mpe_shared *shared = calloc(1, sizeof(*shared));
  int status;
  if (!shared) return PP_ERR_MEMORY;
  shared->scenario = scenario;
  shared->max_cycles = (int32_t)options[MPE_MAX_CYCLES].i;
  shared->is_continuous = options[MPE_CONTINUOUS].i != 0;
  status = scenario->make(shared, options, config->error);
  if (!options[MPE_BENCHMARK].i) shared->benchmark_size = 0;
  if (status >= 0 && !pp_numpy_read(&shared->numpy, &options[MPE_NUMPY])) {
    status =
        pp_fail(config->error, PP_ERR_ARGUMENT, "_numpy has %lld bytes: leave it to parallel_pool",
                (long long)options[MPE_NUMPY].size);
  }
  if (status < 0) {
    free(shared);
    return status;
  }
  describe(config, shared);
  return PP_OK;
}

void mpe_release(void *shared) {
  free(shared);
}

/* --------------------------------------------------------------------------------- actions -- */

/* Returns a - b in the dtype of a Box action. */
static double difference(double a, double b, int32_t dtype) {
  if (dtype == PP_FLOAT64) return a - b;
  float narrow = (float)a - (float)b;
  return dtype == PP_FLOAT16 ? pp_half(narrow) : narrow;
}

/* Returns an element of a Box action. mpe2 clips actions that are outside the space; adding noise
 * of 0.0 to messages, it turns -0.0 into 0.0. */
static double element(const void *row, int32_t at, bool is_float) {
  double value = is_float ? ((const float *)row)[at] : ((const double *)row)[at];
  return value > 0 ? value > 1 ? 1 : value : 0;
}

/* Returns the factor of the curriculum. */
static double speed_of(const mpe_world *world, int32_t agent) {
  return world->shared->entities[agent].is_adversary ? 1 : world->state->speed;
}

/* Returns the dtype in which mpe2 computes with an agent's row: a float16 one becomes float32 when
 * it is clipped. The engine passes all dtypes but float32 as doubles. */
static int32_t dtype_of(const double *row, int64_t size, int32_t dtype) {
  if (dtype != PP_FLOAT16) return dtype;
  for (int64_t i = 0; i < size; i++) {
    if (row[i] < 0 || row[i] > 1) return PP_FLOAT32;
  }
  return dtype;
}

/* Computes an agent's force and sets its message, from its row of a Box action. */
static mpe_point act_continuously(const mpe_world *world, int32_t agent, const void *row,
                                  int32_t dtype) {
  const mpe_entity *it = &world->shared->entities[agent];
  int32_t channels = world->shared->num_channels;
  bool is_float = dtype == PP_FLOAT32;
  mpe_point force = {0, 0};
  if (it->is_movable) {
    double at[CONTROLS], sensitivity = it->sensitivity * speed_of(world, agent);
    dtype = dtype_of(row, world->shared->action_sizes[agent], dtype);
    for (int32_t i = 0; i < CONTROLS; i++) at[i] = element(row, i, is_float);
    force.x = (0.0 + difference(at[2], at[1], dtype)) * sensitivity;
    force.y = (0.0 + difference(at[4], at[3], dtype)) * sensitivity;
  }
  for (int32_t i = 0; !it->is_silent && i < channels; i++) {
    world->message[agent * channels + i] =
        element(row, i + (it->is_movable ? CONTROLS : 0), is_float);
  }
  return force;
}

/* The same for a Discrete action: the control, and times CONTROLS the message. */
static mpe_point act_discretely(const mpe_world *world, int32_t agent, int64_t action) {
  static const mpe_point directions[CONTROLS] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  const mpe_entity *it = &world->shared->entities[agent];
  int32_t channels = world->shared->num_channels;
  mpe_point force = {0, 0};
  if (it->is_movable) {
    double sensitivity = it->sensitivity * speed_of(world, agent);
    force.x = directions[action % CONTROLS].x * sensitivity;
    force.y = directions[action % CONTROLS].y * sensitivity;
    action /= CONTROLS;
  }
  for (int32_t i = 0; !it->is_silent && i < channels; i++) {
    world->message[agent * channels + i] = i == action;
  }
  return force;
}

static void act(const mpe_world *world, const void *actions, int32_t dtype, mpe_point *forces) {
  const mpe_shared *shared = world->shared;
  int64_t width = shared->action_width;
  size_t row_bytes = (size_t)width * (dtype == PP_FLOAT32 ? sizeof(float) : sizeof(double));
  for (int32_t i = 0; i < shared->num_agents; i++) {
    forces[i] =
        shared->is_continuous
            ? act_continuously(world, i, (const char *)actions + row_bytes * (size_t)i, dtype)
            : act_discretely(world, i, ((const int64_t *)actions)[i]);
  }
}

/* --------------------------------------------------------------------------------- physics -- */

/* Adds to a force. To be called only for entities that can move. */
static void push(mpe_point *force, double x, double y) {
  force->x = x + force->x;
  force->y = y + force->y;
}

static void collide(const mpe_world *world, mpe_point *forces) {
  const mpe_shared *shared = world->shared;
  const mpe_entity *entities = shared->entities;
  int32_t agents = shared->num_agents, count = agents + shared->num_landmarks;
  // two landmarks can't push each other: none moves
  for (int32_t a = 0; a < agents; a++) {
    if (!entities[a].collides) continue;
    for (int32_t b = a + 1; b < count; b++) {
      if (!entities[b].collides) continue;
      mpe_point delta = mpe_minus(world->position[a], world->position[b]);
      double distance = sqrt(delta.x * delta.x + delta.y * delta.y);
      double least = entities[a].size + entities[b].size;
      double exponent = -(distance - least) / CONTACT_MARGIN;
      // exp gives 0, and so does the force
      if (exponent < -746) continue;
      double penetration = pp_numpy_logaddexp_0(exponent) * CONTACT_MARGIN;
      double x = CONTACT_FORCE * delta.x / distance * penetration;
      double y = CONTACT_FORCE * delta.y / distance * penetration;
      if (entities[a].is_movable) push(&forces[a], x, y);
      if (entities[b].is_movable) push(&forces[b], -x, -y);
    }
  }
}

/* moves an agent for one time step */
static void integrate(const mpe_world *world, int32_t agent, mpe_point force) {
  const mpe_entity *it = &world->shared->entities[agent];
  mpe_point *position = &world->position[agent], *velocity = &world->velocity[agent];
  double x, y, speed, most = it->max_speed * speed_of(world, agent);
  position->x += velocity->x * TIME_STEP;
  position->y += velocity->y * TIME_STEP;
  x = velocity->x * (1 - DAMPING) + force.x / it->mass * TIME_STEP;
  y = velocity->y * (1 - DAMPING) + force.y / it->mass * TIME_STEP;
  speed = sqrt(x * x + y * y);
  if (most > 0 && speed > most) {
    x = x / speed * most;
    y = y / speed * most;
  }
  *velocity = (mpe_point){x, y};
}

static void advance(const mpe_world *world, const void *actions, int32_t dtype) {
  const mpe_shared *shared = world->shared;
  mpe_point forces[MPE_MAX_AGENTS + MPE_MAX_LANDMARKS];
  act(world, actions, dtype, forces);
  collide(world, forces);
  for (int32_t i = 0; i < shared->num_agents; i++) {
    if (shared->entities[i].is_movable) integrate(world, i, forces[i]);
  }
}

/* -------------------------------------------------------------------------------- geometry -- */

bool mpe_is_collision(const mpe_world *world, int32_t a, int32_t b) {
  const mpe_entity *entities = world->shared->entities;
  return mpe_distance(world->position[a], world->position[b]) < entities[a].size + entities[b].size;
}

double mpe_nearest_agent(const mpe_world *world, int32_t first, int32_t end, mpe_point from) {
  double least = mpe_distance(world->position[first], from);
  for (int32_t i = first + 1; i < end; i++) {
    double distance = mpe_distance(world->position[i], from);
    if (distance < least) least = distance;
  }
  return least;
}

void mpe_scatter_agents(const mpe_world *world, pp_rng *rng, double bound) {
  for (int32_t i = 0; i < world->shared->num_agents; i++) {
    world->position[i] = mpe_draw(rng, bound);
    world->velocity[i] = (mpe_point){0, 0};
  }
}

void mpe_scatter(const mpe_world *world, pp_rng *rng, double agents, double landmarks) {
  const mpe_shared *shared = world->shared;
  mpe_scatter_agents(world, rng, agents);
  for (int32_t i = 0; i < shared->num_landmarks; i++) {
    *mpe_landmark(world, i) = mpe_draw(rng, landmarks);
  }
  if (!shared->keeps_messages) return;
  for (int32_t i = 0; i < shared->num_agents * shared->num_channels; i++) world->message[i] = 0;
}

void mpe_scatter_with_goal(const mpe_world *world, pp_rng *rng) {
  world->state->goals[0] = (int32_t)pp_rng_integers(rng, 0, world->shared->num_landmarks);
  mpe_scatter(world, rng, 1, 1);
}

void mpe_count_caught(const mpe_world *world, int32_t agent, double *out) {
  const mpe_shared *shared = world->shared;
  int32_t count = 0;
  for (int32_t i = shared->num_adversaries; i < shared->num_agents; i++) {
    count += shared->entities[agent].is_adversary && mpe_is_collision(world, i, agent);
  }
  out[0] = count;
}

double mpe_out_of_bounds(const mpe_world *world, double coordinate) {
  double x = fabs(coordinate);
  if (x < 0.9) return 0;
  if (x < 1.0) return (x - 0.9) * 10;
  double penalty = pp_numpy_exp(&world->shared->numpy, 2 * x - 2);
  return 10 < penalty ? 10 : penalty;
}

/* ---------------------------------------------------------------------------- observations -- */

float *mpe_put_message(const mpe_world *world, int32_t agent, float *out) {
  int32_t channels = world->shared->num_channels;
  for (int32_t i = 0; i < channels; i++) *out++ = (float)world->message[agent * channels + i];
  return out;
}

void mpe_sort(int32_t *entities, double *keys, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    int32_t entity = entities[i], at = i;
    double key = keys[i];
    for (; at > 0 && key < keys[at - 1]; at--) {
      keys[at] = keys[at - 1];
      entities[at] = entities[at - 1];
    }
    keys[at] = key;
    entities[at] = entity;
  }
}

/* Sorts entities by their distance from an agent. numpy.argsort sorts few numbers by insertion,
 * too. */
static void sort_by_distance(const mpe_world *world, int32_t agent, int32_t *entities,
                             int32_t count) {
  double distances[MPE_MAX_AGENTS + MPE_MAX_LANDMARKS];
  for (int32_t i = 0; i < count; i++) {
    mpe_point d = mpe_minus(world->position[entities[i]], world->position[agent]);
    distances[i] = pp_numpy_norm(&world->shared->numpy, d.x, d.y);
  }
  mpe_sort(entities, distances, count);
}

static float *put_zeros(float *out, int32_t count) {
  for (int32_t i = 0; i < count; i++) *out++ = 0;
  return out;
}

static int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

int32_t mpe_landmark_slots(const mpe_shared *shared) {
  return shared->seen_landmarks ? shared->seen_landmarks : shared->num_landmarks;
}

int32_t mpe_other_slots(const mpe_shared *shared) {
  return shared->seen_agents ? shared->seen_agents : shared->num_agents - 1;
}

float *mpe_put_landmarks(const mpe_world *world, int32_t agent, float *out) {
  const mpe_shared *shared = world->shared;
  int32_t landmarks[MPE_MAX_LANDMARKS], count = shared->num_landmarks;
  for (int32_t i = 0; i < count; i++) landmarks[i] = shared->num_agents + i;
  if (shared->seen_landmarks) sort_by_distance(world, agent, landmarks, count);
  return mpe_put_others(world, agent, landmarks, least(count, mpe_landmark_slots(shared)),
                        mpe_landmark_slots(shared), out);
}

int32_t mpe_list_others(const mpe_world *world, int32_t agent, int32_t *others) {
  const mpe_shared *shared = world->shared;
  int32_t count = 0;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    if (i != agent) others[count++] = i;
  }
  if (!shared->seen_agents) return count;
  sort_by_distance(world, agent, others, count);
  return least(count, shared->seen_agents);
}

float *mpe_put_others(const mpe_world *world, int32_t agent, const int32_t *others, int32_t count,
                      int32_t slots, float *out) {
  for (int32_t i = 0; i < count; i++) {
    out = mpe_put(out, mpe_minus(world->position[others[i]], world->position[agent]));
  }
  return put_zeros(out, 2 * (slots - count));
}

/* ------------------------------------------------------------------------------- callbacks -- */

static double range_of(const mpe_world *world) {
  int32_t count = world->shared->num_agents + world->shared->num_landmarks;
  double most = 0;
  for (int32_t i = 0; i < count; i++) {
    most = fmax(most, fmax(fabs(world->position[i].x), fabs(world->position[i].y)));
  }
  return most;
}

int mpe_reset(pp_env *env, pp_reset *how) {
  const mpe_shared *shared = env->shared;
  mpe_world world = world_of(shared, env->state);
  world.state->cycles = 0;
  world.state->speed = 1;
  if (shared->has_curriculum && how->options && how->options[0].given) {
    world.state->stage = (int32_t)how->options[0].i;
  }
  shared->scenario->reset(&world, env->rng);
  world.state->range = range_of(&world);
  return PP_OK;
}

int mpe_step(pp_env *env, const void *action, pp_result *result) {
  const mpe_shared *shared = env->shared;
  const mpe_scenario *scenario = shared->scenario;
  mpe_world world = world_of(shared, env->state);
  mpe_state *state = world.state;

  advance(&world, action, *env->action_dtype);
  if (scenario->after_step) scenario->after_step(&world);
  scenario->reward(&world, result->reward);
  // PettingZoo adds rewards to 0.0, which turns -0.0 into 0.0
  for (int32_t i = 0; i < shared->num_agents; i++) result->reward[i] += 0.0;

  if (++state->cycles >= shared->max_cycles) {
    result->truncated = true;
  } else if (shared->ends_on_success) {
    result->terminated = scenario->is_over(&world);
  }
  return PP_OK;
}

int mpe_observe(pp_env *env, void *const *fields, bool is_reset) {
  const mpe_shared *shared = env->shared;
  mpe_world world = world_of(shared, env->state);
  int64_t width = shared->observation_width;
  (void)is_reset;
  for (int32_t i = 0; fields[0] && i < shared->num_agents; i++) {
    float *row = (float *)fields[0] + width * i;
    float *end = shared->scenario->observe(&world, i, row);
    put_zeros(end, (int32_t)(row + width - end));
  }
  if (!shared->benchmark_size || !fields[1]) return PP_OK;
  for (int32_t i = 0; i < shared->num_agents; i++) {
    shared->scenario->benchmark(&world, i, (double *)fields[1] + shared->benchmark_size * i);
  }
  return PP_OK;
}

int mpe_expose(pp_env *env, void *target) {
  const mpe_shared *shared = env->shared;
  mpe_world world = world_of(shared, env->state);
  int32_t entities = shared->num_agents + shared->num_landmarks;
  int32_t messages = shared->keeps_messages ? shared->num_agents * shared->num_channels : 0;
  int32_t size = MPE_VIEW_ENTITIES + MPE_VIEW_ENTITY * entities + messages;
  double *view = target, *out = view + MPE_VIEW_ENTITIES;
  if (view[MPE_VIEW_SIZE] != size) {
    return pp_fail(env->error, PP_ERR_ARGUMENT,
                   "there is room for %g numbers, and the world has %d: give room for so many",
                   view[MPE_VIEW_SIZE], size);
  }
  view[MPE_VIEW_RANGE] = world.state->range;
  for (int32_t i = 0; i < 2; i++) view[MPE_VIEW_GOALS + i] = world.state->goals[i];
  for (int32_t i = 0; i < entities; i++) {
    *out++ = world.position[i].x;
    *out++ = world.position[i].y;
    *out++ = shared->keeps_own ? world.own[i] : 0;
  }
  for (int32_t i = 0; i < messages; i++) *out++ = world.message[i];
  return PP_OK;
}

int mpe_check_state(const pp_env *env, const pp_saved *saved) {
  const mpe_shared *shared = env->shared;
  // only read
  mpe_world world = world_of(shared, (void *)(uintptr_t)saved->state);
  const mpe_state *it = world.state;
  // worlds without goals leave them 0
  int32_t last = shared->num_landmarks ? shared->num_landmarks - 1 : 0;
  return pp_state_check_range(env, "cycles", it->cycles, 0, INT32_MAX - 1) &&
                 pp_state_check_range(env, "stage", it->stage, 0, MPE_MAX_STAGE) &&
                 pp_state_check_range(env, "goals[0]", it->goals[0], 0, last) &&
                 pp_state_check_range(env, "goals[1]", it->goals[1], 0, last) &&
                 pp_state_check_range(env, "is_done", it->is_done, 0, 1) &&
                 (!shared->scenario->check || shared->scenario->check(&world, env))
             ? PP_OK
             : PP_ERR_ARGUMENT;
}
