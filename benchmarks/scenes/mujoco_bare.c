/* The upper limit of MuJoCo pools: a loop over mj_step with as many threads, the same resets and
 * the same actions as a pool, but without observations, rewards, infos, queues or batches.
 *
 * mujoco_bare.py builds it as a library and calls its exported functions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/normal.h"
#include "base/random.h"
#include "envs/mujoco/library.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAX_LIMITS = 4, MAX_THREADS = 64 };

/* The task, and how the loop runs it. Setting in mujoco_bare.py has the same members. */
typedef struct setting {
  const char *link;
  const float *actions; /* num_rows x num_envs x nu */
  int32_t num_rows;
  int32_t num_envs;
  int32_t num_threads;
  int32_t data_per_thread; /* bool: an mjData for each thread, not for each environment */
  int32_t frame_skip;
  int32_t max_episode_steps;
  int32_t has_normal_velocities; /* bool: initial velocities are normal, not uniform */
  int32_t num_limits;
  double noise;                 /* of the initial positions and velocities */
  int32_t position[MAX_LIMITS]; /* an episode ends when one of these leaves its range */
  double low[MAX_LIMITS];
  double high[MAX_LIMITS];
} setting;

/* An mjData and pointers into it. */
typedef struct simulation {
  mjData *data;
  double *qpos;
  double *qvel;
  double *ctrl;
} simulation;

typedef struct environment {
  simulation own; /* data is null if the environment uses its thread's mjData */
  double *state;  /* its state between two steps, if it has no mjData of its own; else null */
  pp_rng rng;
  int64_t steps; /* in all episodes */
  int32_t elapsed;
  bool is_over;
} environment;

typedef struct bare bare;

typedef struct player {
  bare *all;
  pthread_t thread;
  simulation shared; /* data is null if each environment has an mjData of its own */
  int32_t first, end, next;
  const char *failure;
} player;

struct bare {
  setting set;
  mujoco_library library;
  mujoco_places places;
  const mjModel *model;
  unsigned spec;
  int32_t nq, nv, nu;
  double *start; /* positions, then velocities */
  environment *environments;
  player players[MAX_THREADS];
  /* Steps still to do. All threads decrement it; relaxed, as nothing is published with it. */
  _Atomic int64_t budget;
};

/* -------------------------------------------------------------------------------- one step -- */

static void restart(const bare *it, environment *env, const simulation *in) {
  double noise = it->set.noise;

  it->library.mj_resetData(it->model, in->data);
  for (int32_t i = 0; i < it->nq; i++) {
    in->qpos[i] = it->start[i] + pp_rng_uniform(&env->rng, -noise, noise);
  }
  for (int32_t i = 0; i < it->nv; i++) {
    double drawn = it->set.has_normal_velocities ? noise * pp_rng_normal(&env->rng)
                                                 : pp_rng_uniform(&env->rng, -noise, noise);
    in->qvel[i] = it->start[it->nq + i] + drawn;
  }
  it->library.mj_forward(it->model, in->data);
  env->elapsed = 0;
  env->is_over = false;
}

static bool is_healthy(const setting *set, const double *qpos) {
  for (int32_t i = 0; i < set->num_limits; i++) {
    double value = qpos[set->position[i]];
    if (!(set->low[i] <= value && value <= set->high[i])) return false;
  }
  return true;
}

static void advance(const bare *it, environment *env, int32_t index, const simulation *in) {
  const setting *set = &it->set;
  int64_t row = env->steps % set->num_rows;
  const float *action = set->actions + (row * set->num_envs + index) * it->nu;

  for (int32_t i = 0; i < it->nu; i++) in->ctrl[i] = (double)action[i];
  for (int32_t i = 0; i < set->frame_skip; i++) it->library.mj_step(it->model, in->data);
  env->elapsed++;
  env->is_over = env->elapsed >= set->max_episode_steps || !is_healthy(set, in->qpos);
}

/* As in a pool, a reset takes the place of a step. */
static void step(const bare *it, environment *env, int32_t index, const simulation *shared) {
  const simulation *in = env->own.data ? &env->own : shared;
  bool is_over = env->is_over;

  if (env->state && !is_over) it->library.mj_setState(it->model, in->data, env->state, it->spec);
  if (is_over) {
    restart(it, env, in);
  } else {
    advance(it, env, index, in);
  }
  if (env->state) it->library.mj_getState(it->model, in->data, env->state, it->spec);
  env->steps++;
}

/* Steps the thread's environments in turn until the budget of all threads is used up. A faster
 * thread does more steps, and no thread waits for another. */
static void play_all(void *argument) {
  player *self = argument;
  bare *all = self->all;
  while (atomic_fetch_sub_explicit(&all->budget, 1, memory_order_relaxed) > 0) {
    step(all, &all->environments[self->next], self->next, &self->shared);
    if (++self->next == self->end) self->next = self->first;
  }
}

static void *run(void *argument) {
  player *self = argument;
  char text[PP_ERROR_TEXT];
  int status = mujoco_call(&self->all->library, play_all, self, text);
  self->failure = status < 0 ? "MuJoCo reported an error" : NULL;
  return NULL;
}

/* ------------------------------------------------------------------------ create and destroy -- */

static double *field_of(const simulation *in, int64_t place) {
  double *field;
  memcpy(&field, (char *)in->data + place, sizeof(field));
  return field;
}

static int make_simulation(const bare *it, simulation *in) {
  in->data = it->library.mj_makeData(it->model);
  if (!in->data) return PP_ERR_MEMORY;
  in->qpos = field_of(in, it->places.qpos);
  in->qvel = field_of(in, it->places.qvel);
  in->ctrl = field_of(in, it->places.ctrl);
  return PP_OK;
}

static int read_link(bare *it, pp_error *error) {
  const char *names[] = {"model", "state_spec", "nq", "nv", "nu"};
  pp_value link = {.s = it->set.link};
  int64_t numbers[5];
  int status = mujoco_link_read(&link, &it->library, &it->places, error);

  for (int i = 0; i < 5 && status >= 0; i++) {
    status = mujoco_link_number(&link, names[i], &numbers[i], error);
  }
  if (status < 0) return status;
  it->model = (const mjModel *)(uintptr_t)numbers[0];
  it->spec = (unsigned)numbers[1];
  it->nq = (int32_t)numbers[2];
  it->nv = (int32_t)numbers[3];
  it->nu = (int32_t)numbers[4];
  return PP_OK;
}

/* Environment i gets the seed that a pool with seed 1 would give it. */
static int make_environment(const bare *it, environment *env, int32_t index) {
  uint32_t seed = 1 + (uint32_t)index;
  pp_rng_seed(&env->rng, &seed, 1);
  env->is_over = true;
  if (!it->set.data_per_thread) return make_simulation(it, &env->own);
  size_t numbers = (size_t)it->library.mj_stateSize(it->model, it->spec);
  env->state = calloc(numbers, sizeof(double));
  return env->state ? PP_OK : PP_ERR_MEMORY;
}

static int fill(bare *it, pp_error *error) {
  const setting *set = &it->set;
  int status = read_link(it, error);
  simulation fresh;

  if (status < 0) return status;
  it->environments = calloc((size_t)set->num_envs, sizeof(*it->environments));
  it->start = calloc((size_t)(it->nq + it->nv), sizeof(double));
  if (!it->environments || !it->start || make_simulation(it, &fresh) < 0) return PP_ERR_MEMORY;
  memcpy(it->start, fresh.qpos, sizeof(double) * (size_t)it->nq);
  memcpy(it->start + it->nq, fresh.qvel, sizeof(double) * (size_t)it->nv);
  it->library.mj_deleteData(fresh.data);

  for (int32_t i = 0; i < set->num_envs && status >= 0; i++) {
    status = make_environment(it, &it->environments[i], i);
  }
  for (int32_t t = 0; t < set->num_threads && status >= 0; t++) {
    int32_t first = set->num_envs * t / set->num_threads;
    it->players[t] = (player){.all = it,
                              .first = first,
                              .next = first,
                              .end = set->num_envs * (t + 1) / set->num_threads};
    if (set->data_per_thread) status = make_simulation(it, &it->players[t].shared);
  }
  return status;
}

EXPORT void bare_destroy(bare *it) {
  for (int32_t i = 0; it->environments && i < it->set.num_envs; i++) {
    if (it->environments[i].own.data) it->library.mj_deleteData(it->environments[i].own.data);
    free(it->environments[i].state);
  }
  for (int32_t t = 0; t < it->set.num_threads; t++) {
    if (it->players[t].shared.data) it->library.mj_deleteData(it->players[t].shared.data);
  }
  free(it->environments);
  free(it->start);
  free(it);
}

/* Returns null on failure, with the reason in text (PP_ERROR_TEXT bytes). What the setting points
 * to must outlive the loop. */
EXPORT bare *bare_create(const setting *set, char *text) {
  pp_error error = {.text = "no memory"};
  bare *it = calloc(1, sizeof(*it));
  int status = PP_ERR_MEMORY;

  if (it) {
    it->set = *set;
    status = fill(it, &error);
  }
  if (status >= 0) return it;
  snprintf(text, PP_ERROR_TEXT, "%s", error.text);
  if (it) bare_destroy(it);
  return NULL;
}

/* ------------------------------------------------------------------------------------ play -- */

/* Does this many environment steps in all threads together. Returns null, or the reason if it
 * failed. */
EXPORT const char *bare_play(bare *it, int64_t steps) {
  _Atomic(mujoco_clock *) *clock = it->library.mjcb_time;
  mujoco_clock *found = NULL;
  const char *failure = NULL;
  int32_t started = 0;

  // only Python's bindings install a clock that times MuJoCo's parts; a C program has none
  if (clock) found = atomic_exchange(clock, NULL);
  atomic_store_explicit(&it->budget, steps, memory_order_relaxed);
  for (; started < it->set.num_threads; started++) {
    player *self = &it->players[started];
    if (pthread_create(&self->thread, NULL, run, self)) {
      failure = "pthread_create failed";
      break;
    }
  }
  for (int32_t t = 0; t < started; t++) {
    pthread_join(it->players[t].thread, NULL);
    if (it->players[t].failure) failure = it->players[t].failure;
  }
  if (clock) atomic_store(clock, found);
  return failure;
}

/* Copies nq positions and nv velocities of one environment. Call it between two plays. */
EXPORT void bare_state(const bare *it, int32_t index, double *qpos, double *qvel) {
  const environment *env = &it->environments[index];
  const simulation *in = env->state ? &it->players[0].shared : &env->own;
  if (env->state) it->library.mj_setState(it->model, in->data, env->state, it->spec);
  memcpy(qpos, in->qpos, sizeof(double) * (size_t)it->nq);
  memcpy(qvel, in->qvel, sizeof(double) * (size_t)it->nv);
}
