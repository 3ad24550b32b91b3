/* mine/MyEnv-v0: a cart on a track must stop at the mark. A start for an environment of your own:
 * change it from top to bottom.
 *
 *     python -m parallel_pool check my_env.c     compiles it and finds mistakes
 *     parallel_pool.load_source("my_env.c")      compiles it and returns its ids
 */
#include <math.h>

#include "base/random.h" /* NumPy's generator */
#include "pp_env.h"      /* explains each member of the definition below */

/* ---------------------------------------------------------------------------------- state -- */

/* Everything that an environment knows. It starts zeroed, and the engine copies it for snapshots,
 * so it holds no pointers. */
typedef struct cart {
  double position; /* the mark is at 0, the ends of the track are at -2 and 2 */
  double speed;
} cart;

static const double end = 2, top_speed = 1;

/* ------------------------------------------------------ what the environment shows and takes -- */

static const double lows[] = {-2, -1}, highs[] = {2, 1};

/* Observations first, then infos. A single observation is named "obs". */
static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .lows = lows, .highs = highs},
    {.name = "distance", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64},
};

/* Keyword arguments of the constructor; Python checks types and ranges. */
enum { PUSH, NUM_OPTIONS };

static const pp_option options[NUM_OPTIONS] = {
    [PUSH] = {.name = "push",
              .type = PP_OPT_FLOAT,
              .number = 0.1,
              .low = 0.01,
              .high = 1,
              .doc = "how much one action changes the speed"},
};

/* ------------------------------------------------------------------------------- callbacks -- */

static double between(double low, double value, double high) {
  return value < low ? low : value > high ? high : value;
}

/* Starts an episode. All random numbers come from env->rng, which the engine seeds. */
static int reset(pp_env *env, pp_reset *how) {
  cart *it = (cart *)env->state;
  (void)how;
  it->position = pp_rng_uniform(env->rng, -1, 1);
  it->speed = 0;
  return PP_OK;
}

/* Advances by one action. The engine has checked the action, zeroed the result, and applies the
 * time limit. */
static int step(pp_env *env, const void *action, pp_result *result) {
  cart *it = (cart *)env->state;
  int64_t direction = *(const int64_t *)action - 1; /* 0: left, 1: coast, 2: right */
  double speed = it->speed + (double)direction * env->options[PUSH].f;

  it->speed = between(-top_speed, speed, top_speed);
  it->position = between(-end, it->position + 0.2 * it->speed, end);

  int has_stopped = fabs(it->position) < 0.1 && fabs(it->speed) < 0.15;
  int has_crashed = fabs(it->position) == end;
  result->reward[0] = has_stopped ? 10 : has_crashed ? -10 : -fabs(it->position);
  result->terminated = has_stopped || has_crashed;
  return PP_OK;
}

/* Writes one row: each field whose pointer is not null. It must not change the state. */
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const cart *it = (const cart *)env->state;
  float *obs = (float *)rows[0];
  double *distance = (double *)rows[1];
  (void)is_reset;
  if (obs) {
    obs[0] = (float)it->position;
    obs[1] = (float)it->speed;
  }
  if (distance) *distance = fabs(it->position);
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

/* parallel_pool finds this line. Members that are left out are zero: no callback, no limit. */
const pp_env_def pp_env_my_env = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "mine/MyEnv-v0",
    .has_reward_threshold = true,
    .reward_threshold = 5,
    .max_episode_steps = 100,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(cart),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .reset = reset,
    .step = step,
    .observe = observe,
};
