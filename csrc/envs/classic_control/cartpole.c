/* CartPole-v0 and CartPole-v1: keep a pole upright on a cart by pushing it left or right.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/cartpole.py) bit for bit: dynamics in float64 in the
 * same order of operations, observations rounded to float32. Model: Barto, Sutton and Anderson,
 * "Neuronlike adaptive elements that can solve difficult learning control problems", 1983.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/interval.h"
#include "base/random.h"
#include "base/sincos.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

#define GRAVITY 9.8
#define POLE_MASS 0.1
#define TOTAL_MASS (0.1 + 1.0)
#define HALF_LENGTH 0.5
#define POLE_MOMENT (0.1 * 0.5)
#define TIME_STEP 0.02
#define MAX_X 2.4
#define MAX_THETA (12 * 2 * PI / 360)

/* environments that step_many computes at a time; their temporary arrays fit into the L1 cache */
enum { TILE = PP_SINCOS_MANY };

/* ------------------------------------------------------------------------------------ data -- */

typedef struct cartpole {
  double x;
  double x_dot;
  double theta;
  double theta_dot;
} cartpole;

/* what all environments share: the reward of a step that does not end the episode, and of one that
 * does */
typedef struct rules {
  double reward_alive;
  double reward_fallen;
} rules;

static const double lows[4] = {-2 * MAX_X, -INFINITY, -2 * MAX_THETA, -INFINITY};
static const double highs[4] = {2 * MAX_X, INFINITY, 2 * MAX_THETA, INFINITY};

/* force by action; a table, because a branch on a random action is mispredicted half of the time */
static const double forces[2] = {-10.0, 10.0};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {4}, .lows = lows, .highs = highs},
};

static const pp_option options[] = {
    {.name = "sutton_barto_reward",
     .type = PP_OPT_BOOL,
     .doc = "reward 0 for every step and -1 for the one that ends the episode"},
};

static const pp_option reset_options[] = {
    {.name = "low",
     .type = PP_OPT_FLOAT,
     .number = -0.05,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "lower bound of the initial state"},
    {.name = "high",
     .type = PP_OPT_FLOAT,
     .number = 0.05,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "upper bound of the initial state"},
};

/* -------------------------------------------------------------------------------- dynamics -- */

/* computes the accelerations of pole and cart */
static inline void accelerate(double force, double theta_dot, double sine, double cosine,
                              double *theta_acc, double *x_acc) {
  double temp = (force + POLE_MOMENT * (theta_dot * theta_dot) * sine) / TOTAL_MASS;
  *theta_acc = (GRAVITY * sine - cosine * temp) /
               (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS));
  *x_acc = temp - POLE_MOMENT * *theta_acc * cosine / TOTAL_MASS;
}

/* Computes one Euler step. It takes and returns the state by value, because a state that is written
 * in halves and then read whole defeats the processor's store forwarding. */
static inline cartpole integrate(cartpole cart, double theta_acc, double x_acc) {
  return (cartpole){
      .x = cart.x + TIME_STEP * cart.x_dot,
      .x_dot = cart.x_dot + TIME_STEP * x_acc,
      .theta = cart.theta + TIME_STEP * cart.theta_dot,
      .theta_dot = cart.theta_dot + TIME_STEP * theta_acc,
  };
}

/* Returns whether the pole has fallen or the cart has left the track. */
static inline bool has_failed(cartpole cart) {
  return (fabs(cart.x) > MAX_X) | (fabs(cart.theta) > MAX_THETA);
}

static inline void write_observation(cartpole cart, float *row) {
  row[0] = (float)cart.x;
  row[1] = (float)cart.x_dot;
  row[2] = (float)cart.theta;
  row[3] = (float)cart.theta_dot;
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int configure(pp_config *config) {
  rules *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  bool sutton_barto = config->options[0].i != 0;
  shared->reward_alive = sutton_barto ? 0 : 1;
  shared->reward_fallen = sutton_barto ? -1 : 1;
  config->shared = shared;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

static int check_reset(void *shared, const pp_value *values, pp_error *error) {
  (void)shared;
  return pp_interval_check(values[0].f, values[1].f, error);
}

static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)result;
  cartpole *cart = env->state;
  double low = how->options ? how->options[0].f : reset_options[0].number;
  double high = how->options ? how->options[1].f : reset_options[1].number;
  cart->x = pp_rng_uniform(env->rng, low, high);
  cart->x_dot = pp_rng_uniform(env->rng, low, high);
  cart->theta = pp_rng_uniform(env->rng, low, high);
  cart->theta_dot = pp_rng_uniform(env->rng, low, high);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  cartpole *cart = env->state;
  const rules *shared = env->shared;
  double force = forces[*(const int64_t *)action == 1];
  double sine, cosine, theta_acc, x_acc;
  pp_sincos(cart->theta, &sine, &cosine);
  accelerate(force, cart->theta_dot, sine, cosine, &theta_acc, &x_acc);
  *cart = integrate(*cart, theta_acc, x_acc);
  result->terminated = has_failed(*cart);
  result->reward[0] = result->terminated ? shared->reward_fallen : shared->reward_alive;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, int32_t is_reset) {
  (void)is_reset;
  const cartpole *cart = env->state;
  if (rows[0]) write_observation(*cart, rows[0]);
  return PP_OK;
}

/* Steps at most TILE environments, in several loops so that the compiler vectorizes nearly all
 * arithmetic, including the four divisions. */
static void step_tile(const rules *shared, char *restrict states, size_t stride,
                      const int64_t *restrict actions, double *restrict reward,
                      uint8_t *restrict terminated, float *restrict row, int32_t count) {
  double force[TILE], theta[TILE], theta_dot[TILE], sine[TILE], cosine[TILE];
  double theta_acc[TILE], x_acc[TILE];
  const double alive = shared->reward_alive, fallen = shared->reward_fallen;

  for (int32_t i = 0; i < count; i++) {
    const cartpole *cart = (const cartpole *)(const void *)(states + (size_t)i * stride);
    theta[i] = cart->theta;
    theta_dot[i] = cart->theta_dot;
  }
  pp_sincos_many(theta, sine, cosine, count);
  for (int32_t i = 0; i < count; i++) force[i] = forces[actions[i] == 1];
  for (int32_t i = 0; i < count; i++) {
    accelerate(force[i], theta_dot[i], sine[i], cosine[i], &theta_acc[i], &x_acc[i]);
  }
  for (int32_t i = 0; i < count; i++) {
    cartpole *cart = (cartpole *)(void *)(states + (size_t)i * stride);
    cartpole next = integrate(*cart, theta_acc[i], x_acc[i]);
    terminated[i] = has_failed(next);
    if (row) write_observation(next, row + 4 * i);
    *cart = next;
  }
  for (int32_t i = 0; i < count; i++) reward[i] = terminated[i] ? fallen : alive;
}

static int step_many(void *shared, const pp_run *run) {
  for (int32_t start = 0; start < run->count; start += TILE) {
    int32_t count = run->count - start < TILE ? run->count - start : TILE;
    float *row = run->fields[0];
    step_tile(shared, run->states + (size_t)start * run->state_stride, run->state_stride,
              (const int64_t *)run->actions + start, run->reward + start, run->terminated + start,
              row ? row + 4 * start : NULL, count);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_cartpole_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "CartPole-v0",
    .family = "classic_control",
    .reference = "gymnasium 1.4.0 CartPole-v0",
    .reward_threshold = 195.0,
    .max_episode_steps = 200,
    .options = options,
    .num_options = 1,
    .reset_options = reset_options,
    .num_reset_options = 2,
    .state_size = sizeof(cartpole),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_reset = check_reset,
};

const pp_env_def pp_env_cartpole_v1 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "CartPole-v1",
    .family = "classic_control",
    .reference = "gymnasium 1.4.0 CartPole-v1",
    .reward_threshold = 475.0,
    .max_episode_steps = 500,
    .options = options,
    .num_options = 1,
    .reset_options = reset_options,
    .num_reset_options = 2,
    .state_size = sizeof(cartpole),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_reset = check_reset,
};
