/* What all tasks of Gymnasium-Robotics share: the struct that describes a task, and what it calls.
 *
 * To read a task: its robotics_task at the end of its file lists the callbacks, and the definitions
 * follow. task.c implements the callbacks of the engine with them. As with Gymnasium's MuJoCo tasks
 * an environment's state is plain numbers, and threads simulate in workspaces. What a step reads of
 * an mjData besides the state of the simulation, such as where a body was at the end of the step
 * before, a task keeps in its own numbers. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_TASK_H
#define PP_ENVS_MUJOCO_ROBOTICS_TASK_H

#include <math.h>
#include <string.h>

#include "../task.h"
#include "base/fail.h"
#include "base/numpy_loops.h"
#include "base/random.h"

enum {
  ROBOTICS_MOST_IDS = 64,
  ROBOTICS_MOST_ATTEMPTS = 100000, /* of draws at a reset or for a new goal */
  ROBOTICS_MOST_BEGINS = 1000,     /* at a reset; only a forged state needs so many */
};

typedef struct robotics_task robotics_task;

/* the beginning of a definition's data: tasks add in what their definitions differ */
typedef struct robotics_kind {
  const robotics_task *task;
} robotics_kind;

/* fields of one mjData that a workspace lacks */
typedef struct robotics_data {
  double *time;
  double *mocap_pos;  /* nmocap x 3 */
  double *mocap_quat; /* nmocap x 4 */
  double *qpos;
  double *site_xpos;       /* nsite x 3 */
  const double *xquat;     /* nbody x 4 */
  const double *site_xmat; /* nsite x 9 */
  const double *sensordata;
} robotics_data;

/* Fields of one mjModel. Tasks with an apply callback write to that of the workspace. */
typedef struct robotics_values {
  double *body_pos;  /* nbody x 3 */
  double *body_quat; /* nbody x 4 */
  double *site_pos;  /* nsite x 3 */
} robotics_values;

/* What all environments of a pool share. Only read once the pool is made, except for workspaces. */
typedef struct robotics_shared {
  mujoco_shared mujoco; /* the simulator, the options, and what Gymnasium's own tasks need */
  const robotics_kind *kind;
  const pp_value *link;
  pp_numpy_loops numpy;
  int64_t data_places[sizeof(robotics_data) / sizeof(void *)];
  int64_t value_places[sizeof(robotics_values) / sizeof(void *)];
  double *control_ranges; /* nu x 2 */
  double *setup;          /* numbers that the family has computed in Python; the task says which */
  int64_t flags;          /* the offset in mjModel of its disableflags */
  int32_t no_sensors;  /* the flag with which MuJoCo computes no sensors; 0: the model has none */
  bool takes_floats;   /* the action's own dtype is float32; others come as doubles */
  int32_t row_numbers; /* doubles in one row of all observations */
  int32_t num_fields;  /* observations */
  int32_t field_at[PP_MAX_FIELDS]; /* in the row */
  int32_t field_size[PP_MAX_FIELDS];

  /* The task's prepare() writes the rest, and adds its observations with robotics_describe. */
  bool is_dense;         /* the reward */
  int32_t num_own;       /* numbers that a task keeps from one reset or step to the next */
  int32_t num_actions;   /* numbers of an action */
  const pp_field *infos; /* each is one number, or a vector of flags */
  int32_t num_infos;
  int32_t info_numbers;           /* doubles in all infos together */
  int32_t target;                 /* the site that shows the goal in pictures; -1: none */
  int32_t target_pose;            /* its place in qpos instead; -1: none */
  int32_t ids[ROBOTICS_MOST_IDS]; /* by an enum in its file */
  void *extra;                    /* what else it has made; its release() frees it */
} robotics_shared;

/* one environment in one callback */
typedef struct robotics_sim {
  mujoco_workspace *in;
  const robotics_shared *shared;
  const robotics_kind *kind;
  const int32_t *ids;
  const pp_value *options; /* of the environment */
  pp_env *env;
  robotics_data data;
  robotics_values values;
  const double *state;           /* of the simulation, before the reset or step */
  const pp_value *reset_options; /* null: a step, or none were given */
  double *own;
  double *infos;
  const double *action; /* of the last step */
  int32_t action_dtype; /* of the caller's action: NumPy computes in it */
  double reward;
  bool terminated;
  int status;
} robotics_sim;

struct robotics_task {
  int (*prepare)(pp_config *config, robotics_shared *shared);

  /* frees what prepare has made; null: nothing */
  void (*release)(robotics_shared *shared);

  /* Restores the state from which begin goes on; null: that of mj_resetData. */
  void (*resume)(robotics_sim *sim);

  /* Writes the initial state of an episode; mj_forward follows. */
  int (*begin)(robotics_sim *sim);

  /* Writes into the model what begin has drawn, before each simulation; null: all environments have
   * the same model. */
  void (*apply)(robotics_sim *sim);

  /* after mj_forward: whether the episode may begin like this. If not, begin is called again, in
   * the same mjData. null: always */
  bool (*can_begin)(const robotics_sim *sim);

  /* draws the goal and writes infos and own numbers, after mj_forward; null: nothing */
  void (*after_begin)(robotics_sim *sim);

  /* Writes the controls, and no own numbers. Of mjData it may read only the state of the
   * simulation: derived numbers are those of another environment. */
  void (*act)(robotics_sim *sim);

  /* simulates one environment step */
  void (*advance)(robotics_sim *sim);

  /* writes a row of all observations; returns its end */
  double *(*observe)(robotics_sim *sim, double *row);

  /* Writes reward, termination, infos and own numbers of a step, after observe. It may draw the
   * next goal. Returns a status. */
  int (*judge)(robotics_sim *sim);
};

/* the callbacks of a definition, whose data begins with a robotics_kind */
int robotics_configure(pp_config *config);
void robotics_release(void *shared);
int robotics_reset(pp_env *env, pp_reset *reset);
int robotics_step(pp_env *env, const void *action, pp_result *result);
int robotics_observe(pp_env *env, void *const *fields, bool is_reset);
int robotics_check_state(const pp_env *env, const pp_saved *saved);
int robotics_expose(pp_env *env, void *target);

/* ------------------------------------------------------------------------------ definitions -- */

/* clang-format off */
/* the first options of every task, in this order; the task's own follow */
enum { ROBOTICS_NUM_COMMON_OPTIONS = MUJOCO_FRAME_STACK + 1 };

#define ROBOTICS_COMMON_OPTIONS(xml, skip)                                                         \
  {.name = "_link", .type = PP_OPT_STRING, .required = true,                                       \
   .doc = "addresses in the MuJoCo library and in the model; set by parallel_pool"},               \
  {.name = "model_digest", .type = PP_OPT_BYTES, .required = true,                                 \
   .doc = "digest of the compiled model; set by parallel_pool"},                                   \
  {.name = "xml_file", .type = PP_OPT_STRING, .text = xml,                                         \
   .doc = "model: a path that begins with '/', '.' or '~', or one of Gymnasium-Robotics' own"},    \
  MUJOCO_INT("frame_skip", skip, 1, 100000, "simulation steps of one environment step"),           \
  MUJOCO_INT("frame_stack", 1, 1, 1024, "observations stacked into one, the newest last")

#define ROBOTICS_REWARD_TYPE(value)                                                                \
  {.name = "reward_type", .type = PP_OPT_STRING, .text = value, .doc = "\"sparse\" or \"dense\""}

#define ROBOTICS_DEFINITION                                                                        \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "robotics",                             \
  .configure = robotics_configure, .release = robotics_release, .reset = robotics_reset,           \
  .step = robotics_step, .observe = robotics_observe, .check_state = robotics_check_state,         \
  .expose = robotics_expose
/* clang-format on */

/* the names of an id of Gymnasium-Robotics', and of one that only EnvPool runs with MuJoCo's own
 * bindings: it runs the newest code */
#define ROBOTICS_ID(title) .id = title, .reference = "gymnasium-robotics 1.4.2 " title
#define ROBOTICS_ENVPOOL(title) .id = title, .reference = "none: EnvPool's id for the newest code"

/* ----------------------------------------------------------------------------------- prepare -- */

/* Finds names as "body:torso" (mujoco.find_names in Python) and writes their numbers into ids. */
int robotics_find(pp_config *config, robotics_shared *shared, const char *const *names,
                  int32_t count);

/* adds an observation, a vector */
void robotics_describe(pp_config *config, robotics_shared *shared, const char *name, int32_t count);

/* adds those of a goal environment, in the order in which a row has them: observation,
 * achieved_goal, desired_goal */
void robotics_describe_goals(pp_config *config, robotics_shared *shared, int32_t observation,
                             int32_t goal);

/* describes an action of float32 numbers from -1 to 1 */
void robotics_describe_action(pp_config *config, robotics_shared *shared, int32_t count);

/* Reads the option reward_type. */
int robotics_read_reward_type(pp_config *config, int32_t option, bool *is_dense);

/* -------------------------------------------------------------------------------- simulation -- */

/* copies numbers into a row; returns their end */
static inline double *robotics_copy(double *row, const double *numbers, int32_t count) {
  memcpy(row, numbers, sizeof(double) * (size_t)count);
  return row + count;
}

/* an advance callback that does only this: frame_skip calls of mj_step, of which the last computes
 * what sensors read */
void robotics_advance(robotics_sim *sim);

void robotics_forward(robotics_sim *sim);

/* sets the simulation's state, of state_numbers doubles */
void robotics_set_state(robotics_sim *sim, const double *numbers);

/* writes the difference of two vectors into a row; returns its end */
static inline double *robotics_subtract(double *row, const double *left, const double *right,
                                        int32_t count) {
  for (int32_t i = 0; i < count; i++) row[i] = left[i] - right[i];
  return row + count;
}

/* np.linalg.norm of a vector */
static inline double robotics_norm(const robotics_sim *sim, const double *vector, int32_t count) {
  return sqrt(pp_numpy_dot(&sim->shared->numpy, vector, vector, count));
}

static inline const double *robotics_site(const robotics_sim *sim, int32_t id) {
  return sim->in->site_xpos + 3 * sim->ids[id];
}

static inline const double *robotics_body(const robotics_sim *sim, int32_t id) {
  return sim->in->xpos + 3 * sim->ids[id];
}

/* Write jacobian @ qvel of a site: its linear velocity, or its angular one. */
void robotics_site_velocities(const robotics_sim *sim, int32_t site, double linear[3],
                              double angular[3]);

/* np.linalg.norm(left - right, axis=-1), which does not call BLAS */
double robotics_distance(const double *left, const double *right, int32_t count);

#endif
