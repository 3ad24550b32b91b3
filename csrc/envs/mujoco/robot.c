/* Robots: the callbacks of environments of a user's own model, which the user's library calls.
 *
 * Its definition, "_robot", is for that only: pp_mujoco.h forwards a user's definition to it. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_check.h"
#include "model_values.h"
#include "pp_robot.h"
#include "simulator.h"

_Static_assert(MUJOCO_LINK == (int)PP_ROBOT_LINK, "the options of pp_robot.h");
_Static_assert(MUJOCO_FRAME_SKIP == (int)PP_ROBOT_FRAME_SKIP, "the options of pp_robot.h");

/* What all environments of a pool share; only read once the pool is made, except for workspaces and
 * bits of values. */
typedef struct robot_shared {
  pp_robot_shared head;
  const pp_robot *robot; /* the user's */
  mujoco_simulator sim;
  mujoco_model_values values; /* if robot->vary */
  int32_t num_fields;
  size_t row_at[PP_MAX_FIELDS]; /* in the rows of a state */
  size_t row_size[PP_MAX_FIELDS];
  size_t rows_size;
} robot_shared;

/* An environment's state: this head, two states of the simulation, the own state, and the rows of
 * all fields, which were written after the last reset or step. The first of the two states is that
 * before the last simulation, with its inputs: expose simulates again from it. The second is the
 * present one. */
typedef struct robot_head {
  int32_t has_stepped; /* 1: since the episode began */
  int32_t unused;
} robot_head;

/* An environment's cache: this head and the model's values. It is zeroed whenever a state is
 * restored. */
typedef struct robot_cache {
  int64_t is_filled;
} robot_cache;

static size_t round_up(size_t size) {
  return (size + 7) / 8 * 8;
}

static double *state_before(const pp_env *env) {
  return (double *)(void *)((char *)env->state + sizeof(robot_head));
}

static double *state_now(const pp_env *env) {
  const robot_shared *shared = env->shared;
  return state_before(env) + shared->sim.state_numbers;
}

static void *state_own(const pp_env *env) {
  const robot_shared *shared = env->shared;
  return state_now(env) + shared->sim.state_numbers;
}

static char *state_rows(const pp_env *env) {
  const robot_shared *shared = env->shared;
  return (char *)state_own(env) + round_up(shared->robot->own_size);
}

/* ------------------------------------------------------------------------------- configure -- */

/* The versions of pp_robot.h and of MuJoCo's headers must be those of this engine and of the
 * library: all else of robot and link is read on this condition. */
static int check_versions(const pp_config *config, const pp_robot *robot) {
  int64_t version = 0;
  if (robot->abi != PP_ROBOT_ABI || robot->size != sizeof(pp_robot)) {
    return pp_fail(
        config->error, PP_ERR_ABI,
        "the robot has ABI %u and %u bytes, this engine ABI %d and %zu bytes: compile it "
        "against this version's pp_robot.h",
        robot->abi, robot->size, PP_ROBOT_ABI, sizeof(pp_robot));
  }
  int status =
      mujoco_link_number(&config->options[MUJOCO_LINK], "version", &version, config->error);
  if (status < 0 || version == robot->layout->version) return status;
  return pp_fail(config->error, PP_ERR_ABI,
                 "the robot was compiled with the headers of MuJoCo %d, and MuJoCo %d is imported: "
                 "load its source again",
                 robot->layout->version, (int)version);
}

/* Gives actuators without a range the range from -1 to 1. */
static int limit_controls(pp_config *config, mujoco_simulator *sim) {
  int64_t address = 0;
  int status = mujoco_link_number(&config->options[MUJOCO_LINK], "actuator_ctrllimited", &address,
                                  config->error);
  const uint8_t *is_limited = (const uint8_t *)(uintptr_t)address;
  for (int32_t i = 0; status >= 0 && i < sim->nu; i++) {
    if (is_limited[i]) continue;
    sim->control_low[i] = -1;
    sim->control_high[i] = 1;
  }
  return status;
}

/* describes the action, unless the user's definition does */
static int describe_action(pp_config *config, robot_shared *shared) {
  if (config->action.name) {
    if (shared->robot->act) return PP_OK;
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the definition has an action of its own, and the robot no act: write one");
  }
  if (!shared->sim.nu) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the model has no actuators: give it some, or the definition an action");
  }
  config->action = mujoco_simulator_action(&shared->sim);
  return limit_controls(config, &shared->sim);
}

static size_t dtype_size(int32_t dtype) {
  switch (dtype) {
    case PP_FLOAT64:
    case PP_INT64: return 8;
    case PP_FLOAT32:
    case PP_INT32: return 4;
    default: return 1;
  }
}

static void describe_rows(const pp_config *config, robot_shared *shared) {
  shared->num_fields = config->num_fields;
  for (int32_t i = 0; i < config->num_fields; i++) {
    const pp_field *field = &config->fields[i];
    size_t size = dtype_size(field->dtype);
    for (int32_t axis = 0; axis < field->ndim; axis++) size *= (size_t)field->shape[axis];
    shared->row_at[i] = shared->rows_size;
    shared->row_size[i] = size;
    shared->rows_size += round_up(size);
  }
}

static int prepare(pp_config *config, robot_shared *shared) {
  const pp_value *options = config->options;
  const pp_robot *robot = shared->robot;
  int status = check_versions(config, robot);

  if (config->num_players > 1 || config->def->step_many) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "a robot has one player and no step_many: leave both out");
  }
  shared->sim.workspaces.owns_models = robot->vary != NULL;
  if (status >= 0) status = mujoco_simulator_init(&shared->sim, config);
  if (status < 0) return status;
  status = robot->layout->check_names(shared->sim.model, options[MUJOCO_XML_FILE].s, config->error);
  if (status >= 0) status = describe_action(config, shared);
  if (status >= 0 && robot->vary) {
    config->cache_size = sizeof(robot_cache);
    status = mujoco_model_values_init(&shared->values, &options[MUJOCO_LINK], robot->layout,
                                      shared->sim.model, config->error);
    config->cache_size += mujoco_model_values_size(&shared->values);
  }
  if (status < 0) return status;
  describe_rows(config, shared);
  config->state_size = sizeof(robot_head) + sizeof(double) * 2 * (size_t)shared->sim.state_numbers +
                       round_up(robot->own_size) + shared->rows_size;
  return PP_OK;
}

static void release(void *argument) {
  robot_shared *shared = argument;
  mujoco_simulator_fini(&shared->sim);
  mujoco_model_values_fini(&shared->values);
  free(shared);
}

extern const pp_env_def pp_env_robot;

static int configure(pp_config *config) {
  // aligned for the slots of workspaces, as in task.c
  robot_shared *shared = aligned_alloc(_Alignof(robot_shared), sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  memset(shared, 0, sizeof(*shared));
  shared->head.engine = &pp_env_robot;
  shared->robot = config->def->data;
  int status = prepare(config, shared);
  if (status < 0) {
    release(shared);
    return status;
  }
  config->shared = shared;
  return PP_OK;
}

/* -------------------------------------------------------------------------- reset and step -- */

/* one simulation: in which workspace, and of which environment */
typedef struct simulation {
  mujoco_workspace *in;
  robot_shared *shared;
  pp_robot_sim sim; /* what the user's callbacks get */
  pp_result *result;
  void *target; /* of expose */
  int status;   /* of the user's callbacks */
} simulation;

static void begin(simulation *it) {
  it->sim.model = it->in->model;
  it->sim.data = it->in->data;
  it->sim.own = state_own(it->sim.env);
}

/* Gives the workspace's model the environment's values. Those that are not kept, as after the
 * restoring of a snapshot, are written again by the user's vary. */
static int set_values(simulation *it, bool is_new) {
  robot_shared *shared = it->shared;
  robot_cache *cache = it->sim.env->cache;

  if (!shared->robot->vary) return PP_OK;
  if (!is_new && cache->is_filled) {
    mujoco_model_values_apply(&shared->values, cache + 1, it->in->model);
    return PP_OK;
  }
  mujoco_model_values_clear(&shared->values, it->in->model);
  int status = shared->robot->vary(&it->sim, it->in->model);
  if (status < 0) return status;
  shared->sim.library.mj_setConst(it->in->model, it->in->data);
  mujoco_model_values_keep(&shared->values, it->in->model, cache + 1);
  cache->is_filled = 1;
  return PP_OK;
}

/* lets the user write all rows, then keeps the state */
static int show(simulation *it, bool is_reset) {
  const robot_shared *shared = it->shared;
  const pp_env *env = it->sim.env;
  void *rows[PP_MAX_FIELDS];
  int status = PP_OK;

  for (int32_t i = 0; i < shared->num_fields; i++) rows[i] = state_rows(env) + shared->row_at[i];
  if (shared->robot->show) status = shared->robot->show(&it->sim, rows, is_reset);
  mujoco_get_state(&shared->sim.workspaces, it->in, state_now(env));
  return status;
}

static int simulate_reset(simulation *it) {
  const robot_shared *shared = it->shared;
  const mujoco_library *library = &shared->sim.library;
  const pp_robot *robot = shared->robot;
  int status = PP_OK;

  library->mj_resetData(it->in->model, it->in->data);
  if (robot->draw) status = robot->draw(&it->sim);
  if (status >= 0) status = set_values(it, true);
  if (status < 0) return status;
  library->mj_resetData(it->in->model, it->in->data);
  if (robot->start) status = robot->start(&it->sim);
  if (status < 0) return status;
  // kept for expose, since mj_forward changes the solver's warm start
  mujoco_get_state(&shared->sim.workspaces, it->in, state_before(it->sim.env));
  library->mj_forward(it->in->model, it->in->data);
  return show(it, true);
}

/* advances by frame_skip steps, or to the first in which the simulation diverges */
static void advance(simulation *it) {
  const mujoco_simulator *sim = &it->shared->sim;
  bool (*take_divergence)(mjData *data) = it->shared->robot->layout->take_divergence;

  take_divergence(it->in->data);
  for (int32_t i = 0; i < sim->frame_skip && !it->sim.diverged; i++) {
    sim->library.mj_step(it->in->model, it->in->data);
    it->sim.diverged = take_divergence(it->in->data);
  }
}

static int act(simulation *it) {
  const mujoco_simulator *sim = &it->shared->sim;
  const float *action = it->sim.action;

  if (it->shared->robot->act) return it->shared->robot->act(&it->sim);
  for (int32_t i = 0; i < sim->nu; i++) it->in->ctrl[i] = action[i];
  return PP_OK;
}

static int simulate_step(simulation *it) {
  const robot_shared *shared = it->shared;
  const pp_env *env = it->sim.env;
  int status = set_values(it, false);

  if (status < 0) return status;
  mujoco_set_state(&shared->sim.workspaces, it->in, state_now(env));
  status = act(it);
  if (status < 0) return status;
  mujoco_get_state(&shared->sim.workspaces, it->in, state_before(env));
  advance(it);
  it->result->terminated = it->sim.diverged;
  if (shared->robot->judge) status = shared->robot->judge(&it->sim, it->result);
  it->result->terminated |= it->sim.diverged;
  return status < 0 ? status : show(it, false);
}

/* computes the result of an environment's last reset or step again, and copies it to the target */
static int simulate_again(simulation *it) {
  const robot_shared *shared = it->shared;
  const mujoco_library *library = &shared->sim.library;
  const robot_head *head = it->sim.env->state;
  int status = set_values(it, false);

  if (status < 0) return status;
  library->mj_resetData(it->in->model, it->in->data);
  mujoco_set_state(&shared->sim.workspaces, it->in, state_before(it->sim.env));
  if (head->has_stepped) {
    advance(it);
  } else {
    library->mj_forward(it->in->model, it->in->data);
  }
  library->mj_copyData(it->target, it->in->model, it->in->data);
  return PP_OK;
}

/* the works of mujoco_simulator_run */
static void work_reset(void *argument) {
  simulation *it = argument;
  begin(it);
  it->status = simulate_reset(it);
}

static void work_step(void *argument) {
  simulation *it = argument;
  begin(it);
  it->status = simulate_step(it);
}

static void work_again(void *argument) {
  simulation *it = argument;
  begin(it);
  it->status = simulate_again(it);
}

/* Runs work in a workspace. One in which a callback has failed is discarded: its model may hold
 * values that were not noted. */
static int run(simulation *it, void (*work)(void *)) {
  mujoco_simulator *sim = &it->shared->sim;
  int status = mujoco_simulator_run(sim, work, it, it->sim.env->error);
  if (status < 0) return status;
  if (it->status < 0) {
    mujoco_discard(&sim->workspaces, it->in);
  } else {
    mujoco_put_back(&sim->workspaces, it->in);
  }
  return it->status;
}

static int reset(pp_env *env, pp_reset *how) {
  simulation it = {.shared = env->shared, .sim = {.env = env}};
  (void)how;
  ((robot_head *)env->state)->has_stepped = 0;
  return run(&it, work_reset);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  simulation it = {.shared = env->shared, .sim = {.env = env, .action = action}, .result = result};
  ((robot_head *)env->state)->has_stepped = 1;
  return run(&it, work_step);
}

static int observe(pp_env *env, void *const *fields, bool is_reset) {
  const robot_shared *shared = env->shared;
  (void)is_reset;
  for (int32_t i = 0; i < shared->num_fields; i++) {
    if (fields[i]) memcpy(fields[i], state_rows(env) + shared->row_at[i], shared->row_size[i]);
  }
  return PP_OK;
}

static int expose(pp_env *env, void *target) {
  simulation it = {.shared = env->shared, .sim = {.env = env}, .target = target};
  return run(&it, work_again);
}

/* As in task.c, all numbers but cursors are only calculated with. */
static int check_state(const pp_env *env, const pp_saved *saved) {
  const robot_shared *shared = env->shared;
  const robot_head *head = saved->state;
  const double *before = (const double *)(const void *)(head + 1);
  const double *now = before + shared->sim.state_numbers;
  bool is_possible = pp_state_check_range(env, "has_stepped", head->has_stepped, 0, 1) &&
                     mujoco_simulator_check_cursors(&shared->sim, before, env->error) &&
                     mujoco_simulator_check_cursors(&shared->sim, now, env->error);
  if (!is_possible) return PP_ERR_ARGUMENT;
  if (!shared->robot->check_own) return PP_OK;
  return shared->robot->check_own(env, now + shared->sim.state_numbers);
}

const pp_env_def pp_env_robot = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "_robot",
    .family = "robot",
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
    .expose = expose,
};
