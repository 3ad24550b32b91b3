/* What all MuJoCo tasks share: the struct that describes a task, and the code that runs it.
 *
 * To read a task: its mujoco_task at the end of its file lists the callbacks. task.c implements the
 * callbacks of the engine with them; parts.c and numpy.c are what tasks call. */
#ifndef PP_ENVS_MUJOCO_TASK_H
#define PP_ENVS_MUJOCO_TASK_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "pp_env.h"
#include "simulator.h"

enum {
  MUJOCO_MAX_CARRY = 4,
  MUJOCO_MAX_PARAMETERS = 2,
  MUJOCO_MAX_IDS = 4,
};

typedef struct mujoco_task mujoco_task;

/* What all environments of a pool share. Only read once the pool is made. */
typedef struct mujoco_shared {
  mujoco_simulator sim;
  const mujoco_task *task;
  const pp_value *options; /* the pool's; a task indexes them by an enum in its file */
  int32_t info_numbers;    /* doubles in all infos together */
  int32_t info_dtypes[PP_MAX_FIELDS];
  int32_t frame_stack;

  /* The task's prepare() writes the rest. */
  int32_t obs_size;
  int32_t skipped_positions;                /* positions at the front that are not observed */
  int32_t noise_option;                     /* its index: the size of the noise in initial states */
  double parameters[MUJOCO_MAX_PARAMETERS]; /* numbers that it computes, by an enum in its file */
  int32_t ids[MUJOCO_MAX_IDS];              /* bodies and other indices, likewise */
  bool needs_constraint_forces; /* a step's results use what mj_rnePostConstraint computes */
} mujoco_shared;

/* One environment after a reset or a step: what the task reads, and the results that it writes. */
typedef struct mujoco_transition {
  const mujoco_shared *shared;
  const pp_value *options;     /* of the environment: those with .varies may differ from shared's */
  const mujoco_workspace *now; /* after mj_forward (reset) or mj_step */
  double *carry;               /* numbers that the task keeps from one reset or step to the next */
  double *infos;               /* in the order of the task's info fields; zeroed */
  const double *action;
  int32_t action_dtype; /* of the caller's action: NumPy computes costs and rewards in it */
  double reward;
  bool terminated;
} mujoco_transition;

struct mujoco_task {
  /* Minimum sizes of a model, so that the callbacks can index it without checks. A model with less
   * is refused. */
  int32_t least_nq;
  int32_t least_nv;
  int32_t least_nsite;

  /* reads the options and writes the last part of shared, which is zeroed */
  int (*prepare)(pp_config *config, mujoco_shared *shared);

  /* draws the initial state of an episode; qpos and qvel hold the model's own. noise: the value of
   * noise_option */
  void (*draw_state)(const mujoco_shared *shared, double noise, pp_rng *rng, double *qpos,
                     double *qvel);

  /* writes obs_size numbers */
  void (*observe)(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

  /* writes infos and carry of a new episode; null: the task has neither */
  void (*after_reset)(mujoco_transition *transition);

  /* writes reward, termination, infos and carry of a step */
  void (*after_step)(mujoco_transition *transition);

  /* infos, which follow the observation: each is one number, or (ndim 1) one for each tendon */
  const pp_field *infos;
  int32_t num_infos;

  /* the option whose type infos of MUJOCO_ACTION_INFO follow: the weight of the action; 0: none */
  int32_t weight_option;
  /* the option (0: none) that is the reward of a healthy step, and the info that has its type */
  int32_t survive_option;
  int32_t survive_info;
};

/* the callbacks of a definition, whose data is the mujoco_task */
int mujoco_configure(pp_config *config);
void mujoco_release(void *shared);
int mujoco_reset(pp_env *env, pp_reset *reset);
int mujoco_step(pp_env *env, const void *action, pp_result *result);
int mujoco_observe(pp_env *env, void *const *fields, bool is_reset);
int mujoco_check_state(const pp_env *env, const pp_saved *saved);
int mujoco_expose(pp_env *env, void *target);

/* ---------------------------------------------------------------------------------- options -- */

/* the first options of every task, in this order; the task's own follow */
enum {
  MUJOCO_FRAME_STACK = MUJOCO_NUM_SIMULATOR_OPTIONS,
  MUJOCO_POST_CONSTRAINT,
  MUJOCO_SPEED_SWITCHES,
  MUJOCO_NUM_COMMON_OPTIONS,
};

/* clang-format off */
#define MUJOCO_FLOAT(id, value, text)                                                              \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL, .high = HUGE_VAL,          \
   .doc = text}
#define MUJOCO_BOOL(id, value, text) {.name = id, .type = PP_OPT_BOOL, .number = value, .doc = text}
#define MUJOCO_INT(id, value, least, most, text) \
  {.name = id, .type = PP_OPT_INT, .number = value, .low = least, .high = most, .doc = text}

/* a number that only rewards and terminations depend on; it may be drawn anew at each reset */
#define MUJOCO_WEIGHT(id, value, text)                                                             \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL, .high = HUGE_VAL,          \
   .doc = text, .varies = true}

/* the weight of np.sum(np.square(action)): the product's dtype depends on both */
#define MUJOCO_ACTION_WEIGHT(id, value, text)                                                      \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL, .high = HUGE_VAL,          \
   .doc = text, .varies = true, .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON}

/* a healthy reward that is an info, times a bool (v5): the info has its type */
#define MUJOCO_SURVIVE_WEIGHT(value, text)                                                         \
  {.name = "healthy_reward", .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL,              \
   .high = HUGE_VAL, .doc = text, .varies = true,                                                     \
   .keeps = MUJOCO_INFO_DTYPES | 1 << PP_PYTHON,                                                   \
   .refuses = PP_ALL_ACTION_DTYPES & ~(MUJOCO_INFO_DTYPES | 1 << PP_FLOAT64)}
#define MUJOCO_INFO_DTYPES (1 << PP_FLOAT32 | 1 << PP_INT32 | 1 << PP_INT64)

/* the same times a Python float (v4), so that integers become floats */
#define MUJOCO_FLOAT_SURVIVE_WEIGHT(value, text)                                                   \
  {.name = "healthy_reward", .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL,              \
   .high = HUGE_VAL, .doc = text, .varies = true, .keeps = 1 << PP_FLOAT32,                           \
   .refuses = 1 << PP_FLOAT16}

/* one that is no info */
#define MUJOCO_PLAIN_SURVIVE_WEIGHT(value, text) MUJOCO_WEIGHT("healthy_reward", value, text)

/* Noise is drawn from -scale to scale, and NumPy refuses a range that is not finite. The negative of
 * an unsigned scale wraps. */
#define MUJOCO_NOISE_SCALE(value)                                                                  \
  {.name = "reset_noise_scale", .type = PP_OPT_FLOAT, .number = value, .high = DBL_MAX / 2,        \
   .doc = "size of the noise in initial states", .varies = true, .refuses = PP_UNSIGNED_DTYPES}

/* the common options, with a task's defaults of xml_file and frame_skip */
#define MUJOCO_COMMON_OPTIONS(xml, skip)                                                           \
  {.name = "_link", .type = PP_OPT_STRING, .required = true,                                          \
   .doc = "addresses in the MuJoCo library and in the model; set by parallel_pool"},               \
  {.name = "model_digest", .type = PP_OPT_BYTES, .required = true,                                    \
   .doc = "digest of the compiled model; set by parallel_pool"},                                   \
  {.name = "xml_file", .type = PP_OPT_STRING, .text = xml,                                         \
   .doc = "model: a path that begins with '/', '.' or '~', or the name of a Gymnasium model"},     \
  MUJOCO_INT("frame_skip", skip, 1, 100000, "simulation steps of one environment step"),           \
  MUJOCO_INT("frame_stack", 1, 1, 1024, "observations stacked into one, the newest last"),         \
  MUJOCO_BOOL("post_constraint", 1,                                                                \
              "compute contact forces after a step (mj_rnePostConstraint) if the task uses them"), \
  MUJOCO_BOOL("speed_switches", 1,                                                                 \
              "set MuJoCo options that are faster, where they are proven to give the same bits")

/* an info that only steps have */
#define MUJOCO_STEP_INFO(id, type) {.name = id, .is_info = true, .when = PP_ON_STEP, .dtype = type}
/* the same, in the dtype of NumPy's arithmetic with the action */
#define MUJOCO_ACTION_INFO(id)                                                                     \
  {.name = id, .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT64, .follows = PP_FOLLOW_ACTION}
/* an info that steps and resets have */
#define MUJOCO_INFO(id, type) {.name = id, .is_info = true, .when = PP_ALWAYS, .dtype = type}
/* the same, with one number for each tendon */
#define MUJOCO_TENDON_INFO(id) \
  {.name = id, .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64, .ndim = 1}
/* clang-format on */

/* what all definitions share; mujoco_configure describes the fields and the action. A task's file
 * adds what its versions share, and has a table with one row for each version. */
#define MUJOCO_DEFINITION                                                            \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "mujoco",                 \
  .configure = mujoco_configure, .release = mujoco_release, .reset = mujoco_reset,   \
  .step = mujoco_step, .observe = mujoco_observe, .check_state = mujoco_check_state, \
  .expose = mujoco_expose, .action_dtypes = PP_ALL_ACTION_DTYPES

/* members that hold a table and its length */
#define MUJOCO_OPTIONS(table) .options = table, .num_options = sizeof(table) / sizeof(*(table))
#define MUJOCO_INFOS(table) .infos = table, .num_infos = sizeof(table) / sizeof(*(table))

/* the names of an id of Gymnasium's, and of one that only EnvPool has: it runs the v4 code */
#define MUJOCO_GYMNASIUM(title) .id = title, .reference = "gymnasium 1.4.0 " title
#define MUJOCO_ENVPOOL(title) .id = title, .reference = "none: EnvPool's id for the v4 code"

/* ----------------------------------------------------------------------------------- parts -- */

/* Writes the ids of named bodies into shared->ids. Fails if the model lacks one. */
int mujoco_find_bodies(pp_config *config, mujoco_shared *shared, const char *const *names,
                       int32_t count);

/* Sets noise_option, skipped_positions, and the obs_size of mujoco_observe_state. */
void mujoco_prepare_state(mujoco_shared *shared, int32_t noise_option, int32_t skipped_positions);

/* adds noise: uniform from -scale to scale, or normal with this standard deviation */
void mujoco_add_uniform(pp_rng *rng, double scale, double *values, int32_t count);
void mujoco_add_normal(pp_rng *rng, double scale, double *values, int32_t count);

/* draw_state callbacks that add noise: uniform to positions and velocities, or
 * uniform to positions and normal to velocities */
void mujoco_draw_uniform(const mujoco_shared *shared, double noise, pp_rng *rng, double *qpos,
                         double *qvel);
void mujoco_draw_uniform_normal(const mujoco_shared *shared, double noise, pp_rng *rng,
                                double *qpos, double *qvel);

/* Writes the positions after skipped_positions, then the velocities. Returns the end of what it
 * wrote. */
double *mujoco_write_state(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

/* an observe callback that does only this */
void mujoco_observe_state(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

/* Keeps the coordinates of a point in carry for the next mujoco_velocity. */
void mujoco_keep_point(mujoco_transition *transition, const double *point, int32_t axes);

/* Computes the velocity of a point since it was kept, and keeps it again. */
void mujoco_velocity(mujoco_transition *transition, const double *point, int32_t axes,
                     double *velocity);

/* writes the infos x_position, y_position and distance_from_origin */
void mujoco_write_place(const mujoco_shared *shared, const double *xy, double *infos);

/* Refuses a model of a user's that is too small for the task. */
int mujoco_check_sizes(pp_config *config, const mujoco_shared *shared);

/* describes one info, whose type may be that of options */
void mujoco_describe_info(const pp_value *options, mujoco_shared *shared, int32_t index,
                          pp_field *info);

/* writes an info, kept as doubles, into a row in its own dtype */
void mujoco_write_info(void *field, int32_t dtype, const double *numbers, int32_t count);

/* the position of one body relative to another; both by their index in shared->ids */
void mujoco_offset(const mujoco_shared *shared, const mujoco_workspace *now, int body, int origin,
                   double offset[3]);
double mujoco_distance(const mujoco_transition *transition, int body, int origin);

/* weight * np.sum(np.square(action)), in the dtype that NumPy promotes both to */
double mujoco_control_cost(const mujoco_transition *transition, const pp_value *weight);

/* -np.sum(np.square(action)) * weight; unsigned integers wrap. Writes the same as an info, in which
 * an unsigned integer is the negative number with the same bits. */
double mujoco_control_reward(const mujoco_transition *transition, const pp_value *weight,
                             double *info);

/* ----------------------------------------------------------------------------------- numpy -- */

/* np.sum(np.square(values)) of numbers of this dtype (pp_dtype or pp_action_dtype) */
double mujoco_square_sum(const double *values, int32_t count, int32_t dtype);

/* np.sum(np.square(np.clip(values, low, high))) */
double mujoco_clipped_square_sum(const double *values, int32_t count, double low, double high);

/* whether np.isfinite holds for all positions and velocities */
bool mujoco_is_finite(const mujoco_transition *transition);

/* np.linalg.norm of two or three numbers */
double mujoco_norm(const mujoco_shared *shared, const double *values, int32_t count);

/* np.clip of one number; where low > high the result is high */
static inline double mujoco_clip(double value, double low, double high) {
  double raised = value < low ? low : value;
  return raised > high ? high : raised;
}

#endif
