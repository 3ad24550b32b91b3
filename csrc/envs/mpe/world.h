/* The particle world of mpe2: agents and landmarks in a plane, their physics and their actions.
 *
 * Every environment of this family equals mpe2 1.1.1 bit for bit. Its file describes the world (who
 * is in it) and computes starts, rewards and observations; world.c does the rest. Model: I.
 * Mordatch and P. Abbeel, "Emergence of grounded compositional language in multi-agent
 * populations", 2017; R. Lowe et al., "Multi-agent actor-critic for mixed cooperative-competitive
 * environments", 2017. */
#ifndef PP_ENVS_MPE_WORLD_H
#define PP_ENVS_MPE_WORLD_H

#include <stdbool.h>

#include "base/numpy_loops.h"
#include "base/random.h"
#include "pp_env.h"

enum { MPE_MAX_STAGE = 2 /* the last stage of any curriculum */ };
enum { MPE_MAX_AGENTS = 64, MPE_MAX_LANDMARKS = 64, MPE_NAME = 24 };

typedef struct mpe_point {
  double x, y;
} mpe_point;

/* what does not change: an agent's or a landmark's properties */
typedef struct mpe_entity {
  double size;
  double mass;
  double sensitivity; /* of an agent's controls */
  double max_speed;   /* 0: none */
  bool is_movable;
  bool collides;
  bool is_silent;    /* sends no messages */
  bool is_adversary; /* in the worlds that have adversaries */
} mpe_entity;

/* what changes, except for positions, velocities and messages, which follow it in memory */
typedef struct mpe_state {
  int32_t cycles;   /* steps of the episode */
  int32_t stage;    /* of the curriculum */
  double speed;     /* factor on the controls and the speed of agents that are no adversaries */
  int32_t goals[2]; /* landmarks; each world says which */
  uint8_t is_done;  /* the agents are where they should be */
  double gain;      /* reward of the last step that all agents share */
  double range;     /* largest coordinate at the start of the episode, by absolute value */
  pp_rng rng;       /* a second generator, for worlds that draw in steps */
} mpe_state;

typedef struct mpe_shared mpe_shared;

/* one environment, as the functions of its world see it; entities: agents, then landmarks */
typedef struct mpe_world {
  const mpe_shared *shared;
  mpe_state *state;
  mpe_point *position; /* of each entity */
  mpe_point *velocity; /* of each agent */
  double *message;     /* num_channels of each agent */
  int32_t *own;        /* integers of each entity, for worlds that need them */
  mpe_point *target;   /* a place for each agent, for worlds that need them */
} mpe_world;

/* a world: how it is set up, and what it computes */
typedef struct mpe_scenario {
  /* Sets up the entities, the names and sizes of agents, from the options. */
  int (*make)(mpe_shared *shared, const pp_value *options, pp_error *error);
  void (*reset)(const mpe_world *world, pp_rng *rng);
  /* Writes the reward of each agent. */
  void (*reward)(const mpe_world *world, double *reward);
  /* Returns whether the episode ends early; null: never. */
  bool (*is_over)(const mpe_world *world);
  /* Writes an agent's observation; returns its end. */
  float *(*observe)(const mpe_world *world, int32_t agent, float *out);
  /* Changes the world after the physics of a step; null: nothing happens. */
  void (*after_step)(const mpe_world *world);
  /* Returns whether a restored world can be, beyond what all worlds have in common; null: nothing
   * but that matters. */
  bool (*check)(const mpe_world *world, const pp_env *env);
  /* Writes an agent's benchmark data, at most benchmark_size numbers; null: there are none. */
  void (*benchmark)(const mpe_world *world, int32_t agent, double *out);
} mpe_scenario;

struct mpe_shared {
  const mpe_scenario *scenario;
  pp_numpy_loops numpy;
  int32_t num_agents;
  int32_t num_landmarks;
  int32_t num_adversaries; /* they are the first agents */
  int32_t num_channels;    /* of a message */
  int32_t max_cycles;
  int32_t seen_agents;    /* how many of the nearest others an agent sees; 0: all */
  int32_t seen_landmarks; /* the same for landmarks */
  int32_t counts[3];      /* of kinds of landmarks; each world says which */
  double local_ratio;     /* share of an agent's own reward */
  bool is_continuous;
  bool has_curriculum;
  bool ends_on_success;
  int32_t benchmark_size;    /* numbers of each agent's benchmark data; 0: not asked for */
  int64_t observation_width; /* the largest of observation_sizes */
  int64_t action_width;      /* the same for actions */
  bool keeps_messages;       /* the state holds messages */
  bool keeps_own;
  bool keeps_targets;
  mpe_entity entities[MPE_MAX_AGENTS + MPE_MAX_LANDMARKS];
  char names[MPE_MAX_AGENTS][MPE_NAME];
  const char *name_of[MPE_MAX_AGENTS];
  int64_t observation_sizes[MPE_MAX_AGENTS];
  int64_t action_sizes[MPE_MAX_AGENTS];
};

/* What expose writes for drawings: doubles, one after another. Then follow, for each entity,
 * MPE_VIEW_ENTITY numbers: x, y, and its integer of world->own (0 if the world has none), and the
 * messages of all agents if the world keeps messages. */
enum {
  MPE_VIEW_SIZE, /* the caller sets it to the number of doubles that it has room for */
  MPE_VIEW_RANGE,
  MPE_VIEW_GOALS, /* two */
  MPE_VIEW_ENTITIES = MPE_VIEW_GOALS + 2,
  MPE_VIEW_ENTITY = 3
};

/* ---------------------------------------------------------------------------- setting up -- */

/* options that all worlds have come first in their tables */
enum { MPE_NUMPY, MPE_MAX_CYCLES, MPE_CONTINUOUS, MPE_BENCHMARK, MPE_NUM_COMMON };

#define MPE_COMMON_OPTIONS                                                                     \
  [MPE_NUMPY] = {.name = "_numpy", .type = PP_OPT_BYTES, .doc = "addresses of NumPy's loops"}, \
  [MPE_MAX_CYCLES] = {.name = "max_cycles",                                                    \
                      .type = PP_OPT_INT,                                                      \
                      .number = 25,                                                            \
                      .low = 1,                                                                \
                      .high = INT32_MAX,                                                       \
                      .doc = "steps of an episode, after which it is truncated"},              \
  [MPE_CONTINUOUS] = {.name = "continuous_actions",                                            \
                      .type = PP_OPT_BOOL,                                                     \
                      .doc = "a Box of forces and messages instead of a Discrete"},            \
  [MPE_BENCHMARK] = {.name = "benchmark_data",                                                 \
                     .type = PP_OPT_BOOL,                                                      \
                     .doc = "adds the info benchmark_data, with figures of each agent"}

#define MPE_NEIGHBORS(option, what) \
  {.name = option,                  \
   .type = PP_OPT_INT,              \
   .number = -1,                    \
   .low = -1,                       \
   .high = 1 << 16,                 \
   .doc = "how many of the nearest " what " an agent sees, 1 or more; -1: all"}

/* Returns the value of such an option; 0: all. */
static inline int32_t mpe_neighbors(const pp_value *value) {
  return value->i > 0 ? (int32_t)value->i : 0;
}

#define MPE_SUCCESS                \
  {.name = "terminate_on_success", \
   .type = PP_OPT_BOOL,            \
   .doc = "the episode is terminated when the task is done"}

#define MPE_COUNT(option, usual, least, what) \
  {.name = option,                            \
   .type = PP_OPT_INT,                        \
   .number = usual,                           \
   .low = least,                              \
   .high = MPE_MAX_AGENTS,                    \
   .doc = what}

#define MPE_LOCAL_RATIO                          \
  {.name = "local_ratio",                        \
   .type = PP_OPT_FLOAT,                         \
   .number = 0.5,                                \
   .low = 0,                                     \
   .high = 1, /* a reward would have its type */ \
   .refuses = 1 << PP_FLOAT16 | 1 << PP_FLOAT32, \
   .doc = "share of an agent's own reward; the rest is the reward of all"}

#define MPE_STAGE(last)        \
  {.name = "curriculum_stage", \
   .type = PP_OPT_INT,         \
   .low = 0,                   \
   .high = last,               \
   .doc = "stage of the curriculum, from this reset on"}

/* everything in a definition that the worlds share; world: its mpe_scenario */
#define MPE_DEFINITION(title, table, count, world)                                          \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "mpe/" title, .family = "mpe",       \
  .reference = "mpe2 1.1.1 " title, .options = table, .num_options = count,                 \
  .action_dtypes = 1 << PP_FLOAT64 | 1 << PP_FLOAT16, .data = &(world),                     \
  .configure = mpe_configure, .release = mpe_release, .reset = mpe_reset, .step = mpe_step, \
  .observe = mpe_observe, .expose = mpe_expose, .check_state = mpe_check_state

/* Makes what all environments share; the pool's fields and sizes follow from it. */
int mpe_configure(pp_config *config);
void mpe_release(void *shared);
int mpe_reset(pp_env *env, pp_reset *how);
int mpe_step(pp_env *env, const void *action, pp_result *result);
int mpe_observe(pp_env *env, void *const *fields, bool is_reset);
int mpe_expose(pp_env *env, void *target);
int mpe_check_state(const pp_env *env, const pp_saved *saved);

/* Sets the number of agents and landmarks, with mpe2's default properties. Returns PP_ERR_ARGUMENT
 * if there are too many. */
int mpe_populate(mpe_shared *shared, int64_t agents, int64_t landmarks, pp_error *error);

/* Names agent `agent` KIND_NUMBER. */
void mpe_name(mpe_shared *shared, int32_t agent, const char *kind, int32_t number);

/* ---------------------------------------------------------------------------- geometry -- */

static inline mpe_point mpe_minus(mpe_point a, mpe_point b) {
  return (mpe_point){a.x - b.x, a.y - b.y};
}

/* Returns numpy.sum(numpy.square(a - b)). */
static inline double mpe_square_distance(mpe_point a, mpe_point b) {
  mpe_point d = mpe_minus(a, b);
  return d.x * d.x + d.y * d.y;
}

static inline double mpe_distance(mpe_point a, mpe_point b) {
  return sqrt(mpe_square_distance(a, b));
}

static inline mpe_point *mpe_landmark(const mpe_world *world, int32_t landmark) {
  return &world->position[world->shared->num_agents + landmark];
}

/* Returns whether two entities overlap. */
bool mpe_is_collision(const mpe_world *world, int32_t a, int32_t b);

/* Returns min() of the distances of the agents first .. end-1 to a point. */
double mpe_nearest_agent(const mpe_world *world, int32_t first, int32_t end, mpe_point from);

/* Draws a point of the square from -bound to bound. */
static inline mpe_point mpe_draw(pp_rng *rng, double bound) {
  double x = pp_rng_uniform(rng, -bound, bound);
  return (mpe_point){x, pp_rng_uniform(rng, -bound, bound)};
}

/* Draws the positions of agents, which stand still. */
void mpe_scatter_agents(const mpe_world *world, pp_rng *rng, double bound);

/* Draws the positions of agents and landmarks; agents stand still and are silent. */
void mpe_scatter(const mpe_world *world, pp_rng *rng, double agents, double landmarks);

/* Draws a landmark as the goal, and then all positions. */
void mpe_scatter_with_goal(const mpe_world *world, pp_rng *rng);

/* Returns where the landmark state->goals[number] is. */
static inline mpe_point mpe_goal(const mpe_world *world, int32_t number) {
  return *mpe_landmark(world, world->state->goals[number]);
}

/* Sorts entities and their keys by the keys, the least first; equal ones keep their order. */
void mpe_sort(int32_t *entities, double *keys, int32_t count);

/* Writes how many agents an adversary touches; 0 for other agents. */
void mpe_count_caught(const mpe_world *world, int32_t agent, double *out);

/* Returns the penalty of one coordinate's distance from the centre. */
double mpe_out_of_bounds(const mpe_world *world, double coordinate);

/* ------------------------------------------------------------------------- observations -- */

static inline float *mpe_put(float *out, mpe_point point) {
  out[0] = (float)point.x;
  out[1] = (float)point.y;
  return out + 2;
}

static inline float *mpe_put_color(float *out, const double color[3]) {
  for (int32_t i = 0; i < 3; i++) *out++ = (float)color[i];
  return out;
}

float *mpe_put_message(const mpe_world *world, int32_t agent, float *out);

/* Writes the positions of the landmarks relative to an agent: of all, or of the nearest, followed
 * by zeros. */
float *mpe_put_landmarks(const mpe_world *world, int32_t agent, float *out);

/* Lists the other agents that an agent sees, the nearest first if it sees only some. Returns how
 * many there are. */
int32_t mpe_list_others(const mpe_world *world, int32_t agent, int32_t *others);

/* Writes the positions of the listed agents relative to an agent; zeros up to `slots`. */
float *mpe_put_others(const mpe_world *world, int32_t agent, const int32_t *others, int32_t count,
                      int32_t slots, float *out);

/* Returns the numbers of landmarks and of other agents that an observation has room for. */
int32_t mpe_landmark_slots(const mpe_shared *shared);
int32_t mpe_other_slots(const mpe_shared *shared);

#endif
