/* port/Cart-v1: equals Gymnasium's CartPole-v1 bit for bit. */
#include <math.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/random.h"
#include "pp_env.h"

#define PI 3.141592653589793
#define MAX_X 2.4
#define MAX_THETA (12 * 2 * PI / 360)

typedef struct cart {
  double x, x_dot, theta, theta_dot;
} cart;

static const double lows[4] = {-2 * MAX_X, -INFINITY, -2 * MAX_THETA, -INFINITY};
static const double highs[4] = {2 * MAX_X, INFINITY, 2 * MAX_THETA, INFINITY};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {4}, .lows = lows, .highs = highs},
};

static const pp_option options[] = {
    {.name = "sutton_barto_reward", .type = PP_OPT_BOOL},
};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  cart *it = env->state;
  it->x = pp_rng_uniform(env->rng, -0.05, 0.05);
  it->x_dot = pp_rng_uniform(env->rng, -0.05, 0.05);
  it->theta = pp_rng_uniform(env->rng, -0.05, 0.05);
  it->theta_dot = pp_rng_uniform(env->rng, -0.05, 0.05);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  cart *it = env->state;
  double force = *(const int64_t *)action == 1 ? 10.0 : -10.0;
  double cosine = cos(it->theta), sine = sin(it->theta);
  double temp = (force + 0.05 * (it->theta_dot * it->theta_dot) * sine) / 1.1;
  double theta_acc =
      (9.8 * sine - cosine * temp) / (0.5 * (4.0 / 3.0 - 0.1 * (cosine * cosine) / 1.1));
  double x_acc = temp - 0.05 * theta_acc * cosine / 1.1;
  it->x = it->x + 0.02 * it->x_dot;
  it->x_dot = it->x_dot + 0.02 * x_acc;
  it->theta = it->theta + 0.02 * it->theta_dot;
  it->theta_dot = it->theta_dot + 0.02 * theta_acc;
  result->terminated = fabs(it->x) > MAX_X || fabs(it->theta) > MAX_THETA;
  result->reward[0] = 1;
  if (env->options[0].i) result->reward[0] = result->terminated ? -1 : 0;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const cart *it = env->state;
  float *obs = rows[0];
  if (!obs) return PP_OK;
  obs[0] = (float)it->x;
  obs[1] = (float)it->x_dot;
  obs[2] = (float)it->theta;
  obs[3] = (float)it->theta_dot;
  return PP_OK;
}

const pp_env_def pp_env_cart = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "port/Cart-v1",
    .family = "port",
    .has_reward_threshold = true,
    .reward_threshold = 475.0,
    .max_episode_steps = 500,
    .options = options,
    .num_options = 1,
    .state_size = sizeof(cart),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = reset,
    .step = step,
    .observe = observe,
};
