/* example/Guess-v0: find a number from 0 to 15 by "higher" and "lower". own_env.py plays it. */
#include "base/random.h"
#include "pp_env.h"

enum { NUMBERS = 16 };

typedef struct game {
  int64_t number;
  float
      hint; /* -1: the number is lower than the last guess, 1: higher, 0: found, or no guess yet */
} game;

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {1}, .low = -1, .high = 1},
};

static int reset(pp_env *env, pp_reset *how) {
  game *it = env->state;
  (void)how;
  it->number = (int64_t)pp_rng_uniform(env->rng, 0, NUMBERS);
  it->hint = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  game *it = env->state;
  int64_t guess = *(const int64_t *)action;
  it->hint = (float)((it->number > guess) - (it->number < guess));
  result->reward[0] = guess == it->number ? 1 : -0.1;
  result->terminated = guess == it->number;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) *(float *)rows[0] = ((const game *)env->state)->hint;
  return PP_OK;
}

const pp_env_def pp_env_guess_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "example/Guess-v0",
    .max_episode_steps = 100,
    .state_size = sizeof(game),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUMBERS},
    .reset = reset,
    .step = step,
    .observe = observe,
};
