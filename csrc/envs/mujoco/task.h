/* What all MuJoCo tasks have in common: a task describes itself, task.c does the rest. */
#ifndef PP_ENVS_MUJOCO_TASK_H
#define PP_ENVS_MUJOCO_TASK_H

#include <float.h>
#include <math.h>

#include "library.h"
#include "pp_env.h"
#include "workspace.h"

enum {
  MUJOCO_MAX_CARRY = 4,
  MUJOCO_MAX_PARAMETERS = 24,
  MUJOCO_MAX_IDS = 4,
};

typedef struct mujoco_task mujoco_task;

/* what all environments of a pool share; tasks read it, and prepare() writes its last part */
typedef struct mujoco_shared {
  const mujoco_task *task;
  mujoco_library library;
  mujoco_places places;
  mjModel *model;
  mujoco_workspaces workspaces;
  int32_t state_numbers; /* of one such state */
  int32_t info_numbers;  /* of all infos */
  int32_t nq;
  int32_t nv;
  int32_t nu;
  int32_t na;
  int32_t nbody;
  int32_t ntendon;
  int32_t nsite;
  int32_t frame_skip;
  int32_t frame_stack;
  int32_t needs_constraint_forces; /* what mj_rnePostConstraint computes is read after a step */
  int32_t has_whole_cost;          /* by prepare(): the squared action is told unweighted */
  int32_t fuses_dot; /* NumPy's dot of a few numbers uses fused multiply-add on this machine */
  double dt;         /* seconds of one environment step */
  const double *init_qpos;
  const double *init_qvel;
  const double *body_mass;
  double *control_low; /* bounds of the action */
  double *control_high;
  double *numbers; /* where those are kept */

  /* by prepare() */
  int32_t obs_size;
  double parameters[MUJOCO_MAX_PARAMETERS]; /* options as the task wants them, by its own enum */
  int32_t ids[MUJOCO_MAX_IDS];              /* bodies and sites, by its own enum */
} mujoco_shared;

/* One environment between reset or step and the row that is made of it. */
typedef struct mujoco_moment {
  const mujoco_shared *shared;
  const mujoco_workspace *now; /* after mj_forward (reset) or mj_step */
  double *carry; /* what the task remembered when the last reset or step ended; it may write */
  double *infos; /* one after the other in the order of the task's info fields; all 0 */
  const double *action;
  int32_t
      action_dtype; /* that the caller's action had: what follows it is computed as NumPy does */
  double reward;
  int32_t terminated;
} mujoco_moment;

struct mujoco_task {
  /* the least positions, velocities and sites of a model that it can run, for a task may read them
   * without asking; a model with fewer is refused */
  int32_t least_nq;
  int32_t least_nv;
  int32_t least_nsite;

  /* Reads options, fills in what the shared part has for it, and tells the sizes;
   * needs_constraint_forces starts as 0. */
  int (*prepare)(pp_config *config, mujoco_shared *shared);

  /* draws the state of a new episode; qpos and qvel start as the model has them */
  void (*draw)(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel);

  /* writes obs_size numbers */
  void (*observe)(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

  /* infos and carry of a new episode; null: there are none */
  void (*begin)(mujoco_moment *moment);

  /* reward, termination, infos and carry of a step */
  void (*finish)(mujoco_moment *moment);

  /* infos, after the observation: each one number, or (ndim 1) one for each tendon */
  const pp_field *infos;
  int32_t num_infos;
};

/* the id of a body or site; fails with a sentence when the model has none of that name */
int mujoco_find(pp_config *config, const mujoco_shared *shared, int type, const char *name,
                int32_t *id);

/* the callbacks of a definition; configure is called with the task */
int mujoco_configure(pp_config *config, const mujoco_task *task);
void mujoco_release(void *shared);
int mujoco_reset(pp_env *env, const pp_reset *reset, pp_result *result);
int mujoco_step(pp_env *env, const void *action, pp_result *result);
int mujoco_observe(pp_env *env, void *const *fields, int32_t is_reset);
int mujoco_expose(pp_env *env, void *target);

/* ---------------------------------------------------------------------------------- options -- */

/* every task's options begin with these, and its own follow */
enum {
  MUJOCO_LINK,
  MUJOCO_DIGEST,
  MUJOCO_XML_FILE,
  MUJOCO_FRAME_SKIP,
  MUJOCO_FRAME_STACK,
  MUJOCO_POST_CONSTRAINT,
  MUJOCO_SPEED_SWITCHES,
  MUJOCO_OWN, /* index of a task's first own option */
};

/* clang-format off */
#define MUJOCO_FLOAT(id, value, text) \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .low = -HUGE_VAL, .high = HUGE_VAL, .doc = text}
#define MUJOCO_BOOL(id, value, text) {.name = id, .type = PP_OPT_BOOL, .number = value, .doc = text}
#define MUJOCO_INT(id, value, least, most, text) \
  {.name = id, .type = PP_OPT_INT, .number = value, .low = least, .high = most, .doc = text}

/* noise is drawn between -scale and scale, and NumPy wants a finite distance between them */
#define MUJOCO_NOISE_SCALE(value)                                                                  \
  {.name = "reset_noise_scale", .type = PP_OPT_FLOAT, .number = value, .high = DBL_MAX / 2,        \
   .doc = "size of the noise in initial states"}

/* the common ones of a task whose default model and frame skip are these */
#define MUJOCO_COMMON_OPTIONS(xml, skip)                                                           \
  {.name = "_link", .type = PP_OPT_STRING, .required = 1,                                          \
   .doc = "addresses in the MuJoCo library and in the model; parallel_pool fills it in"},          \
  {.name = "model_digest", .type = PP_OPT_BYTES, .required = 1,                                    \
   .doc = "digest of the compiled model; parallel_pool fills it in"},                              \
  {.name = "xml_file", .type = PP_OPT_STRING, .text = xml,                                         \
   .doc = "model: a path that begins with '/', '.' or '~', else a file of Gymnasium's"},           \
  MUJOCO_INT("frame_skip", skip, 1, 100000, "simulation steps of one environment step"),           \
  MUJOCO_INT("frame_stack", 1, 1, 1024, "observations stacked into one, the newest last"),         \
  MUJOCO_BOOL("post_constraint", 1,                                                                \
              "compute contact forces after a step (mj_rnePostConstraint) where they are read"),   \
  MUJOCO_BOOL("speed_switches", 1,                                                                 \
              "switch MuJoCo's options to quicker ones that give the same bits, where that is proven")

/* an info of steps, and one of steps and resets */
#define MUJOCO_STEP_INFO(id, type) {.name = id, .is_info = 1, .when = PP_ON_STEP, .dtype = type}
/* one of the action's own dtype */
#define MUJOCO_FOLLOWING_INFO(id)                                                                  \
  {.name = id, .is_info = 1, .when = PP_ON_STEP, .dtype = PP_FLOAT64, .follows = PP_FOLLOW_FLOAT}
#define MUJOCO_INFO(id, type) {.name = id, .is_info = 1, .when = PP_ALWAYS, .dtype = type}
/* one of both that has a number for each tendon */
#define MUJOCO_TENDON_INFO(id) \
  {.name = id, .is_info = 1, .when = PP_ALWAYS, .dtype = PP_FLOAT64, .ndim = 1}
/* clang-format on */

/* what all definitions have in common; the fields are described by mujoco_configure */
#define MUJOCO_DEFINITION                                                                         \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "mujoco", .release = mujoco_release,   \
  .reset = mujoco_reset, .step = mujoco_step, .observe = mujoco_observe, .expose = mujoco_expose, \
  .action_dtypes = PP_ALL_ACTION_DTYPES

/* a table of options, a table of infos */
#define MUJOCO_OPTIONS(table) .options = table, .num_options = sizeof(table) / sizeof(*(table))
#define MUJOCO_INFOS(table) .infos = table, .num_infos = sizeof(table) / sizeof(*(table))

/* what EnvPool's further ids equal, which are the v4 code under another name */
#define MUJOCO_NO_REFERENCE "none: EnvPool's id for the v4 code"

/* ----------------------------------------------------------------------------------- parts -- */

/* what several tasks do alike */

/* adds noise to initial values: uniform from -scale to scale, or normal of that deviation */
void mujoco_add_uniform(pp_rng *rng, double scale, double *values, int32_t count);
void mujoco_add_normal(pp_rng *rng, double scale, double *values, int32_t count);

/* writes positions but for the first few, then velocities; returns where the next number goes */
double *mujoco_observe_state(const mujoco_shared *shared, const mujoco_workspace *now,
                             int32_t skipped, double *obs);

/* weight * np.sum(np.square(action)), in the action's dtype; integers meet the weight in float64 */
double mujoco_control_cost(const mujoco_moment *moment, double weight);

/* -np.sum(np.square(action)) * weight; unsigned integers wrap */
double mujoco_control_reward(const mujoco_moment *moment, double weight);

/* the same without a weight as an info, which is an integer after integers: unsigned ones as the
 * negative number that has their bits */
double mujoco_whole_control_info(const mujoco_moment *moment);

/* ----------------------------------------------------------------------------------- numpy -- */

/* np.sum of float64 (float32): pairwise beyond 128 numbers, eight sums side by side below */
double mujoco_sum(const double *values, int32_t count);
float mujoco_sum_float(const float *values, int32_t count);

/* np.sum(np.square(values)) of numbers that have this dtype (pp_dtype, pp_action_dtype) */
double mujoco_square_sum(const double *values, int32_t count, int32_t dtype);

/* np.sum(np.square(np.clip(values, low, high))) */
double mujoco_clipped_square_sum(const double *values, int32_t count, double low, double high);

/* np.isfinite of all positions and velocities */
int mujoco_is_finite(const mujoco_moment *moment);

/* np.linalg.norm of two or three numbers */
double mujoco_norm(const mujoco_shared *shared, const double *values, int32_t count);

/* np.clip of one number, which `high` has the last word on where low > high */
static inline double mujoco_clip(double value, double low, double high) {
  double raised = value < low ? low : value;
  return raised > high ? high : raised;
}

#endif
