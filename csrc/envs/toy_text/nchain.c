/* NChain-v0: go forward along a chain for a large reward, or back to its start for a small one.
 *
 * Equals EnvPool 1.2.5 bit for bit, its generator included. Model: M. Strens, "A Bayesian Framework
 * for Reinforcement Learning", 2000. */
#include <stdbool.h>

#include "base/mt19937.h"
#include "base/run.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { FORWARD, BACK, NUM_ACTIONS };
enum { LENGTH = 5, SMALL = 2, LARGE = 10 };

/* the probability that the other action is taken */
#define SLIP 0.2

typedef struct chain {
  pp_mt19937 random;
  int64_t position;
} chain;

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_INT64, .space = PP_DISCRETE, .n = LENGTH},
};

/* Returns a number in [0, 1), as std::uniform_real_distribution of libstdc++ draws it. */
static double draw(pp_mt19937 *random) {
  double low = pp_mt19937_next(random);
  return (low + pp_mt19937_next(random) * 0x1p32) * 0x1p-64;
}

static int seed(pp_env *env, const pp_seed *given) {
  chain *it = env->state;
  pp_mt19937_seed(&it->random, given->words[0]);
  return PP_OK;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  chain *it = env->state;
  it->position = 0;
  return PP_OK;
}

/* goes along the chain; returns the reward */
static double go(chain *it, int64_t action) {
  bool slips = draw(&it->random) < SLIP;
  if ((action == BACK) != slips) {
    it->position = 0;
    return SMALL;
  }
  if (it->position == LENGTH - 1) return LARGE;
  it->position++;
  return 0;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = go(env->state, *(const int64_t *)action);
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  (void)shared;
  const int64_t *actions = run->actions;
  int64_t *row = run->fields[0];
  for (int32_t i = 0; i < run->count; i++) {
    /* the engine can't take back what a generator in the state draws */
    if (run->ended[i]) continue;
    chain *it = pp_run_state(run, i);
    run->reward[i] = go(it, actions[i]);
    if (row) row[i] = it->position;
  }
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const chain *it = env->state;
  if (rows[0]) *(int64_t *)rows[0] = it->position;
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const chain *it = saved->state;
  return pp_state_check_mt19937(env, &it->random) &&
                 pp_state_check_range(env, "position", it->position, 0, LENGTH - 1)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_nchain_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "NChain-v0",
    .family = "envpool_toy_text",
    .reference = "envpool 1.2.5 NChain-v0",
    .max_episode_steps = 1000,
    .state_size = sizeof(chain),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},
    .seed = seed,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
};
