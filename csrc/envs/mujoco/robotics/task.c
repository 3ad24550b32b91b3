/* The engine's callbacks for all tasks of Gymnasium-Robotics. */
#include "task.h"

#include <stddef.h>
#include <stdlib.h>

#include "../fields.h"
#include "base/pairwise_sum.h"
#include "base/state_check.h"

/* An environment's state is plain numbers: this head, then two moments, the last action, infos, and
 * the stacked rows of all observations, the oldest first. A moment is a state of the simulation and
 * the task's own numbers. One of them is the current one. The other is that before the last step,
 * or before the reset's mj_forward: expose simulates again from it. */
typedef struct state_head {
  int32_t has_stepped; /* 1: since the episode began */
  int32_t current;     /* which of the two moments is the current one: 0 or 1 */
} state_head;

static const char *const data_names[] = {
    MUJOCO_NAMED(robotics_data, time),       MUJOCO_NAMED(robotics_data, mocap_pos),
    MUJOCO_NAMED(robotics_data, mocap_quat), MUJOCO_NAMED(robotics_data, qpos),
    MUJOCO_NAMED(robotics_data, site_xpos),  MUJOCO_NAMED(robotics_data, xquat),
    MUJOCO_NAMED(robotics_data, site_xmat),  MUJOCO_NAMED(robotics_data, sensordata),
};

static const char *const value_names[] = {
    MUJOCO_NAMED(robotics_values, body_pos),
    MUJOCO_NAMED(robotics_values, body_quat),
    MUJOCO_NAMED(robotics_values, site_pos),
};

enum {
  NUM_DATA = sizeof(data_names) / sizeof(*data_names),
  NUM_VALUES = sizeof(value_names) / sizeof(*value_names)
};

static size_t moment_numbers(const robotics_shared *shared) {
  return (size_t)(shared->mujoco.sim.state_numbers + shared->num_own);
}

static double *numbers_of(const pp_env *env) {
  return (double *)(void *)((char *)env->state + sizeof(state_head));
}

/* a moment; which: 0 or 1 */
static double *moment_of(const pp_env *env, int32_t which) {
  return numbers_of(env) + moment_numbers(env->shared) * (size_t)which;
}

static double *moment_now(const pp_env *env) {
  return moment_of(env, ((const state_head *)env->state)->current);
}

static double *moment_before(const pp_env *env) {
  return moment_of(env, !((const state_head *)env->state)->current);
}

static double *action_of(const pp_env *env) {
  return moment_of(env, 2);
}

static int32_t info_size(const pp_field *info) {
  return info->ndim ? (int32_t)info->shape[0] : 1;
}

static double *infos_of(const pp_env *env) {
  return action_of(env) + ((const robotics_shared *)env->shared)->num_actions;
}

static double *rows_of(const pp_env *env) {
  return infos_of(env) + ((const robotics_shared *)env->shared)->info_numbers;
}

static size_t state_doubles(const robotics_shared *shared) {
  return 2 * moment_numbers(shared) + (size_t)(shared->num_actions + shared->info_numbers) +
         (size_t)shared->row_numbers * (size_t)shared->mujoco.frame_stack;
}

/* ------------------------------------------------------------------------------- configure -- */

int robotics_find(pp_config *config, robotics_shared *shared, const char *const *names,
                  int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    int64_t number = 0;
    if (mujoco_link_number(shared->link, names[i], &number, config->error) < 0) {
      return pp_fail(config->error, PP_ERR_ARGUMENT, "the model has no %s", names[i]);
    }
    shared->ids[i] = (int32_t)number;
  }
  return PP_OK;
}

void robotics_describe(pp_config *config, robotics_shared *shared, const char *name,
                       int32_t count) {
  int32_t i = shared->num_fields++, stack = shared->mujoco.frame_stack;
  pp_field *field = &config->fields[i];

  *field = (pp_field){.name = name, .dtype = PP_FLOAT64, .low = -HUGE_VAL, .high = HUGE_VAL};
  if (stack > 1) field->shape[field->ndim++] = stack;
  field->shape[field->ndim++] = count;
  shared->field_at[i] = shared->row_numbers;
  shared->field_size[i] = count;
  shared->row_numbers += count;
}

void robotics_describe_goals(pp_config *config, robotics_shared *shared, int32_t observation,
                             int32_t goal) {
  robotics_describe(config, shared, "observation", observation);
  robotics_describe(config, shared, "achieved_goal", goal);
  robotics_describe(config, shared, "desired_goal", goal);
}

void robotics_describe_action(pp_config *config, robotics_shared *shared, int32_t count) {
  shared->num_actions = count;
  config->action = (pp_field){
      .name = "action", .dtype = PP_FLOAT32, .ndim = 1, .shape = {count}, .low = -1, .high = 1};
}

int robotics_read_reward_type(pp_config *config, int32_t option, bool *is_dense) {
  const char *given = config->options[option].s;
  *is_dense = !strcmp(given, "dense");
  if (*is_dense || !strcmp(given, "sparse")) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "reward_type=\"%.100s\": choose \"sparse\" or \"dense\"", given);
}

static int read_numpy(pp_config *config, robotics_shared *shared) {
  int64_t address = 0;
  int status = mujoco_link_number(shared->link, "numpy_loops", &address, config->error);
  if (status < 0) return status;
  pp_value loops = {.s = (const char *)(uintptr_t)address, .size = sizeof(shared->numpy)};
  pp_numpy_read(&shared->numpy, &loops);
  return PP_OK;
}

static int read_setup(pp_config *config, robotics_shared *shared) {
  int64_t address = 0, count = 0;
  int status = mujoco_link_number(shared->link, "setup", &address, config->error);
  if (status >= 0) status = mujoco_link_number(shared->link, "setup_size", &count, config->error);
  if (status < 0) return status;
  shared->setup = calloc((size_t)count + 1, sizeof(double));
  if (!shared->setup) return PP_ERR_MEMORY;
  memcpy(shared->setup, (const void *)(uintptr_t)address, sizeof(double) * (size_t)count);
  return PP_OK;
}

/* copies the ranges, which Python owns */
static int read_ranges(pp_config *config, robotics_shared *shared) {
  size_t size = sizeof(double) * 2 * (size_t)shared->mujoco.sim.nu;
  int64_t address = 0;
  int status = mujoco_link_number(shared->link, "actuator_ctrlrange", &address, config->error);
  if (status < 0) return status;
  shared->control_ranges = malloc(size + 1);
  if (!shared->control_ranges) return PP_ERR_MEMORY;
  memcpy(shared->control_ranges, (const void *)(uintptr_t)address, size);
  return PP_OK;
}

static int read_flags(pp_config *config, robotics_shared *shared) {
  int64_t flag = 0;
  int status = mujoco_link_number(shared->link, "disableflags", &shared->flags, config->error);
  if (status >= 0) status = mujoco_link_number(shared->link, "no_sensors", &flag, config->error);
  shared->no_sensors = (int32_t)flag;
  return status;
}

static int read_places(pp_config *config, robotics_shared *shared) {
  int status =
      mujoco_read_places(shared->link, data_names, NUM_DATA, shared->data_places, config->error);
  if (status < 0) return status;
  return mujoco_read_places(shared->link, value_names, NUM_VALUES, shared->value_places,
                            config->error);
}

/* describes the infos, and the sizes of a state */
static void describe(pp_config *config, robotics_shared *shared) {
  shared->takes_floats = config->action.dtype == PP_FLOAT32;
  config->num_fields = shared->num_fields + shared->num_infos;
  if (shared->num_infos) {
    memcpy(config->fields + shared->num_fields, shared->infos,
           sizeof(*shared->infos) * (size_t)shared->num_infos);
  }
  for (int32_t i = 0; i < shared->num_infos; i++) {
    shared->info_numbers += info_size(&shared->infos[i]);
  }
  config->state_size = sizeof(state_head) + sizeof(double) * state_doubles(shared);
}

static int prepare(pp_config *config, robotics_shared *shared) {
  mujoco_shared *mujoco = &shared->mujoco;

  shared->link = &config->options[MUJOCO_LINK];
  int status = read_flags(config, shared);
  mujoco->sim.workspaces.owns_models = shared->kind->task->apply || shared->no_sensors;
  if (status >= 0) status = mujoco_simulator_init(&mujoco->sim, config);
  mujoco->options = config->options;
  mujoco->frame_stack = (int32_t)config->options[MUJOCO_FRAME_STACK].i;
  if (status >= 0) status = read_numpy(config, shared);
  if (status >= 0) status = read_setup(config, shared);
  if (status >= 0) status = read_ranges(config, shared);
  if (status >= 0) status = read_places(config, shared);
  if (status >= 0) status = shared->kind->task->prepare(config, shared);
  if (status >= 0) describe(config, shared);
  return status;
}

int robotics_configure(pp_config *config) {
  // aligned for the slots of workspaces, as in ../task.c
  robotics_shared *shared = aligned_alloc(_Alignof(robotics_shared), sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  memset(shared, 0, sizeof(*shared));
  shared->kind = config->def->data;
  shared->target = shared->target_pose = -1;
  int status = prepare(config, shared);
  if (status < 0) {
    robotics_release(shared);
    return status;
  }
  config->shared = shared;
  return PP_OK;
}

void robotics_release(void *argument) {
  robotics_shared *shared = argument;
  if (shared->kind->task->release) shared->kind->task->release(shared);
  mujoco_simulator_fini(&shared->mujoco.sim);
  free(shared->control_ranges);
  free(shared->setup);
  free(shared);
}

/* -------------------------------------------------------------------------------- simulation -- */

void robotics_advance(robotics_sim *sim) {
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;
  int32_t *flags = (int32_t *)(void *)((char *)sim->in->model + sim->shared->flags);
  int32_t before = *flags, last = simulator->frame_skip - 1;

  // without sensors the model is the pool's, to which no thread may write
  if (sim->shared->no_sensors) *flags |= sim->shared->no_sensors;
  for (int32_t i = 0; i < last; i++) simulator->library.mj_step(sim->in->model, sim->in->data);
  if (sim->shared->no_sensors) *flags = before;
  simulator->library.mj_step(sim->in->model, sim->in->data);
}

void robotics_forward(robotics_sim *sim) {
  sim->shared->mujoco.sim.library.mj_forward(sim->in->model, sim->in->data);
}

void robotics_set_state(robotics_sim *sim, const double *numbers) {
  mujoco_set_state(&sim->shared->mujoco.sim.workspaces, sim->in, numbers);
}

void robotics_site_velocities(const robotics_sim *sim, int32_t site, double linear[3],
                              double angular[3]) {
  enum { MOST = 256 };
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;
  double jacobians[2][3 * MOST];

  simulator->library.mj_jacSite(sim->in->model, sim->in->data, jacobians[0], jacobians[1], site);
  pp_numpy_matmul(&sim->shared->numpy, jacobians[0], 3, simulator->nv, sim->in->qvel, 1, linear);
  pp_numpy_matmul(&sim->shared->numpy, jacobians[1], 3, simulator->nv, sim->in->qvel, 1, angular);
}

double robotics_distance(const double *left, const double *right, int32_t count) {
  double squares[64];
  for (int32_t i = 0; i < count; i++) {
    double difference = left[i] - right[i];
    squares[i] = difference * difference;
  }
  return sqrt(pp_pairwise_sum(squares, count));
}

/* ------------------------------------------------------------------------------------- calls -- */

static robotics_sim sim_of(pp_env *env) {
  const robotics_shared *shared = env->shared;
  return (robotics_sim){.shared = shared,
                        .kind = shared->kind,
                        .ids = shared->ids,
                        .options = env->options,
                        .env = env,
                        .infos = infos_of(env),
                        .action = action_of(env),
                        .action_dtype = *env->action_dtype};
}

/* Calls work in a workspace, which must be put back unless it fails. */
static int run(robotics_sim *sim, void (*work)(void *)) {
  robotics_shared *shared = sim->env->shared;
  int status = mujoco_simulator_run(&shared->mujoco.sim, work, sim, sim->env->error);
  if (status < 0) return status;
  mujoco_put_back(&shared->mujoco.sim.workspaces, sim->in);
  return sim->status;
}

static void enter(robotics_sim *sim, double *moment) {
  const robotics_shared *shared = sim->shared;
  mujoco_find_fields(sim->in->data, data_names, shared->data_places, NUM_DATA, &sim->data);
  mujoco_find_fields(sim->in->model, value_names, shared->value_places, NUM_VALUES, &sim->values);
  sim->state = moment;
  sim->own = moment + shared->mujoco.sim.state_numbers;
}

static void keep(const robotics_sim *sim, double *moment) {
  mujoco_get_state(&sim->shared->mujoco.sim.workspaces, sim->in, moment);
}

/* Adds a row of all observations to the stack. The first one of an episode fills it. */
static void show(robotics_sim *sim, bool is_first) {
  size_t numbers = (size_t)sim->shared->row_numbers;
  size_t older = (size_t)sim->shared->mujoco.frame_stack - 1;
  double *rows = rows_of(sim->env), *newest = rows + numbers * older;

  if (older) memmove(rows, rows + numbers, sizeof(double) * numbers * older);
  sim->kind->task->observe(sim, newest);
  for (size_t i = 0; is_first && i < older; i++) {
    memcpy(rows + numbers * i, newest, sizeof(double) * numbers);
  }
}

/* Begins until the task accepts it. Keeps the state before mj_forward, which changes the solver's
 * warm start, for expose. */
static int begin(robotics_sim *sim, double *before) {
  const robotics_task *task = sim->kind->task;

  for (int32_t i = 0; i < ROBOTICS_MOST_BEGINS; i++) {
    int status = task->begin(sim);
    if (status < 0) return status;
    if (task->apply) task->apply(sim);
    keep(sim, before);
    robotics_forward(sim);
    if (!task->can_begin || task->can_begin(sim)) return PP_OK;
  }
  return pp_fail(sim->env->error, PP_ERR_ENV, "no episode could begin in %d attempts",
                 ROBOTICS_MOST_BEGINS);
}

static void work_reset(void *argument) {
  robotics_sim *sim = argument;
  const robotics_task *task = sim->kind->task;
  double *before = moment_before(sim->env), *now = moment_now(sim->env);

  enter(sim, now);
  sim->shared->mujoco.sim.library.mj_resetData(sim->in->model, sim->in->data);
  if (task->resume) task->resume(sim);
  sim->status = begin(sim, before);
  if (sim->status < 0) return;
  if (task->after_begin) task->after_begin(sim);
  show(sim, true);
  keep(sim, now);
  memcpy(before + sim->shared->mujoco.sim.state_numbers, sim->own,
         sizeof(double) * (size_t)sim->shared->num_own);
}

/* one environment step from a moment, whose own numbers sim has */
static void advance(robotics_sim *sim, const double *moment) {
  const robotics_task *task = sim->kind->task;
  if (task->apply) task->apply(sim);
  robotics_set_state(sim, moment);
  task->act(sim);
  task->advance(sim);
}

static void work_step(void *argument) {
  robotics_sim *sim = argument;
  double *before = moment_before(sim->env), *now = moment_now(sim->env);

  memcpy(now, before, sizeof(double) * moment_numbers(sim->shared));
  enter(sim, now);
  advance(sim, before);
  keep(sim, now);
  show(sim, false);
  sim->status = sim->kind->task->judge(sim);
}

int robotics_reset(pp_env *env, pp_reset *how) {
  robotics_sim sim = sim_of(env);
  memset(sim.infos, 0, sizeof(double) * (size_t)sim.shared->info_numbers);
  sim.reset_options = how->options;
  ((state_head *)env->state)->has_stepped = 0;
  return run(&sim, work_reset);
}

int robotics_step(pp_env *env, const void *action, pp_result *result) {
  robotics_sim sim = sim_of(env);
  state_head *head = env->state;
  double *numbers = action_of(env);
  int32_t count = sim.shared->num_actions;

  if (sim.action_dtype == PP_FLOAT32 && sim.shared->takes_floats) {
    for (int32_t i = 0; i < count; i++) numbers[i] = ((const float *)action)[i];
  } else {
    memcpy(numbers, action, sizeof(double) * (size_t)count);
  }
  memset(sim.infos, 0, sizeof(double) * (size_t)sim.shared->info_numbers);
  head->has_stepped = 1;
  head->current = !head->current;
  int status = run(&sim, work_step);
  result->reward[0] = sim.reward;
  result->terminated = sim.terminated;
  return status;
}

/* A row has one observation after the other, each field all frames of one of them. */
int robotics_observe(pp_env *env, void *const *fields, bool is_reset) {
  const robotics_shared *shared = env->shared;
  const double *infos = infos_of(env);
  (void)is_reset;

  for (int32_t i = 0; i < shared->num_fields; i++) {
    size_t size = (size_t)shared->field_size[i];
    for (int32_t frame = 0; fields[i] && frame < shared->mujoco.frame_stack; frame++) {
      const double *row = rows_of(env) + shared->row_numbers * frame + shared->field_at[i];
      memcpy((double *)fields[i] + size * (size_t)frame, row, sizeof(double) * size);
    }
  }
  for (int32_t i = 0; i < shared->num_infos; i++) {
    const pp_field *info = &shared->infos[i];
    int32_t count = info_size(info);
    uint8_t *flags = fields[shared->num_fields + i];
    for (int32_t j = 1; flags && j < count; j++) flags[j] = infos[j] != 0;
    if (flags) mujoco_write_info(flags, info->dtype, infos, 1);
    infos += count;
  }
  return PP_OK;
}

/* The head indexes the moments. All other numbers but cursors are only calculated with. */
int robotics_check_state(const pp_env *env, const pp_saved *saved) {
  const robotics_shared *shared = env->shared;
  const mujoco_simulator *sim = &shared->mujoco.sim;
  const state_head *head = saved->state;
  const double *numbers = (const double *)(const void *)(head + 1);
  bool is_possible =
      pp_state_check_range(env, "has_stepped", head->has_stepped, 0, 1) &&
      pp_state_check_range(env, "current", head->current, 0, 1) &&
      mujoco_simulator_check_cursors(sim, numbers, env->error) &&
      mujoco_simulator_check_cursors(sim, numbers + moment_numbers(shared), env->error);
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

/* ---------------------------------------------------------------------------------- expose -- */

/* one call of robotics_expose */
typedef struct exposure {
  robotics_sim sim;
  mjData *target;
} exposure;

/* Writes where the newest observation has the goal into the target's site or joint. */
static void place_target(const robotics_sim *sim) {
  enum { DESIRED_GOAL = 2 };
  const robotics_shared *shared = sim->shared;
  int32_t newest = shared->row_numbers * (shared->mujoco.frame_stack - 1);
  const double *goal = rows_of(sim->env) + newest + shared->field_at[DESIRED_GOAL];
  int32_t size = shared->field_size[DESIRED_GOAL];
  if (shared->target >= 0) robotics_copy(sim->data.site_xpos + 3 * shared->target, goal, size);
  if (shared->target_pose >= 0) robotics_copy(sim->data.qpos + shared->target_pose, goal, size);
}

/* Computes the result of the last reset or step again. */
static void simulate_and_copy(void *argument) {
  exposure *it = argument;
  robotics_sim *sim = &it->sim;
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;
  double *before = moment_before(sim->env);

  enter(sim, before);
  simulator->library.mj_resetData(sim->in->model, sim->in->data);
  if (((const state_head *)sim->env->state)->has_stepped) {
    advance(sim, before);
  } else {
    if (sim->kind->task->apply) sim->kind->task->apply(sim);
    robotics_set_state(sim, before);
    robotics_forward(sim);
  }
  simulator->library.mj_copyData(it->target, sim->in->model, sim->in->data);
  mujoco_find_fields(it->target, data_names, sim->shared->data_places, NUM_DATA, &sim->data);
  place_target(sim);
}

int robotics_expose(pp_env *env, void *target) {
  exposure it = {.sim = sim_of(env), .target = target};
  return run(&it.sim, simulate_and_copy);
}
