/* Catch-v0: move a paddle under a falling ball.
 *
 * Equals EnvPool 1.2.5 bit for bit, its generator included. (EnvPool writes outside of its memory
 * with a height of 1.) Model: V. Mnih et al., "Recurrent Models of Visual Attention", 2014. */
#include <stdlib.h>
#include <string.h>

#include "base/mt19937.h"
#include "base/run.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { HEIGHT, WIDTH, NUM_OPTIONS };
enum { LEFT, STAY, RIGHT, NUM_ACTIONS };
enum { MAX_SIDE = 4096 };

typedef struct catch_state {
  pp_mt19937 random;
  int32_t ball_row;
  int32_t ball_column;
  int32_t paddle;
} catch_state;

/* what all environments share */
typedef struct board {
  int32_t height;
  int32_t width;
} board;

/* configure sets the shape */
static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 2, .shape = {10, 5}, .low = 0, .high = 1},
};

static const pp_option options[NUM_OPTIONS] = {
    [HEIGHT] = {.name = "height",
                .type = PP_OPT_INT,
                .number = 10,
                .low = 2,
                .high = MAX_SIDE,
                .doc = "rows of the board"},
    [WIDTH] = {.name = "width",
               .type = PP_OPT_INT,
               .number = 5,
               .low = 1,
               .high = MAX_SIDE,
               .doc = "columns of the board"},
};

static int configure(pp_config *config) {
  board *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->height = (int32_t)config->options[HEIGHT].i;
  shared->width = (int32_t)config->options[WIDTH].i;
  config->fields[0].shape[0] = shared->height;
  config->fields[0].shape[1] = shared->width;
  config->shared = shared;
  return PP_OK;
}

static int seed(pp_env *env, const pp_seed *given) {
  catch_state *it = env->state;
  pp_mt19937_seed(&it->random, given->words[0]);
  return PP_OK;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  catch_state *it = env->state;
  const board *shared = env->shared;
  uint32_t width = (uint32_t)shared->width;
  it->ball_row = 0;
  it->ball_column = (int32_t)pp_mt19937_below(&it->random, width);
  it->paddle = (int32_t)(width / 2);
  return PP_OK;
}

/* moves paddle and ball; returns the reward */
static double move(catch_state *it, const board *shared, int64_t action, uint8_t *terminated) {
  int32_t paddle = it->paddle + (int32_t)(action - STAY), last = shared->width - 1;
  it->paddle = paddle < 0 ? 0 : paddle > last ? last : paddle;
  // a forged snapshot may go on when the ball is down
  if (it->ball_row < shared->height - 1) it->ball_row++;
  if (it->ball_row < shared->height - 1) return 0;
  *terminated = 1;
  return it->ball_column == it->paddle ? 1 : -1;
}

/* marks ball and paddle on an empty board */
static void mark(const catch_state *it, const board *shared, float *cells) {
  cells[(size_t)it->ball_row * (size_t)shared->width + (size_t)it->ball_column] = 1;
  cells[(size_t)(shared->height - 1) * (size_t)shared->width + (size_t)it->paddle] = 1;
}

static size_t num_cells(const board *shared) {
  return (size_t)shared->height * (size_t)shared->width;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = move(env->state, env->shared, *(const int64_t *)action, &result->terminated);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const board *shared = env->shared;
  if (!rows[0]) return PP_OK;
  memset(rows[0], 0, num_cells(shared) * sizeof(float));
  mark(env->state, shared, rows[0]);
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  const size_t cells = num_cells(shared);
  float *rows = run->fields[0];
  if (rows) memset(rows, 0, (size_t)run->count * cells * sizeof(*rows));
  for (int32_t i = 0; i < run->count; i++) {
    /* the ball would fall out of the board */
    if (run->ended[i]) continue;
    catch_state *it = pp_run_state(run, i);
    run->reward[i] = move(it, shared, actions[i], &run->terminated[i]);
    if (rows) mark(it, shared, rows + (size_t)i * cells);
  }
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const catch_state *it = saved->state;
  const board *shared = env->shared;
  return pp_state_check_mt19937(env, &it->random) &&
                 pp_state_check_range(env, "ball_row", it->ball_row, 0, shared->height - 1) &&
                 pp_state_check_range(env, "ball_column", it->ball_column, 0, shared->width - 1) &&
                 pp_state_check_range(env, "paddle", it->paddle, 0, shared->width - 1)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_catch_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Catch-v0",
    .family = "envpool_toy_text",
    .reference = "envpool 1.2.5 Catch-v0",
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(catch_state),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},
    .configure = configure,
    .release = free,
    .seed = seed,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
};
