/* test/Template-v0: a walk along a corridor; copy this file to make an environment of your own.
 *
 * The opening comment says what the task is, what it equals (its reference, with the version) and
 * where its model comes from. Then follow constants, state, fields, options, dynamics, callbacks
 * and the definition. Inside the repository, the build finds the file by the line of its
 * definition; no other file has to change. Outside, compile it with the installed headers
 *
 *     gcc -std=c11 -O3 -ffp-contract=off -shared -fPIC -I"$INCLUDE" corridor.c -o corridor.so -lm
 *
 * with INCLUDE from parallel_pool.get_include(), and load the library at run time. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h" /* NumPy's generator */
#include "base/run.h"
#include "base/state_check.h" /* ranges of restored values */
#include "pp_env.h"           /* the only header of the engine that an environment needs */

/* ------------------------------------------------------------------------------- constants -- */

enum { CELL = 8, MAX_LENGTH = 100 }; /* CELL: pixels of a cell's side when rendered */

/* ------------------------------------------------------------------------------------ data -- */

/* The state starts zeroed. It is plain data, so the engine can copy it for a snapshot. A state that
 * contains a pointer also needs init, fini, save and load (example: envs/test/heap.c). */
typedef struct walk {
  int64_t position; /* 0: the left end; the goal is the last cell */
  int64_t slips;
} walk;

/* What all environments share, made by configure. */
typedef struct corridor {
  int64_t length;
  double slip_probability;
} corridor;

/* What the environment returns, observations first, then infos. A single observation is named
 * "obs". Several observations with names of their own make a Dict space. */
static const pp_field fields[] = {
    {.name = "obs", /* the fractions of the way behind and ahead */
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {2},
     .low = 0,
     .high = 1},
    {.name = "slips", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
};

/* Keyword arguments of the constructor. The engine checks types and ranges, and sets defaults. */
enum { LENGTH, SLIP_PROBABILITY, NUM_OPTIONS };

static const pp_option options[NUM_OPTIONS] = {
    [LENGTH] = {.name = "length",
                .type = PP_OPT_INT,
                .number = 10,
                .low = 2,
                .high = MAX_LENGTH,
                .doc = "cells of the corridor"},
    [SLIP_PROBABILITY] = {.name = "slip_probability",
                          .type = PP_OPT_FLOAT,
                          .number = 0.1,
                          .low = 0,
                          .high = 1,
                          .doc = "chance that a step goes the wrong way"},
};

/* Keys of reset(options={...}). */
enum { START, NUM_RESET_OPTIONS };

static const pp_option reset_options[NUM_RESET_OPTIONS] = {
    [START] = {.name = "start",
               .type = PP_OPT_INT,
               .number = 0,
               .low = 0,
               .high = MAX_LENGTH - 2,
               .doc = "the cell to start in"},
};

/* ------------------------------------------------------------------------------- callbacks -- */

/* Runs once for each pool, before any environment exists. It may check options against each other,
 * change the fields, and make data that all environments read and none writes. Here these data are
 * the options, since check_reset and step_many get no environment. */
static int configure(pp_config *config) {
  corridor *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->length = config->options[LENGTH].i;
  shared->slip_probability = config->options[SLIP_PROBABILITY].f;
  config->shared = shared;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

/* A failing callback writes the value and the cure, and returns an error code. The engine raises a
 * Python exception. No callback may end the process. */
static int check_reset(void *shared, const pp_value *values, pp_error *error) {
  const corridor *it = shared;
  if (values[START].i <= it->length - 2) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "start=%lld: choose a cell before the goal, 0 .. %lld",
                 (long long)values[START].i, (long long)it->length - 2);
}

/* Starts an episode. All random numbers come from env->rng, which the engine seeds. */
static int reset(pp_env *env, pp_reset *how) {
  walk *it = env->state;
  it->position = how->options ? how->options[START].i : 0;
  it->slips = 0;
  return PP_OK;
}

/* Walks one cell, and returns the reward. What a step does is written once, here, and what a row
 * shows once, in show below; step, observe and step_many only call them. */
static double advance(const corridor *shared, walk *it, pp_rng *rng, int64_t action,
                      uint8_t *terminated) {
  int64_t stride = action == 1 ? 1 : -1;
  if (pp_rng_double(rng) < shared->slip_probability) {
    stride = -stride;
    it->slips++;
  }
  it->position += stride;
  if (it->position < 0) it->position = 0;

  *terminated = it->position == shared->length - 1;
  return *terminated ? 1 : -0.01;
}

/* Advances by one action. The engine has zeroed the reward and the flags, has checked that the
 * action is in its space, and applies the time limit. It has also converted the action to the dtype
 * of the definition. To get other dtypes unconverted, list them in .action_dtypes and read
 * env->action_dtype (example: envs/classic_control/pendulum.c). */
static int step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] =
      advance(env->shared, env->state, env->rng, *(const int64_t *)action, &result->terminated);
  return PP_OK;
}

static void show(const corridor *shared, const walk *it, float *obs) {
  obs[0] = (float)it->position / (float)(shared->length - 1);
  obs[1] = 1 - obs[0];
}

/* Writes one row: every field whose pointer is not null. It may be called again, or not at all, so
 * it must not change the state. */
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const walk *it = env->state;
  int64_t *slips = rows[1];
  if (rows[0]) show(env->shared, it, rows[0]);
  if (slips) *slips = it->slips;
  return PP_OK;
}

/* Steps several environments and writes their rows: a loop over advance and show. Optional: for
 * environments so cheap that two calls for each would cost as much as the step. Environments
 * whose episode has ended (run->ended) are reset afterwards, whatever is written here. */
static int step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  float *obs = run->fields[0];
  int64_t *slips = run->fields[1];
  for (int32_t i = 0; i < run->count; i++) {
    walk *it = pp_run_state(run, i);
    run->reward[i] = advance(shared, it, &run->rngs[i], actions[i], &run->terminated[i]);
    if (obs) show(shared, it, obs + 2 * i);
    if (slips) slips[i] = it->slips;
  }
  return PP_OK;
}

/* Refuses the state of a forged snapshot, before it is restored. Without this, a position anywhere
 * would be stepped and drawn. Only values that index, count or end loops need a check; an
 * environment whose state is nothing but floats to calculate with needs no check_state. */
static int check_state(const pp_env *env, const pp_saved *saved) {
  const walk *it = saved->state;
  const corridor *shared = env->shared;
  return pp_state_check_range(env, "position", it->position, 0, shared->length - 1) &&
                 pp_state_check_range(env, "slips", it->slips, 0, PP_STATE_MOST)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

/* Draws the corridor: grey cells, a green goal, a red walker. The engine first calls it without
 * pixels, to learn the size. Optional. */
static int render(pp_env *env, pp_image *image) {
  const walk *it = env->state;
  int32_t length = (int32_t)env->options[LENGTH].i;
  image->width = length * CELL;
  image->height = CELL;
  if (!image->pixels) return PP_OK;

  static const uint8_t floor[3] = {128, 128, 128}, goal[3] = {0, 160, 0}, walker[3] = {200, 0, 0};
  for (int32_t i = 0; i < image->width * image->height; i++) {
    int32_t cell = i % image->width / CELL;
    const uint8_t *color = cell == it->position ? walker : cell == length - 1 ? goal : floor;
    memcpy(image->pixels + 3 * (size_t)i, color, 3);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

/* The build finds this line. Members that are left out are zero: no callback, no limit. */
const pp_env_def pp_env_test_template_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Template-v0",
    .family = "test",
    .reference = "none",
    .has_reward_threshold = true,
    .reward_threshold = 0.8,
    .max_episode_steps = 200,
    .options = options,
    .num_options = NUM_OPTIONS,
    .reset_options = reset_options,
    .num_reset_options = NUM_RESET_OPTIONS,
    .state_size = sizeof(walk),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .configure = configure,
    .release = release,
    .check_reset = check_reset,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
    .render = render,
};
