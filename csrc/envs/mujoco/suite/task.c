/* The engine's callbacks for all tasks of dm_control's suite. */
#include "task.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/state_check.h"

/* What a snapshot holds, which is followed by numbers: the state of the simulation, the task's own,
 * and the row of all observations, stacked with the oldest first. */
typedef struct suite_saved {
  pp_random_state random;
  int32_t has_begun; /* 1: an episode */
  int32_t unused;
} suite_saved;

/* an environment's state */
typedef struct suite_state {
  suite_physics physics;
  bool is_live; /* the physics has the state; false: saved has, as after a snapshot */
  suite_saved saved;
} suite_state;

/* the numbers follow what saved has of structs */
_Static_assert(sizeof(suite_state) == offsetof(suite_state, saved) + sizeof(suite_saved),
               "padding");

static suite_state *state_of(const pp_env *env) {
  return env->state;
}

/* bytes of one picture */
static size_t picture_size(const suite_shared *shared) {
  return 3 * (size_t)shared->cameras.width * (size_t)shared->cameras.height;
}

/* bytes of all observations, rounded up to doubles */
static size_t rows_size(const suite_shared *shared) {
  size_t stack = (size_t)shared->frame_stack;
  if (shared->from_pixels) return (picture_size(shared) * stack + 7) / 8 * 8;
  return sizeof(double) * (size_t)shared->row_numbers * stack;
}

static size_t saved_size(const suite_shared *shared) {
  size_t numbers = (size_t)(shared->model.sim.state_numbers + shared->num_own);
  return sizeof(suite_saved) + sizeof(double) * numbers + rows_size(shared);
}

static double *numbers_of(const pp_env *env) {
  return (double *)(void *)(state_of(env) + 1);
}

static double *own_of(const pp_env *env) {
  return numbers_of(env) + ((const suite_shared *)env->shared)->model.sim.state_numbers;
}

static double *rows_of(const pp_env *env) {
  return own_of(env) + ((const suite_shared *)env->shared)->num_own;
}

/* ------------------------------------------------------------------------------- configure -- */

int suite_find(pp_config *config, suite_shared *shared, int32_t from, const char *const *names,
               int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    int status = suite_model_find(&shared->model, names[i], &shared->ids[from + i], config->error);
    if (status < 0) return status;
  }
  return PP_OK;
}

void suite_describe(pp_config *config, suite_shared *shared, const char *name, int32_t rows,
                    int32_t columns) {
  int32_t i = config->num_fields++, size = (rows ? rows : 1) * (columns ? columns : 1);
  pp_field *field = &config->fields[i];

  *field = (pp_field){.name = name, .dtype = PP_FLOAT64, .low = -HUGE_VAL, .high = HUGE_VAL};
  if (shared->frame_stack > 1) field->shape[field->ndim++] = shared->frame_stack;
  if (rows) field->shape[field->ndim++] = rows;
  if (columns) field->shape[field->ndim++] = columns;
  shared->field_at[i] = shared->row_numbers;
  shared->field_size[i] = size;
  shared->row_numbers += size;
}

/* dm_control's bounds of actuators without a range are mjMAXVAL */
static int describe_action(pp_config *config, suite_shared *shared) {
  mujoco_simulator *sim = &shared->model.sim;
  int64_t limited = 0, ranges = 0;
  int status =
      mujoco_link_number(shared->model.link, "actuator_ctrllimited", &limited, config->error);

  if (status >= 0) {
    status = mujoco_link_number(shared->model.link, "actuator_ctrlrange", &ranges, config->error);
  }
  for (int32_t i = 0; status >= 0 && i < sim->nu; i++) {
    bool is_limited = ((const uint8_t *)(uintptr_t)limited)[i] != 0;
    const double *range = (const double *)(uintptr_t)ranges + 2 * i;
    sim->control_low[i] = is_limited ? range[0] : -1e10;
    sim->control_high[i] = is_limited ? range[1] : 1e10;
  }
  config->action = mujoco_simulator_action(sim);
  config->action.dtype = PP_FLOAT64;
  return status;
}

/* Replaces the observations by a picture. */
static int prepare_pixels(pp_config *config, suite_shared *shared) {
  const pp_value *options = config->options;
  suite_cameras *cameras = &shared->cameras;

  shared->from_pixels = true;
  cameras->width = (int32_t)options[SUITE_RENDER_WIDTH].i;
  cameras->height = (int32_t)options[SUITE_RENDER_HEIGHT].i;
  cameras->camera_id = (int32_t)options[SUITE_RENDER_CAMERA_ID].i;
  config->num_fields = 1;
  config->fields[0] =
      (pp_field){.name = "pixels",
                 .dtype = PP_UINT8,
                 .high = 255,
                 .ndim = 3,
                 .shape = {3 * shared->frame_stack, cameras->height, cameras->width}};
  return suite_cameras_init(cameras, shared->model.link, &shared->model.sim.library, config->error);
}

static int prepare(pp_config *config, suite_shared *shared) {
  int status = suite_model_init(&shared->model, config, shared->kind->writes_model);

  shared->frame_stack = (int32_t)config->options[SUITE_FRAME_STACK].i;
  if (status >= 0) status = describe_action(config, shared);
  if (status >= 0) status = shared->kind->task->prepare(config, shared);
  if (status >= 0 && config->options[SUITE_FROM_PIXELS].i) status = prepare_pixels(config, shared);
  shared->num_fields = config->num_fields;
  config->state_size = sizeof(suite_state) - sizeof(suite_saved) + saved_size(shared);
  return status;
}

int suite_configure(pp_config *config) {
  // aligned for the slots of workspaces, as in ../task.c
  suite_shared *shared = aligned_alloc(_Alignof(suite_shared), sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  memset(shared, 0, sizeof(*shared));
  shared->kind = config->def->data;
  int status = prepare(config, shared);
  if (status < 0) {
    suite_release(shared);
    return status;
  }
  config->shared = shared;
  return PP_OK;
}

void suite_release(void *argument) {
  suite_shared *shared = argument;
  suite_cameras_fini(&shared->cameras);
  suite_model_fini(&shared->model);
  free(shared);
}

void suite_fini(pp_env *env) {
  suite_shared *shared = env->shared;
  suite_physics_discard(&state_of(env)->physics, &shared->model);
}

/* ------------------------------------------------------------------------------------- calls -- */

static suite_sim sim_of(pp_env *env) {
  suite_state *state = env->state;
  const suite_shared *shared = env->shared;
  return (suite_sim){.shared = shared,
                     .kind = shared->kind,
                     .ids = shared->ids,
                     .numpy = &shared->model.numpy,
                     .physics = &state->physics,
                     .data = &state->physics.data,
                     .values = &state->physics.values,
                     .random = &state->saved.random,
                     .own = own_of(env),
                     .env = env};
}

/* gives a new mjData, or one whose environment was restored, the state of the snapshot */
static void restore(suite_sim *sim) {
  suite_state *state = state_of(sim->env);
  if (state->is_live) return;
  if (state->saved.has_begun && sim->kind->task->apply) sim->kind->task->apply(sim);
  if (state->saved.has_begun) suite_physics_set(sim->physics, numbers_of(sim->env));
  state->is_live = true;
}

/* Makes the mjData if there is none, and calls work. After an error of MuJoCo's or of a callback
 * the mjData is discarded, and the next reset makes another. */
static int run(suite_sim *sim, void (*work)(void *)) {
  suite_shared *shared = sim->env->shared;
  suite_state *state = state_of(sim->env);
  char text[PP_ERROR_TEXT];

  if (!sim->physics->in) {
    state->is_live = false;
    int status = suite_physics_make(sim->physics, &shared->model, sim->env->error);
    if (status < 0) return status;
  }
  sim->physics->error = sim->env->error;
  int status = mujoco_call(&shared->model.sim.library, work, sim, text);
  if (status < 0) {
    pp_fail(sim->env->error, status, "MuJoCo: %.240s", text);
  } else {
    status = sim->status;
  }
  if (status < 0) {
    state->saved.has_begun = 0;
    suite_physics_discard(sim->physics, &shared->model);
  }
  return status;
}

/* Makes place for the newest of stacked observations of this size, which it returns. */
static char *push(suite_sim *sim, size_t size) {
  size_t older = (size_t)sim->shared->frame_stack - 1;
  char *rows = (char *)rows_of(sim->env);
  memmove(rows, rows + size, size * older);
  return rows + size * older;
}

/* The first observation of an episode fills the stack. */
static void fill(suite_sim *sim, size_t size) {
  char *rows = (char *)rows_of(sim->env);
  char *newest = rows + size * (size_t)(sim->shared->frame_stack - 1);
  for (char *row = rows; row < newest; row += size) memcpy(row, newest, size);
}

static void show(suite_sim *sim, bool is_first) {
  size_t size = sizeof(double) * (size_t)sim->shared->row_numbers;
  if (sim->shared->from_pixels) return;
  sim->kind->task->observe(sim, (double *)(void *)push(sim, size));
  if (is_first) fill(sim, size);
}

/* Observes a picture, which must not be drawn within mujoco_call. */
static int show_picture(suite_sim *sim, bool is_first) {
  suite_shared *shared = sim->env->shared;
  size_t size = picture_size(shared);
  if (!shared->from_pixels) return PP_OK;
  int status = suite_cameras_draw(&shared->cameras, sim->physics->in->data,
                                  (uint8_t *)push(sim, size), sim->env->error);
  if (status >= 0 && is_first) fill(sim, size);
  return status;
}

static int begin_episode(suite_sim *sim) {
  restore(sim);
  suite_physics_reset(sim->physics);
  int status = sim->kind->task->begin(sim);
  if (status >= 0) status = suite_physics_forward(sim->physics);
  if (status >= 0) show(sim, true);
  return status;
}

static int advance(suite_sim *sim) {
  const mujoco_simulator *simulator = &sim->shared->model.sim;
  restore(sim);
  memcpy(sim->data->ctrl, sim->action, sizeof(double) * (size_t)simulator->nu);
  int status = suite_physics_step(sim->physics, simulator->frame_skip);
  if (status < 0) return status;
  sim->reward = sim->kind->task->reward(sim);
  show(sim, false);
  if (sim->kind->task->has_ended) sim->has_ended = sim->kind->task->has_ended(sim);
  return PP_OK;
}

static void work_reset(void *argument) {
  suite_sim *sim = argument;
  sim->status = begin_episode(sim);
}

static void work_step(void *argument) {
  suite_sim *sim = argument;
  sim->status = advance(sim);
}

static void work_expose(void *argument) {
  suite_sim *sim = argument;
  restore(sim);
  mjData *target = (mjData *)(uintptr_t)sim->action;
  sim->shared->model.sim.library.mj_copyData(target, sim->physics->in->model,
                                             sim->physics->in->data);
}

int suite_seed(pp_env *env, const pp_seed *seed) {
  suite_sim sim = sim_of(env);
  pp_random_state_seed(sim.random, seed->words, seed->num_words);
  if (sim.kind->task->seed) sim.kind->task->seed(&sim);
  return PP_OK;
}

int suite_reset(pp_env *env, pp_reset *how) {
  suite_sim sim = sim_of(env);
  (void)how;
  int status = run(&sim, work_reset);
  if (status >= 0) status = show_picture(&sim, true);
  if (status >= 0) state_of(env)->saved.has_begun = 1;
  return status;
}

int suite_step(pp_env *env, const void *action, pp_result *result) {
  suite_sim sim = sim_of(env);
  sim.action = action;
  int status = run(&sim, work_step);
  if (status >= 0) status = show_picture(&sim, false);
  if (status < 0) return status;
  result->reward[0] = sim.reward;
  result->terminated = sim.has_ended;
  return PP_OK;
}

/* The row has one observation after the other, each field all frames of one of them. */
int suite_observe(pp_env *env, void *const *fields, bool is_reset) {
  const suite_shared *shared = env->shared;
  (void)is_reset;
  if (shared->from_pixels) {
    if (fields[0])
      memcpy(fields[0], rows_of(env), picture_size(shared) * (size_t)shared->frame_stack);
    return PP_OK;
  }
  for (int32_t i = 0; i < shared->num_fields; i++) {
    size_t size = (size_t)shared->field_size[i];
    if (!fields[i]) continue;
    for (int32_t frame = 0; frame < shared->frame_stack; frame++) {
      const double *row = rows_of(env) + shared->row_numbers * frame + shared->field_at[i];
      memcpy((double *)fields[i] + size * (size_t)frame, row, sizeof(double) * size);
    }
  }
  return PP_OK;
}

int suite_expose(pp_env *env, void *target) {
  suite_sim sim = sim_of(env);
  sim.action = target;
  return run(&sim, work_expose);
}

/* -------------------------------------------------------------------------------- snapshots -- */

int64_t suite_save(pp_env *env, void *bytes) {
  suite_state *state = env->state;
  size_t size = saved_size(env->shared);

  if (bytes && state->is_live && state->physics.in) {
    suite_physics_get(&state->physics, numbers_of(env));
  }
  if (bytes) memcpy(bytes, &state->saved, size);
  return (int64_t)size;
}

int suite_load(pp_env *env, const void *bytes, int64_t size) {
  suite_state *state = env->state;
  state->is_live = false;
  memcpy(&state->saved, bytes, (size_t)size);
  return PP_OK;
}

/* All other numbers are only calculated with: the models have no delayed signals, whose cursors
 * would be indices. */
int suite_check_state(const pp_env *env, const pp_saved *saved) {
  const suite_shared *shared = env->shared;
  suite_saved head;

  if (saved->size != (int64_t)saved_size(shared)) {
    return pp_fail(env->error, PP_ERR_ARGUMENT, "the state has %lld bytes instead of %zu",
                   (long long)saved->size, saved_size(shared));
  }
  memcpy(&head, saved->state, sizeof(head));
  bool is_possible = pp_state_check_range(env, "has_begun", head.has_begun, 0, 1) &&
                     pp_state_check_range(env, "has_gauss", head.random.has_gauss, 0, 1) &&
                     pp_state_check_mt19937(env, &head.random.bits);
  if (!is_possible) return PP_ERR_ARGUMENT;
  if (!head.has_begun && saved->phase != PP_FRESH) {
    return pp_fail(env->error, PP_ERR_ARGUMENT, "has_begun=0 within an episode");
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------------- tasks -- */

void suite_normalize(const pp_numpy_loops *numpy, double *vector, int32_t count) {
  double norm = sqrt(pp_numpy_dot(numpy, vector, vector, count));
  for (int32_t i = 0; i < count; i++) vector[i] /= norm;
}

static void randomize_joint(suite_sim *sim, const suite_joint *joint, const double *range) {
  double *place = sim->data->qpos + joint->place;
  bool is_angle = joint->type == SUITE_HINGE;

  if (joint->type == SUITE_FREE) {
    // dm_control draws from [0, 1) here
    for (int32_t i = 3; i < 7; i++) place[i] = pp_random_state_rand(sim->random);
    suite_normalize(sim->numpy, place + 3, 4);
  } else if (joint->is_limited) {
    *place = pp_random_state_uniform(sim->random, range[0], range[1]);
  } else if (is_angle) {
    *place = pp_random_state_uniform(sim->random, -SUITE_PI, SUITE_PI);
  }
}

void suite_randomize_joints(suite_sim *sim) {
  const suite_model *model = &sim->shared->model;
  for (int32_t i = 0; i < model->num_joints; i++) {
    randomize_joint(sim, &model->joints[i], sim->values->jnt_range + 2 * i);
  }
}

int suite_draw_without_contacts(suite_sim *sim, int (*draw)(suite_sim *sim), int32_t attempts) {
  for (int32_t i = 0; i < attempts; i++) {
    int status = draw(sim);
    if (status >= 0) status = suite_physics_forward(sim->physics);
    if (status < 0) return status;
    if (*sim->data->ncon == 0) return PP_OK;
  }
  return pp_fail(sim->env->error, PP_ERR_ENV,
                 "could not find a collision-free state after %d attempts", attempts);
}

double *suite_observe_positions(const suite_sim *sim, double *row, int32_t left_out) {
  return suite_copy(row, sim->data->qpos + left_out, sim->shared->model.sim.nq - left_out);
}

double *suite_observe_velocities(const suite_sim *sim, double *row) {
  return suite_copy(row, sim->data->qvel, sim->shared->model.sim.nv);
}

int32_t suite_num_hinges(const suite_model *model) {
  int32_t count = 0;
  for (int32_t i = 0; i < model->num_joints; i++) count += model->joints[i].type == SUITE_HINGE;
  return count;
}

double *suite_observe_hinges(const suite_sim *sim, double *row) {
  const suite_model *model = &sim->shared->model;
  int32_t count = suite_num_hinges(model), at = 0;

  for (int32_t i = 0; i < model->num_joints; i++) {
    const suite_joint *joint = &model->joints[i];
    if (joint->type != SUITE_HINGE) continue;
    row[at] = sim->data->qpos[joint->place];
    row[count + at++] = sim->data->qvel[joint->freedom];
  }
  return row + 2 * count;
}
