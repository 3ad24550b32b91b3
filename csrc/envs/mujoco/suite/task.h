/* What all tasks of dm_control's suite share: the struct that describes a task, and what it calls.
 *
 * To read a task: its suite_task at the end of its file lists the callbacks, and the definitions
 * follow. task.c implements the callbacks of the engine with them. */
#ifndef PP_ENVS_MUJOCO_SUITE_TASK_H
#define PP_ENVS_MUJOCO_SUITE_TASK_H

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/pairwise_sum.h"
#include "base/random_state.h"
#include "camera.h"
#include "physics.h"
#include "rewards.h"

enum {
  SUITE_MOST_IDS = 64,
  SUITE_MOST_OWN = 16,
  SUITE_MOST_ATTEMPTS = 100000, /* at a reset; only a forged generator needs so many */
};

/* NumPy's pi */
#define SUITE_PI 3.141592653589793238462643383279502884

typedef struct suite_task suite_task;

/* a definition's data: a task, and in what it differs from others with the same code */
typedef struct suite_kind {
  const suite_task *task;
  double number;     /* a speed, a radius */
  int32_t variant;   /* by an enum in the task's file */
  bool writes_model; /* each episode has values of its own in the model */
} suite_kind;

/* What all environments of a pool share. Only read once the pool is made, except for workspaces. */
typedef struct suite_shared {
  suite_model model;
  const suite_kind *kind;
  int32_t frame_stack;
  int32_t row_numbers; /* doubles in one row of all observations */
  bool from_pixels;
  suite_cameras cameras; /* if from_pixels */
  int32_t num_fields;
  int32_t field_at[PP_MAX_FIELDS]; /* in the row */
  int32_t field_size[PP_MAX_FIELDS];

  /* The task's prepare() writes the rest. */
  int32_t ids[SUITE_MOST_IDS]; /* by an enum in its file */
  int32_t num_own;             /* numbers that a task keeps from a reset on */
  double limit;                /* a number that it computes once */
} suite_shared;

/* one environment in one callback */
typedef struct suite_sim {
  const suite_shared *shared;
  const suite_kind *kind;
  const int32_t *ids;
  const pp_numpy_loops *numpy;
  suite_physics *physics;
  const suite_data *data;
  const suite_values *values;
  pp_random_state *random;
  double *own; /* what the episode has drawn, besides the state; in snapshots */
  pp_env *env;
  const void *action; /* null: a reset */
  double reward;
  bool has_ended;
  int status;
} suite_sim;

struct suite_task {
  /* finds names, and describes observations with suite_describe, in dm_control's order */
  int (*prepare)(pp_config *config, suite_shared *shared);

  /* what the seed draws before the first episode, into own; null: nothing */
  void (*seed)(suite_sim *sim);

  /* task.initialize_episode, between physics.reset() and physics.after_reset() */
  int (*begin)(suite_sim *sim);

  /* writes what the episode has drawn into the model, which is new; null: nothing. begin calls it,
   * too */
  void (*apply)(suite_sim *sim);

  /* writes a row of all observations; returns its end */
  double *(*observe)(suite_sim *sim, double *row);

  double (*reward)(suite_sim *sim);

  /* whether get_termination ends the episode; null: never */
  bool (*has_ended)(suite_sim *sim);
};

/* the callbacks of a definition, whose data is the suite_kind */
int suite_configure(pp_config *config);
void suite_release(void *shared);
void suite_fini(pp_env *env);
int suite_seed(pp_env *env, const pp_seed *seed);
int suite_reset(pp_env *env, pp_reset *reset);
int suite_step(pp_env *env, const void *action, pp_result *result);
int suite_observe(pp_env *env, void *const *fields, bool is_reset);
int64_t suite_save(pp_env *env, void *bytes);
int suite_load(pp_env *env, const void *bytes, int64_t size);
int suite_check_state(const pp_env *env, const pp_saved *saved);
int suite_expose(pp_env *env, void *target);

/* ------------------------------------------------------------------------------ definitions -- */

/* clang-format off */
/* the options of a task: its model (as control_suite_models.py names it) and its steps of physics */
#define SUITE_OPTIONS(xml, skip)                                                                   \
  {                                                                                                \
    {.name = "_link", .type = PP_OPT_STRING, .required = true,                                     \
     .doc = "addresses in the MuJoCo library and in the model; set by parallel_pool"},             \
    {.name = "model_digest", .type = PP_OPT_BYTES, .required = true,                               \
     .doc = "digest of the compiled model; set by parallel_pool"},                                 \
    {.name = "_model", .type = PP_OPT_STRING, .text = xml, .doc = "dm_control's model"},           \
    {.name = "frame_skip", .type = PP_OPT_INT, .number = skip, .low = 1, .high = 100000,           \
     .doc = "simulation steps of one environment step"},                                           \
    {.name = "_numpy", .type = PP_OPT_BYTES, .doc = "loops of NumPy; set by parallel_pool"},       \
    {.name = "frame_stack", .type = PP_OPT_INT, .number = 1, .low = 1, .high = 1024,               \
     .doc = "observations stacked into one, the newest last"},                                     \
    {.name = "speed_switches", .type = PP_OPT_BOOL, .number = 1,                                   \
     .doc = "set MuJoCo options that are faster and give the same bits"},                          \
    {.name = "from_pixels", .type = PP_OPT_BOOL,                                                   \
     .doc = "observe a picture, uint8 (3 * frame_stack, render_height, render_width), instead"},   \
    {.name = "render_width", .type = PP_OPT_INT, .number = 84, .low = 1, .high = 4096,             \
     .doc = "pixels of a picture"},                                                                \
    {.name = "render_height", .type = PP_OPT_INT, .number = 84, .low = 1, .high = 4096,            \
     .doc = "pixels of a picture"},                                                                \
    {.name = "render_camera_id", .type = PP_OPT_INT, .number = -1, .low = -1, .high = 1000,        \
     .doc = "the model's camera that draws; -1: the free camera"},                                 \
  }

#define SUITE_DEFINITION(title, limit, table, of)                                                  \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "control_suite",                        \
  .reference = "dm_control 1.0.50 " title, .max_episode_steps = limit,                             \
  .options = table, .num_options = SUITE_NUM_OPTIONS, .data = of,                                  \
  .configure = suite_configure, .release = suite_release, .fini = suite_fini,                      \
  .seed = suite_seed, .reset = suite_reset, .step = suite_step, .observe = suite_observe,          \
  .save = suite_save, .load = suite_load, .check_state = suite_check_state,                        \
  .expose = suite_expose

/* Shimmy's id and EnvPool's of one task: two elements of a table. An episode has limit steps,
 * EnvPool's always 1000. */
#define SUITE_LIMITED(domain, task, envpool, limit, table, of)                                     \
  {.id = "dm_control/" domain "-" task "-v0",                                                      \
   SUITE_DEFINITION(domain "-" task, limit, table, of)},                                           \
  {.id = envpool "-v1", SUITE_DEFINITION(domain "-" task, 1000, table, of)}
#define SUITE_TASK(domain, task, envpool, table, of)                                               \
  SUITE_LIMITED(domain, task, envpool, 1000, table, of)
/* clang-format on */

/* ----------------------------------------------------------------------------------- prepare -- */

/* Finds names as "body:torso" (suite_model_find) and writes their numbers into ids[from], ... */
int suite_find(pp_config *config, suite_shared *shared, int32_t from, const char *const *names,
               int32_t count);

/* Adds one observation: a scalar (columns 0), a vector (rows 0), or a matrix. */
void suite_describe(pp_config *config, suite_shared *shared, const char *name, int32_t rows,
                    int32_t columns);

/* an observation that is a vector or, with count 0, a scalar */
static inline void suite_describe_vector(pp_config *config, suite_shared *shared, const char *name,
                                         int32_t count) {
  suite_describe(config, shared, name, 0, count);
}

/* ------------------------------------------------------------------------------------- reset -- */

/* randomizers.randomize_limited_and_rotational_joints */
void suite_randomize_joints(suite_sim *sim);

/* Draws with `draw` until the configuration has no contacts, at most `attempts` times. */
int suite_draw_without_contacts(suite_sim *sim, int (*draw)(suite_sim *sim), int32_t attempts);

/* quat /= np.linalg.norm(quat) and the like */
void suite_normalize(const pp_numpy_loops *numpy, double *vector, int32_t count);

/* ----------------------------------------------------------------------------------- observe -- */

static inline double *suite_copy(double *row, const double *numbers, int32_t count) {
  memcpy(row, numbers, sizeof(double) * (size_t)count);
  return row + count;
}

/* the observations position and velocity; the first positions are left out */
double *suite_observe_positions(const suite_sim *sim, double *row, int32_t left_out);
double *suite_observe_velocities(const suite_sim *sim, double *row);

/* positions of all hinges, then their velocities; roots are left out */
double *suite_observe_hinges(const suite_sim *sim, double *row);
int32_t suite_num_hinges(const suite_model *model);

static inline double *suite_subtract(double *row, const double *left, const double *right,
                                     int32_t count) {
  for (int32_t i = 0; i < count; i++) row[i] = left[i] - right[i];
  return row + count;
}

/* np.linalg.norm of a vector */
static inline double suite_norm(const suite_sim *sim, const double *vector, int32_t count) {
  return sqrt(pp_numpy_dot(sim->numpy, vector, vector, count));
}

/* vector.dot(matrix) of 3 and 3 x 3 numbers: a global vector in a local frame */
static inline double *suite_localize(const suite_sim *sim, double *row, const double *vector,
                                     const double *matrix) {
  pp_numpy_matmul(sim->numpy, vector, 1, 3, matrix, 3, row);
  return row + 3;
}

/* elements of a frame (a 3 x 3 matrix), by dm_control's names */
enum suite_frame {
  SUITE_XX,
  SUITE_XY,
  SUITE_XZ,
  SUITE_YX,
  SUITE_YY,
  SUITE_YZ,
  SUITE_ZX,
  SUITE_ZY,
  SUITE_ZZ
};

static inline double suite_body(const suite_sim *sim, int32_t id, int32_t element) {
  return sim->data->xmat[9 * sim->ids[id] + element];
}

static inline double suite_sensor(const suite_sim *sim, int32_t id) {
  return sim->data->sensordata[sim->ids[id]];
}

static inline const double *suite_site(const suite_sim *sim, int32_t id) {
  return sim->data->site_xpos + 3 * sim->ids[id];
}

static inline const double *suite_geom(const suite_sim *sim, int32_t id) {
  return sim->data->geom_xpos + 3 * sim->ids[id];
}

static inline double suite_tolerate(const suite_sim *sim, double x, suite_tolerance within) {
  return suite_reward(sim->numpy, x, within);
}

static inline double suite_tolerate_element(const suite_sim *sim, double x,
                                            suite_tolerance within) {
  return suite_reward_element(sim->numpy, x, within);
}

static inline double suite_control_reward(const suite_sim *sim) {
  return suite_small_control(sim->numpy, sim->data->ctrl, sim->shared->model.sim.nu);
}

#endif
