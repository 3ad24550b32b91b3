/* test/Template-v0: a walk along a corridor; copy this file to make an environment of your own.
 *
 * The opening comment says what the task is, what it equals (its reference, with the version) and
 * where its model comes from. Then follow constants, state, fields, options, dynamics, callbacks
 * and the definition. Inside the repository, the build finds the file by the line of its
 * definition; no other file has to change. Outside, compile it with the installed headers
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

/* The state starts zeroed. It is plain data, so the engine can copy it for a snapshot. A state that
 * contains a pointer also needs init, fini, save and load (example: envs/test/heap.c). */
typedef struct walk {
  int64_t position; /* 0: the left end; the goal is the last cell */
  int64_t slips;
} walk;

/* What all environments share, made by configure. */
typedef struct corridor {
  int64_t last_start;
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
    {.name = "slips", .is_info = 1, .when = PP_ALWAYS, .dtype = PP_INT64},
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
 * the last start that check_reset allows, since check_reset gets no environment. */
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

/* A failing callback writes the value and the cure, and returns an error code. The engine raises a
 * Python exception. No callback may end the process. */
static int check_reset(void *shared, const pp_value *values, pp_error *error) {
  const corridor *it = shared;
  if (values[START].i <= it->last_start) return PP_OK;
  snprintf(error->text, sizeof(error->text), "start=%lld: choose a cell before the goal, 0 .. %lld",
           (long long)values[START].i, (long long)it->last_start);
  return PP_ERR_ARGUMENT;
}

/* Starts an episode. All random numbers come from env->rng, which the engine seeds. */
static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)result;
  walk *it = env->state;
  it->position = how->options ? how->options[START].i : 0;
  it->slips = 0;
  return PP_OK;
}

/* Advances by one action. The engine has zeroed the reward and the flags, has checked that the
 * action is in its space, and applies the time limit. It has also converted the action to the dtype
 * of the definition. To get other dtypes unconverted, list them in .action_dtypes and read
 * env->action_dtype (example: envs/classic_control/pendulum.c). */
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

/* Writes one row: every field whose pointer is not null. It may be called again, or not at all, so
 * it must not change the state. */
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
