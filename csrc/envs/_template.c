/* test/Template-v0: a walk along a corridor; copy this file to make an environment of your own.
 *
 * In the opening comment say what the task is, what it equals (its reference, with the version) and
 * where its model comes from. Then: constants, state, fields, options, dynamics, callbacks, and
 * last the definition. Inside the repository the build finds the file by the line of its
 * definition, and nothing else changes. Outside it, compile the file against the installed headers
 *
 *     gcc -std=c11 -O3 -ffp-contract=off -shared -fPIC -I"$INCLUDE" corridor.c -o corridor.so -lm
 *
 * with INCLUDE from parallel_pool.get_include(), and load the library at run time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h" /* NumPy's generator */
#include "pp_env.h"      /* the only header of the engine that an environment needs */

/* ------------------------------------------------------------------------------- constants -- */

enum { CELL = 8, MAX_LENGTH = 100 }; /* CELL: pixels of a cell's side when rendered */

/* ------------------------------------------------------------------------------------ data -- */

/* The state is plain data, so the engine can copy it for a snapshot; with a pointer in it, give
 * init, fini, save and load as well (envs/test/heap.c does). It starts zeroed. */
typedef struct walk {
  int64_t position; /* 0: the left end; the goal is the last cell */
  int64_t slips;
} walk;

/* What configure makes for all environments together. */
typedef struct corridor {
  int64_t last_start;
} corridor;

/* What the environment returns, observations first, then infos. A single observation is called
 * "obs"; several, with names of their own, make a Dict space. Every call of observe must write
 * every field that is wanted. */
static const pp_field fields[] = {
    {.name = "obs", /* how much of the way is done, and how much is left */
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {2},
     .low = 0,
     .high = 1},
    {.name = "slips", .is_info = 1, .when = PP_ALWAYS, .dtype = PP_INT64},
};

/* Keyword arguments of the constructor; the engine checks type and range, and fills in defaults. */
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

/* Runs once per pool, before any environment exists: checks options against each other, may change
 * the fields, and may make what all environments read but none writes. Here that is the start
 * that check_reset allows, since check_reset sees no environment. */
static int configure(pp_config *config) {
  corridor *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->last_start = config->options[LENGTH].i - 2;
  config->shared = shared;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

/* A failing callback names the value it saw and the cure, and returns an error code. The engine
 * turns it into a Python exception; nothing here may end the process. */
static int check_reset(void *shared, const pp_value *values, pp_error *error) {
  const corridor *it = shared;
  if (values[START].i <= it->last_start) return PP_OK;
  snprintf(error->text, sizeof(error->text), "start=%lld: choose a cell before the goal, 0 .. %lld",
           (long long)values[START].i, (long long)it->last_start);
  return PP_ERR_ARGUMENT;
}

/* Starts an episode. All randomness comes from env->rng, which the engine seeds. */
static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)result;
  walk *it = env->state;
  it->position = how->options ? how->options[START].i : 0;
  it->slips = 0;
  return PP_OK;
}

/* Advances by one action. The engine has zeroed the reward and the flags, has checked that the
 * action is in its space, and sees to the time limit. Whatever dtype the caller's action had, here
 * it has the described one; where that must not be so, name the others in .action_dtypes, and look
 * at env->action_dtype (envs/classic_control/pendulum.c does). */
static int step(pp_env *env, const void *action, pp_result *result) {
  walk *it = env->state;
  const pp_value *chosen = env->options;
  int64_t stride = *(const int64_t *)action == 1 ? 1 : -1;
  if (pp_rng_double(env->rng) < chosen[SLIP_PROBABILITY].f) {
    stride = -stride;
    it->slips++;
  }
  it->position += stride;
  if (it->position < 0) it->position = 0;

  result->terminated = it->position == chosen[LENGTH].i - 1;
  result->reward[0] = result->terminated ? 1 : -0.01;
  return PP_OK;
}

/* Writes one row; it may be called again, or not at all, so it must not change the state. */
static int observe(pp_env *env, void *const *rows, int32_t is_reset) {
  (void)is_reset;
  const walk *it = env->state;
  float *obs = rows[0];
  int64_t *slips = rows[1];
  if (obs) {
    obs[0] = (float)it->position / (float)(env->options[LENGTH].i - 1);
    obs[1] = 1 - obs[0];
  }
  if (slips) *slips = it->slips;
  return PP_OK;
}

/* Draws the corridor: grey cells, a green goal, a red walker. Called without pixels first, to learn
 * the size. Leave render out if there is nothing to see. */
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

/* The line that the build looks for. What is left out is zero: no callback, no limit. */
const pp_env_def pp_env_test_template_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Template-v0",
    .family = "test",
    .reference = "none",
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
    .render = render,
};
