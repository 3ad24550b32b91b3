/* The engine's callbacks for all MuJoCo tasks: configure reads the link and the options, reset and
 * step simulate, observe writes a row, expose copies an mjData. */
#include "task.h"

#include <stddef.h>
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
  return state_numbers(env) + head->current * shared->sim.state_numbers;
}

static double *state_before(const pp_env *env) {
  const state_head *head = env->state;
  const mujoco_shared *shared = env->shared;
  return state_numbers(env) + !head->current * shared->sim.state_numbers;
}

static double *state_action(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_numbers(env) + 2 * shared->sim.state_numbers;
}

static double *state_carry(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_action(env) + shared->sim.nu;
}

static double *state_infos(const pp_env *env) {
  return state_carry(env) + MUJOCO_MAX_CARRY;
}

static int32_t numbers_of(const mujoco_shared *shared, const pp_field *info) {
  return info->ndim ? shared->sim.ntendon : 1;
}

static double *state_obs(const pp_env *env) {
  const mujoco_shared *shared = env->shared;
  return state_infos(env) + shared->info_numbers;
}

static size_t state_doubles(const mujoco_shared *shared) {
  return (size_t)shared->sim.state_numbers * 2 + (size_t)shared->sim.nu + MUJOCO_MAX_CARRY +
         (size_t)shared->info_numbers + (size_t)shared->obs_size * (size_t)shared->frame_stack;
}

/* ------------------------------------------------------------------------------- configure -- */

void mujoco_describe_info(const pp_value *options, mujoco_shared *shared, int32_t index,
                          pp_field *info) {
  const mujoco_task *task = shared->task;

  *info = task->infos[index];
  if (info->ndim) info->shape[0] = shared->sim.ntendon;
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
  for (int32_t i = 0; i < shared->task->num_infos; i++) {
    mujoco_describe_info(config->options, shared, i, &config->fields[1 + i]);
  }
  config->action = mujoco_simulator_action(&shared->sim);
  config->state_size = sizeof(state_head) + sizeof(double) * state_doubles(shared);
}

int mujoco_check_sizes(pp_config *config, const mujoco_shared *shared) {
  const mujoco_task *task = shared->task;

  if (shared->sim.nu >= 1 && shared->sim.nq >= task->least_nq && shared->sim.nv >= task->least_nv &&
      shared->sim.nsite >= task->least_nsite) {
    return PP_OK;
  }
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the model has nq=%d, nv=%d, nu=%d, nsite=%d: the task needs nq >= %d, nv >= %d, "
                 "nu >= 1, nsite >= %d",
                 shared->sim.nq, shared->sim.nv, shared->sim.nu, shared->sim.nsite, task->least_nq,
                 task->least_nv, task->least_nsite);
}

static int prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options;
  int status = mujoco_simulator_init(&shared->sim, config);

  shared->options = options;
  shared->frame_stack = (int32_t)options[MUJOCO_FRAME_STACK].i;
  if (status >= 0) status = mujoco_check_sizes(config, shared);
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
  mujoco_simulator_fini(&shared->sim);
  free(shared);
}

/* -------------------------------------------------------------------------- reset and step -- */

/* one simulation: in which workspace, and of which environment */
typedef struct simulation {
  mujoco_workspace *in;
  pp_env *env;
  const mujoco_shared *shared;
  const void *action; /* null for a reset */
} simulation;

static void simulate_reset(void *argument) {
  const simulation *it = argument;
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->sim.library;
  const mujoco_workspace *in = it->in;

  library->mj_resetData(shared->sim.model, in->data);
  memcpy(in->qpos, shared->sim.init_qpos, sizeof(double) * (size_t)shared->sim.nq);
  memcpy(in->qvel, shared->sim.init_qvel, sizeof(double) * (size_t)shared->sim.nv);
  double noise = it->env->options[shared->noise_option].f;
  shared->task->draw_state(shared, noise, it->env->rng, in->qpos, in->qvel);
  // kept for expose, since mj_forward changes the solver's warm start
  mujoco_get_state(&shared->sim.workspaces, in, state_before(it->env));
  library->mj_forward(shared->sim.model, in->data);
}

/* one environment step from a state */
static void simulate(const simulation *it, const double *state, const double *action) {
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->sim.library;
  mjData *data = it->in->data;

  mujoco_set_state(&shared->sim.workspaces, it->in, state);
  memcpy(it->in->ctrl, action, sizeof(double) * (size_t)shared->sim.nu);
  for (int32_t i = 0; i < shared->sim.frame_skip; i++) library->mj_step(shared->sim.model, data);
  if (shared->needs_constraint_forces) library->mj_rnePostConstraint(shared->sim.model, data);
}

static void simulate_step(void *argument) {
  const simulation *it = argument;
  double *action = state_action(it->env);

  if (*it->env->action_dtype == PP_FLOAT32) {
    for (int32_t i = 0; i < it->shared->sim.nu; i++) action[i] = ((const float *)it->action)[i];
  } else {
    memcpy(action, it->action, sizeof(double) * (size_t)it->shared->sim.nu);
  }
  simulate(it, state_now(it->env), action);
}

/* Computes the result of an environment's last reset or step again in this workspace. */
static void simulate_again(void *argument) {
  const simulation *it = argument;
  const mujoco_shared *shared = it->shared;
  const mujoco_library *library = &shared->sim.library;
  const state_head *head = it->env->state;

  library->mj_resetData(shared->sim.model, it->in->data);
  if (head->has_stepped) {
    simulate(it, state_before(it->env), state_action(it->env));
  } else {
    mujoco_set_state(&shared->sim.workspaces, it->in, state_before(it->env));
    library->mj_forward(shared->sim.model, it->in->data);
  }
}

/* Calls work in a workspace; release() must follow, unless it fails. */
static int run(simulation *it, void (*work)(void *)) {
  mujoco_shared *shared = it->env->shared;
  it->shared = shared;
  return mujoco_simulator_run(&shared->sim, work, it, it->env->error);
}

static void release(const simulation *it) {
  mujoco_shared *shared = it->env->shared;
  mujoco_put_back(&shared->sim.workspaces, it->in);
}

/* Copies the new state out of the workspace, and the new observation into the stack. The first
 * observation of an episode fills the stack. */
static void store(const simulation *it, bool is_first) {
  const mujoco_shared *shared = it->shared;
  int32_t size = shared->obs_size, older = shared->frame_stack - 1;
  double *obs = state_obs(it->env), *newest = obs + (size_t)size * (size_t)older;

  mujoco_get_state(&shared->sim.workspaces, it->in, state_now(it->env));
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

void mujoco_write_info(void *field, int32_t dtype, const double *numbers, int32_t count) {
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
    if (fields[1 + i]) mujoco_write_info(fields[1 + i], shared->info_dtypes[i], infos, count);
    infos += count;
  }
  return PP_OK;
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
  const mujoco_simulator *sim = &((const mujoco_shared *)env->shared)->sim;
  const state_head *head = saved->state;
  const double *numbers = (const double *)(const void *)(head + 1);
  const double *infos = numbers + (state_infos(env) - state_numbers(env));
  bool is_possible =
      pp_state_check_range(env, "has_stepped", head->has_stepped, 0, 1) &&
      pp_state_check_range(env, "current", head->current, 0, 1) &&
      mujoco_simulator_check_cursors(sim, numbers, env->error) &&
      mujoco_simulator_check_cursors(sim, numbers + sim->state_numbers, env->error) &&
      check_infos(env, infos);
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
  shared->sim.library.mj_copyData(it->target, shared->sim.model, it->simulation.in->data);
}

int mujoco_expose(pp_env *env, void *target) {
  exposure it = {.simulation = {.env = env}, .target = target};
  int status = run(&it.simulation, simulate_and_copy);
  if (status < 0) return status;
  release(&it.simulation);
  return PP_OK;
}
