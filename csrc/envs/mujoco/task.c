/* The engine's callbacks for all MuJoCo tasks: configure reads the link and the options, reset and
 * step simulate, observe writes a row, expose copies an mjData. */
#include "task.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_check.h"

/* An environment's state is plain numbers: this head, then state_doubles() doubles. These are two
 * states of the simulation, the last action, carry, infos, and the stacked observations, the oldest
 * first. One of the two states is the current one. The other is the state before the last step, or
 * before the reset's mj_forward: expose simulates again from it. */
typedef struct state_head {
  int32_t has_stepped; /* 1: since the episode began */
  int32_t current;     /* which of the two states is the current one: 0 or 1 */
} state_head;

static double *state_numbers(const pp_env *env) {
  return (double *)(void *)((char *)env->state + sizeof(state_head));
}

static double *state_now(const pp_env *env) {
  const state_head *head = env->state;
  const mujoco_shared *shared = env->shared;
  return state_numbers(env) + head->current * shared->state_numbers;
}

static double *state_before(const pp_env *env) {
  const state_head *head = env->state;
  const mujoco_shared *shared = env->shared;
  return state_numbers(env) + !head->current * shared->state_numbers;
}

static double *state_action(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_numbers(env) + 2 * shared->state_numbers;
}

static double *state_carry(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_action(env) + shared->nu;
}

static double *state_infos(const pp_env *env) {
  return state_carry(env) + MUJOCO_MAX_CARRY;
}

static int32_t numbers_of(const mujoco_shared *shared, const pp_field *info) {
  return info->ndim ? shared->ntendon : 1;
}

static double *state_obs(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_infos(env) + shared->info_numbers;
}

static size_t state_doubles(const mujoco_shared *shared) {
  return (size_t)shared->state_numbers * 2 + (size_t)shared->nu + MUJOCO_MAX_CARRY +
         (size_t)shared->info_numbers + (size_t)shared->obs_size * (size_t)shared->frame_stack;
}

/* ------------------------------------------------------------------------------- configure -- */

/* one call of mj_copyModel */
typedef struct model_copy {
  const mujoco_library *library;
  const mjModel *from;
  mjModel *model;
} model_copy;

static void copy_model(void *argument) {
  model_copy *copy = argument;
  copy->model = copy->library->mj_copyModel(NULL, copy->from);
}

/* reads the link's sizes and its addresses of arrays */
static int read_numbers(mujoco_shared *shared, const pp_value *link, const mjModel **model,
                        const double **control, pp_error *error) {
  int64_t address, body_mass, control_range, spec, timestep, sizes[6], fuses;
  const char *names[6] = {"nq", "nv", "nu", "nbody", "ntendon", "nsite"};
  int status = PP_OK;

  if (status >= 0) status = mujoco_link_number(link, "model", &address, error);
  if (status >= 0) status = mujoco_link_number(link, "body_mass", &body_mass, error);
  if (status >= 0) status = mujoco_link_number(link, "actuator_ctrlrange", &control_range, error);
  if (status >= 0) status = mujoco_link_number(link, "state_spec", &spec, error);
  if (status >= 0) status = mujoco_link_number(link, "timestep", &timestep, error);
  if (status >= 0) status = mujoco_link_number(link, "fuses_dot", &fuses, error);
  for (int i = 0; i < 6 && status >= 0; i++) {
    status = mujoco_link_number(link, names[i], &sizes[i], error);
  }
  if (status < 0) return status;

  memcpy(&shared->timestep, &timestep, sizeof(timestep));
  *model = (const mjModel *)(uintptr_t)address;
  *control = (const double *)(uintptr_t)control_range;
  shared->body_mass = (const double *)(uintptr_t)body_mass;
  shared->workspaces.state_spec = (unsigned)spec;
  shared->fuses_dot = fuses != 0;
  shared->nq = (int32_t)sizes[0];
  shared->nv = (int32_t)sizes[1];
  shared->nu = (int32_t)sizes[2];
  shared->nbody = (int32_t)sizes[3];
  shared->ntendon = (int32_t)sizes[4];
  shared->nsite = (int32_t)sizes[5];
  shared->dt = shared->timestep * shared->frame_skip;
  return PP_OK;
}

/* reads where mjData keeps the parts of a state; without parts MuJoCo copies the state */
static int read_parts(mujoco_workspaces *workspaces, const pp_value *link, pp_error *error) {
  int64_t count, numbers[3];
  int status = mujoco_link_number(link, "state_parts", &count, error);

  if (status < 0) return status;
  if (count < 0 || count > MUJOCO_PARTS) {
    return pp_fail(error, PP_ERR_ARGUMENT, "state_parts=%lld: choose 0 to %d", (long long)count,
                   MUJOCO_PARTS);
  }
  for (int32_t i = 0; i < count; i++) {
    const char *suffixes[3] = {"", "_inline", "_size"};
    for (int j = 0; j < 3 && status >= 0; j++) {
      char name[32];
      snprintf(name, sizeof(name), "part%d%s", i, suffixes[j]);
      status = mujoco_link_number(link, name, &numbers[j], error);
    }
    if (status < 0) return status;
    workspaces->parts[i] = (mujoco_part){
        .place = numbers[0], .is_inline = numbers[1] != 0, .size = (int32_t)numbers[2]};
  }
  workspaces->num_parts = (int32_t)count;
  return PP_OK;
}

/* reads which numbers of a state are indices; they are those of ring buffers of delayed signals */
static int read_cursors(mujoco_shared *shared, const pp_value *link, pp_error *error) {
  int64_t count, place = 0, length = 0;
  int status = mujoco_link_number(link, "cursors", &count, error);

  if (status < 0 || count == 0) return status;
  shared->cursors = calloc((size_t)count, sizeof(*shared->cursors));
  if (!shared->cursors) return PP_ERR_MEMORY;
  for (int32_t i = 0; i < count && status >= 0; i++) {
    char name[32];
    snprintf(name, sizeof(name), "cursor%d", i);
    status = mujoco_link_number(link, name, &place, error);
    snprintf(name, sizeof(name), "cursor%d_length", i);
    if (status >= 0) status = mujoco_link_number(link, name, &length, error);
    shared->cursors[i] = (mujoco_cursor){.place = (int32_t)place, .length = (int32_t)length};
  }
  shared->num_cursors = (int32_t)count;
  return status;
}

/* The parts must have as many numbers as the state that MuJoCo itself would copy. */
static int check_parts(pp_config *config, const mujoco_shared *shared) {
  const mujoco_workspaces *workspaces = &shared->workspaces;
  int32_t numbers = 0;

  for (int32_t i = 0; i < workspaces->num_parts; i++) numbers += workspaces->parts[i].size;
  if (!workspaces->num_parts || numbers == shared->state_numbers) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the parts of a state have %d numbers, but MuJoCo's state has %d", numbers,
                 shared->state_numbers);
}

/* Copies arrays of the model, which Python owns, so that they last as long as the pool. */
static int copy_arrays(mujoco_shared *shared, const double *control, pp_error *error) {
  size_t nq = (size_t)shared->nq, nv = (size_t)shared->nv, nu = (size_t)shared->nu;
  size_t nbody = (size_t)shared->nbody;
  double *arrays = calloc(nq + nv + nbody + 2 * nu, sizeof(double));
  mujoco_workspace *fresh;

  if (!arrays) return PP_ERR_MEMORY;
  shared->arrays = arrays;
  fresh = mujoco_take(&shared->workspaces, error);
  if (!fresh) return PP_ERR_MEMORY;
  memcpy(arrays, fresh->qpos, sizeof(double) * nq);
  memcpy(arrays + nq, fresh->qvel, sizeof(double) * nv);
  mujoco_put_back(&shared->workspaces, fresh);
  memcpy(arrays + nq + nv, shared->body_mass, sizeof(double) * nbody);
  shared->init_qpos = arrays;
  shared->init_qvel = arrays + nq;
  shared->body_mass = arrays + nq + nv;
  shared->control_low = arrays + nq + nv + nbody;
  shared->control_high = shared->control_low + nu;
  for (size_t i = 0; i < nu; i++) {
    // the action space is a float32 Box, so Gymnasium rounds its bounds
    shared->control_low[i] = (float)control[2 * i];
    shared->control_high[i] = (float)control[2 * i + 1];
  }
  return PP_OK;
}

/* describes one info, whose type may be that of options */
static void describe_info(pp_config *config, mujoco_shared *shared, int32_t index) {
  const mujoco_task *task = shared->task;
  const pp_value *options = config->options;
  pp_field *info = &config->fields[1 + index];

  *info = task->infos[index];
  if (info->ndim) info->shape[0] = shared->ntendon;
  if (info->follows && task->weight_option) info->factor = options[task->weight_option].dtype;
  if (task->survive_option && task->survive_info == index) {
    int32_t dtype = options[task->survive_option].dtype & ~PP_PYTHON;
    // 0: a float
    if (dtype) info->dtype = dtype;
  }
  shared->info_dtypes[index] = info->dtype;
  shared->info_numbers += numbers_of(shared, info);
}

/* describes the observation, the infos and the action to the engine */
static void describe(pp_config *config, mujoco_shared *shared) {
  pp_field *obs = &config->fields[0];
  *obs = (pp_field){.name = "obs",
                    .dtype = PP_FLOAT64,
                    .ndim = 1,
                    .shape = {shared->obs_size},
                    .low = -HUGE_VAL,
                    .high = HUGE_VAL};
  if (shared->frame_stack > 1) {
    obs->ndim = 2;
    obs->shape[0] = shared->frame_stack;
    obs->shape[1] = shared->obs_size;
  }
  config->num_fields = 1 + shared->task->num_infos;
  for (int32_t i = 0; i < shared->task->num_infos; i++) describe_info(config, shared, i);
  config->action = (pp_field){.name = "action",
                              .dtype = PP_FLOAT32,
                              .ndim = 1,
                              .shape = {shared->nu},
                              .lows = shared->control_low,
                              .highs = shared->control_high};
  config->state_size = sizeof(state_head) + sizeof(double) * state_doubles(shared);
}

/* A user's own model may be too small for the task. */
static int check_sizes(pp_config *config, const mujoco_shared *shared) {
  const mujoco_task *task = shared->task;

  if (shared->nu >= 1 && shared->nq >= task->least_nq && shared->nv >= task->least_nv &&
      shared->nsite >= task->least_nsite) {
    return PP_OK;
  }
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the model has nq=%d, nv=%d, nu=%d, nsite=%d: the task needs nq >= %d, nv >= %d, "
                 "nu >= 1, nsite >= %d",
                 shared->nq, shared->nv, shared->nu, shared->nsite, task->least_nq, task->least_nv,
                 task->least_nsite);
}

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options, *link = &options[MUJOCO_LINK];
  const double *control = NULL;
  model_copy copy = {.library = &shared->library};
  int status = mujoco_link_read(link, &shared->library, &shared->places, config->error);

  shared->options = options;
  shared->frame_skip = (int32_t)options[MUJOCO_FRAME_SKIP].i;
  shared->frame_stack = (int32_t)options[MUJOCO_FRAME_STACK].i;
  if (status >= 0) status = read_numbers(shared, link, &copy.from, &control, config->error);
  if (status >= 0) status = check_sizes(config, shared);
  if (status >= 0) status = read_parts(&shared->workspaces, link, config->error);
  if (status >= 0) status = read_cursors(shared, link, config->error);
  if (status < 0) return status;

  mujoco_mute_clock(&shared->library);
  char text[PP_ERROR_TEXT] = "no memory";
  status = mujoco_call(&shared->library, copy_model, &copy, text);
  if (status < 0 || !copy.model) return pp_fail(config->error, PP_ERR_MEMORY, "%s", text);
  shared->model = copy.model;
  shared->workspaces.library = &shared->library;
  shared->workspaces.places = &shared->places;
  shared->workspaces.model = shared->model;
  shared->state_numbers =
      shared->library.mj_stateSize(shared->model, shared->workspaces.state_spec);
  status = check_parts(config, shared);
  if (status >= 0) status = copy_arrays(shared, control, config->error);
  if (status >= 0) status = shared->task->prepare(config, shared);
  if (status < 0) return status;
  if (!options[MUJOCO_POST_CONSTRAINT].i) shared->needs_constraint_forces = 0;
  describe(config, shared);
  return PP_OK;
}

int mujoco_configure(pp_config *config) {
  // the workspaces' slots are aligned to cache lines, which calloc's memory is not
  mujoco_shared *shared = aligned_alloc(_Alignof(mujoco_shared), sizeof(*shared));
  int status;

  if (!shared) return PP_ERR_MEMORY;
  memset(shared, 0, sizeof(*shared));
  shared->task = config->def->data;
  status = prepare(config, shared);
  if (status < 0) {
    mujoco_release(shared);
    return status;
  }
  config->shared = shared;
  return PP_OK;
}

void mujoco_release(void *argument) {
  mujoco_shared *shared = argument;
  mujoco_workspaces_fini(&shared->workspaces);
  if (shared->model) shared->library.mj_deleteModel(shared->model);
  free(shared->arrays);
  free(shared->cursors);
  free(shared);
}

/* -------------------------------------------------------------------------- reset and step -- */

/* one simulation: which environment, in which workspace */
typedef struct simulation {
  pp_env *env;
  const mujoco_shared *shared;
  mujoco_workspace *in;
  const void *action; /* null for a reset */
} simulation;

static void simulate_reset(void *argument) {
  const simulation *it = argument;
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->library;
  const mujoco_workspace *in = it->in;

  library->mj_resetData(shared->model, in->data);
  memcpy(in->qpos, shared->init_qpos, sizeof(double) * (size_t)shared->nq);
  memcpy(in->qvel, shared->init_qvel, sizeof(double) * (size_t)shared->nv);
  double noise = it->env->options[shared->noise_option].f;
  shared->task->draw_state(shared, noise, it->env->rng, in->qpos, in->qvel);
  // kept for expose, since mj_forward changes the solver's warm start
  mujoco_get_state(&shared->workspaces, in, state_before(it->env));
  library->mj_forward(shared->model, in->data);
}

/* one environment step from a state */
static void simulate(const simulation *it, const double *state, const double *action) {
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->library;
  mjData *data = it->in->data;

  mujoco_set_state(&shared->workspaces, it->in, state);
  memcpy(it->in->ctrl, action, sizeof(double) * (size_t)shared->nu);
  for (int32_t i = 0; i < shared->frame_skip; i++) library->mj_step(shared->model, data);
  if (shared->needs_constraint_forces) library->mj_rnePostConstraint(shared->model, data);
}

static void simulate_step(void *argument) {
  const simulation *it = argument;
  double *action = state_action(it->env);

  if (*it->env->action_dtype == PP_FLOAT32) {
    for (int32_t i = 0; i < it->shared->nu; i++) action[i] = ((const float *)it->action)[i];
  } else {
    memcpy(action, it->action, sizeof(double) * (size_t)it->shared->nu);
  }
  simulate(it, state_now(it->env), action);
}

/* Computes the result of an environment's last reset or step again in this workspace. */
static void simulate_again(void *argument) {
  const simulation *it = argument;
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->library;
  const state_head *head = it->env->state;

  library->mj_resetData(shared->model, it->in->data);
  if (head->has_stepped) {
    simulate(it, state_before(it->env), state_action(it->env));
  } else {
    mujoco_set_state(&shared->workspaces, it->in, state_before(it->env));
    library->mj_forward(shared->model, it->in->data);
  }
}

/* Takes a workspace and calls work in it; release() must follow. If MuJoCo reports an error, the
 * environment fails with MuJoCo's message and the workspace is discarded. */
static int run(simulation *it, void (*work)(void *)) {
  mujoco_shared *shared = it->env->shared;
  it->shared = shared;
  it->in = mujoco_take(&shared->workspaces, it->env->error);
  if (!it->in) return PP_ERR_MEMORY;
  char text[PP_ERROR_TEXT];
  int status = mujoco_call(&shared->library, work, it, text);
  if (status >= 0) return status;
  pp_fail(it->env->error, status, "MuJoCo: %.240s", text);
  mujoco_discard(&shared->workspaces, it->in);
  return status;
}

static void release(const simulation *it) {
  mujoco_shared *shared = it->env->shared;
  mujoco_put_back(&shared->workspaces, it->in);
}

/* Copies the new state out of the workspace, and the new observation into the stack. The first
 * observation of an episode fills the stack. */
static void store(const simulation *it, bool is_first) {
  const mujoco_shared *shared = it->shared;
  int32_t size = shared->obs_size, older = shared->frame_stack - 1;
  double *obs = state_obs(it->env), *newest = obs + (size_t)size * (size_t)older;

  mujoco_get_state(&shared->workspaces, it->in, state_now(it->env));
  if (older) memmove(obs, obs + size, sizeof(double) * (size_t)size * (size_t)older);
  shared->task->observe(shared, it->in, newest);
  for (int32_t i = 0; is_first && i < older; i++) {
    memcpy(obs + (size_t)size * (size_t)i, newest, sizeof(double) * (size_t)size);
  }
}

static mujoco_transition transition_of(const simulation *it) {
  double *infos = state_infos(it->env);
  memset(infos, 0, sizeof(double) * (size_t)it->shared->info_numbers);
  return (mujoco_transition){.shared = it->shared,
                             .options = it->env->options,
                             .now = it->in,
                             .carry = state_carry(it->env),
                             .infos = infos,
                             .action = state_action(it->env),
                             .action_dtype = *it->env->action_dtype};
}

int mujoco_reset(pp_env *env, pp_reset *how) {
  (void)how;
  simulation it = {.env = env};
  state_head *head = env->state;
  int status = run(&it, simulate_reset);

  if (status < 0) return status;
  head->has_stepped = 0;
  store(&it, true);
  if (it.shared->task->after_reset) {
    mujoco_transition transition = transition_of(&it);
    it.shared->task->after_reset(&transition);
  }
  release(&it);
  return PP_OK;
}

int mujoco_step(pp_env *env, const void *action, pp_result *result) {
  simulation it = {.env = env, .action = action};
  state_head *head = env->state;
  int status = run(&it, simulate_step);

  if (status < 0) return status;
  head->has_stepped = 1;
  head->current = !head->current;
  store(&it, false);
  mujoco_transition transition = transition_of(&it);
  it.shared->task->after_step(&transition);
  result->reward[0] = transition.reward;
  result->terminated = transition.terminated;
  release(&it);
  return PP_OK;
}

static void write_info(void *field, int32_t dtype, const double *numbers, int32_t count) {
  switch (dtype) {
    case PP_FLOAT64: memcpy(field, numbers, sizeof(double) * (size_t)count); break;
    case PP_FLOAT32: *(float *)field = (float)*numbers; break;
    case PP_INT64: *(int64_t *)field = (int64_t)*numbers; break;
    case PP_INT32: *(int32_t *)field = (int32_t)*numbers; break;
    default: *(uint8_t *)field = *numbers != 0; break;
  }
}

int mujoco_observe(pp_env *env, void *const *fields, bool is_reset) {
  (void)is_reset;
  const mujoco_shared *shared = env->shared;
  const double *infos = state_infos(env);
  size_t size = (size_t)shared->obs_size * (size_t)shared->frame_stack;

  if (fields[0]) memcpy(fields[0], state_obs(env), sizeof(double) * size);
  for (int32_t i = 0; i < shared->task->num_infos; i++) {
    const pp_field *info = &shared->task->infos[i];
    int32_t count = numbers_of(shared, info);
    if (fields[1 + i]) write_info(fields[1 + i], shared->info_dtypes[i], infos, count);
    infos += count;
  }
  return PP_OK;
}

/* Checks the indices that one of the two states holds. */
static bool check_cursors(const pp_env *env, const double *numbers) {
  const mujoco_shared *shared = env->shared;
  for (int32_t i = 0; i < shared->num_cursors; i++) {
    const mujoco_cursor *cursor = &shared->cursors[i];
    double value = numbers[cursor->place];
    if (value >= 0 && value < cursor->length) continue;
    pp_fail(env->error, PP_ERR_ARGUMENT, "cursor %d of %d signals is %g", i, cursor->length, value);
    return false;
  }
  return true;
}

/* Checks that infos of integers are some, as observe converts them. */
static bool check_infos(const pp_env *env, const double *infos) {
  const mujoco_shared *shared = env->shared;
  for (int32_t i = 0; i < shared->task->num_infos; i++) {
    const pp_field *info = &shared->task->infos[i];
    if (info->dtype == PP_INT64 && !(fabs(*infos) <= 0x1p53)) {
      pp_fail(env->error, PP_ERR_ARGUMENT, "%s=%g", info->name, *infos);
      return false;
    }
    infos += numbers_of(shared, info);
  }
  return true;
}

/* The head indexes the states. All numbers but cursors are only calculated with: MuJoCo resets a
 * simulation whose numbers are huge or NaN (docs/internals/mujoco.md). */
int mujoco_check_state(const pp_env *env, const pp_saved *saved) {
  const mujoco_shared *shared = env->shared;
  const state_head *head = saved->state;
  const double *numbers = (const double *)(const void *)(head + 1);
  const double *infos = numbers + (state_infos(env) - state_numbers(env));
  bool is_possible = pp_state_check_range(env, "has_stepped", head->has_stepped, 0, 1) &&
                     pp_state_check_range(env, "current", head->current, 0, 1) &&
                     check_cursors(env, numbers) &&
                     check_cursors(env, numbers + shared->state_numbers) && check_infos(env, infos);
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

/* ---------------------------------------------------------------------------------- expose -- */

/* one call of mujoco_expose */
typedef struct exposure {
  simulation simulation;
  mjData *target;
} exposure;

static void simulate_and_copy(void *argument) {
  exposure *it = argument;
  const mujoco_shared *shared = it->simulation.shared;
  simulate_again(&it->simulation);
  shared->library.mj_copyData(it->target, shared->model, it->simulation.in->data);
}

int mujoco_expose(pp_env *env, void *target) {
  exposure it = {.simulation = {.env = env}, .target = target};
  int status = run(&it.simulation, simulate_and_copy);
  if (status < 0) return status;
  release(&it.simulation);
  return PP_OK;
}
