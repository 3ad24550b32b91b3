/* CartPole-v0 and CartPole-v1: keep a pole upright on a cart by pushing it left or right.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/cartpole.py) bit for bit: dynamics in float64 in the
 * same order of operations, observations rounded to float32. Model: Barto, Sutton and Anderson,
 * "Neuronlike adaptive elements that can solve difficult learning control problems", 1983.
 *
 * Gymnasium keeps the masses, the length, and so on in attributes; here they are options. As long
 * as they are Gymnasium's, they are constants of the compiler. Otherwise each environment has its
 * own in its state. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/interval.h"
#include "base/random.h"
#include "base/scalar.h"
#include "base/sincos.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

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

/* in the names of Gymnasium's attributes; length is half of the pole's */
typedef struct physics {
  double gravity;
  double masspole;
  double total_mass;
  double length;
  double polemass_length;
  double force_mag;
  double tau;
} physics;

/* the state of environments whose physics is not Gymnasium's */
typedef struct varied_cartpole {
  cartpole cart;
  physics physics;
} varied_cartpole;

/* What all environments share: the reward of a step that does not end the episode, and of one that
 * does; and whether their states are varied_cartpole. */
typedef struct rules {
  double reward_alive;
  double reward_fallen;
  bool is_varied;
} rules;

static const physics standard = {.gravity = 9.8,
                                 .masspole = 0.1,
                                 .total_mass = 0.1 + 1.0,
                                 .length = 0.5,
                                 .polemass_length = 0.1 * 0.5,
                                 .force_mag = 10.0,
                                 .tau = 0.02};

static const double lows[4] = {-2 * MAX_X, -INFINITY, -2 * MAX_THETA, -INFINITY};
static const double highs[4] = {2 * MAX_X, INFINITY, 2 * MAX_THETA, INFINITY};

/* sign of the force by action, and Gymnasium's force; tables, because a branch on a random action
 * is mispredicted half of the time */
static const double directions[2] = {-1.0, 1.0};
static const double forces[2] = {-10.0, 10.0};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {4}, .lows = lows, .highs = highs},
};

enum { SUTTON_BARTO, GRAVITY, MASSCART, MASSPOLE, LENGTH, FORCE_MAG, TAU, NUM_OPTIONS };

#define PHYSICS(title, value, least, text, ...) \
  {.name = (title),                             \
   .type = PP_OPT_FLOAT,                        \
   .number = (value),                           \
   .low = (least),                              \
   .high = DBL_MAX,                             \
   .doc = (text),                               \
   .varies = true,                              \
   __VA_ARGS__}

/* NumPy adds and multiplies these in their own types; all others meet a float64 first */
#define TYPED .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON

static const pp_option options[NUM_OPTIONS] = {
    [SUTTON_BARTO] = {.name = "sutton_barto_reward",
                      .type = PP_OPT_BOOL,
                      .doc = "reward 0 for every step and -1 for the one that ends the episode"},
    [GRAVITY] = PHYSICS("gravity", 9.8, -DBL_MAX, "acceleration of gravity in m/s^2"),
    [MASSCART] = PHYSICS("masscart", 1.0, DBL_TRUE_MIN, "mass of the cart in kg", TYPED),
    [MASSPOLE] = PHYSICS("masspole", 0.1, DBL_TRUE_MIN, "mass of the pole in kg", TYPED),
    [LENGTH] = PHYSICS("length", 0.5, DBL_TRUE_MIN, "half the length of the pole in m", TYPED),
    [FORCE_MAG] =
        PHYSICS("force_mag", 10.0, -DBL_MAX, "force of a push in N", .refuses = PP_UNSIGNED_DTYPES),
    [TAU] = PHYSICS("tau", 0.02, 0, "seconds of a step"),
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
static inline void accelerate(const physics *p, double force, double theta_dot, double sine,
                              double cosine, double *theta_acc, double *x_acc) {
  double temp = (force + p->polemass_length * (theta_dot * theta_dot) * sine) / p->total_mass;
  *theta_acc = (p->gravity * sine - cosine * temp) /
               (p->length * (4.0 / 3.0 - p->masspole * (cosine * cosine) / p->total_mass));
  *x_acc = temp - p->polemass_length * *theta_acc * cosine / p->total_mass;
}

/* Computes one Euler step. It takes and returns the state by value, because a state that is written
 * in halves and then read whole defeats the processor's store forwarding. */
static inline cartpole integrate(cartpole cart, double tau, double theta_acc, double x_acc) {
  return (cartpole){
      .x = cart.x + tau * cart.x_dot,
      .x_dot = cart.x_dot + tau * x_acc,
      .theta = cart.theta + tau * cart.theta_dot,
      .theta_dot = cart.theta_dot + tau * theta_acc,
  };
}

/* The physics of an environment. is_varied is a constant where this is inlined, and so are the
 * numbers then. */
static inline const physics *physics_of(const cartpole *cart, bool is_varied) {
  return is_varied ? &((const varied_cartpole *)(const void *)cart)->physics : &standard;
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

/* returns whether the physics is, or may become, another than Gymnasium's */
static bool is_physics_varied(const pp_config *config) {
  for (int i = GRAVITY; i < NUM_OPTIONS; i++) {
    if (config->options[i].f != options[i].number || config->options[i].dtype) return true;
    if (config->varying && config->varying[i]) return true;
  }
  return false;
}

static int configure(pp_config *config) {
  rules *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  bool sutton_barto = config->options[SUTTON_BARTO].i != 0;
  shared->is_varied = is_physics_varied(config);
  if (shared->is_varied) config->state_size = sizeof(varied_cartpole);
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

static physics read_physics(const pp_value *chosen) {
  pp_scalar pole = pp_scalar_of(&chosen[MASSPOLE]);
  return (physics){.gravity = chosen[GRAVITY].f,
                   .masspole = chosen[MASSPOLE].f,
                   .total_mass = pp_scalar_add(pole, pp_scalar_of(&chosen[MASSCART])).value,
                   .length = chosen[LENGTH].f,
                   .polemass_length = pp_scalar_multiply(pole, pp_scalar_of(&chosen[LENGTH])).value,
                   .force_mag = chosen[FORCE_MAG].f,
                   .tau = chosen[TAU].f};
}

static int reset(pp_env *env, pp_reset *how) {
  cartpole *cart = env->state;
  const rules *shared = env->shared;
  if (shared->is_varied) ((varied_cartpole *)env->state)->physics = read_physics(env->options);
  double low = how->options ? how->options[0].f : reset_options[0].number;
  double high = how->options ? how->options[1].f : reset_options[1].number;
  cart->x = pp_rng_uniform(env->rng, low, high);
  cart->x_dot = pp_rng_uniform(env->rng, low, high);
  cart->theta = pp_rng_uniform(env->rng, low, high);
  cart->theta_dot = pp_rng_uniform(env->rng, low, high);
  return PP_OK;
}

static inline double force_of(const cartpole *cart, int64_t action, bool is_varied) {
  double force_mag = physics_of(cart, is_varied)->force_mag;
  return is_varied ? directions[action == 1] * force_mag : forces[action == 1];
}

/* advances by one step */
static inline void advance(cartpole *cart, int64_t action, bool is_varied) {
  const physics *p = physics_of(cart, is_varied);
  double sine, cosine, theta_acc, x_acc;
  pp_sincos(cart->theta, &sine, &cosine);
  accelerate(p, force_of(cart, action, is_varied), cart->theta_dot, sine, cosine, &theta_acc,
             &x_acc);
  *cart = integrate(*cart, p->tau, theta_acc, x_acc);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  cartpole *cart = env->state;
  const rules *shared = env->shared;
  if (shared->is_varied) {
    advance(cart, *(const int64_t *)action, true);
  } else {
    advance(cart, *(const int64_t *)action, false);
  }
  result->terminated = has_failed(*cart);
  result->reward[0] = result->terminated ? shared->reward_fallen : shared->reward_alive;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const cartpole *cart = env->state;
  if (rows[0]) write_observation(*cart, rows[0]);
  return PP_OK;
}

/* Steps at most TILE environments, in several loops so that the compiler vectorizes nearly all
 * arithmetic, including the four divisions. */
static inline void step_tile(const rules *shared, bool is_varied, char *restrict states,
                             size_t stride, const int64_t *restrict actions,
                             double *restrict reward, uint8_t *restrict terminated,
                             float *restrict row, int32_t count) {
  double force[TILE], theta[TILE], theta_dot[TILE], sine[TILE], cosine[TILE];
  double theta_acc[TILE], x_acc[TILE];
  const double alive = shared->reward_alive, fallen = shared->reward_fallen;

  for (int32_t i = 0; i < count; i++) {
    const cartpole *cart = (const cartpole *)(const void *)(states + (size_t)i * stride);
    theta[i] = cart->theta;
    theta_dot[i] = cart->theta_dot;
  }
  pp_sincos_many(theta, sine, cosine, count);
  for (int32_t i = 0; i < count; i++) {
    const cartpole *cart = (const cartpole *)(const void *)(states + (size_t)i * stride);
    force[i] = force_of(cart, actions[i], is_varied);
  }
  for (int32_t i = 0; i < count; i++) {
    const cartpole *cart = (const cartpole *)(const void *)(states + (size_t)i * stride);
    accelerate(physics_of(cart, is_varied), force[i], theta_dot[i], sine[i], cosine[i],
               &theta_acc[i], &x_acc[i]);
  }
  for (int32_t i = 0; i < count; i++) {
    cartpole *cart = (cartpole *)(void *)(states + (size_t)i * stride);
    cartpole next = integrate(*cart, physics_of(cart, is_varied)->tau, theta_acc[i], x_acc[i]);
    terminated[i] = has_failed(next);
    if (row) write_observation(next, row + 4 * i);
    *cart = next;
  }
  for (int32_t i = 0; i < count; i++) reward[i] = terminated[i] ? fallen : alive;
}

static inline void step_run(const rules *shared, bool is_varied, const pp_run *run) {
  for (int32_t start = 0; start < run->count; start += TILE) {
    int32_t count = run->count - start < TILE ? run->count - start : TILE;
    float *row = run->fields[0];
    step_tile(shared, is_varied, run->states + (size_t)start * run->state_stride, run->state_stride,
              (const int64_t *)run->actions + start, run->reward + start, run->terminated + start,
              row ? row + 4 * start : NULL, count);
  }
}

static int step_many(void *shared, const pp_run *run) {
  const rules *it = shared;
  // a constant, so that the compiler removes the code for the other kind of state
  if (it->is_varied) {
    step_run(it, true, run);
  } else {
    step_run(it, false, run);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

/* what both definitions share, and the names of one */
#define CARTPOLE_DEFINITION(title)                                                              \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = title, .family = "classic_control",      \
  .reference = "gymnasium 1.4.0 " title, .options = options, .num_options = NUM_OPTIONS,        \
  .reset_options = reset_options, .num_reset_options = 2, .state_size = sizeof(cartpole),       \
  .num_fields = 1, .fields = fields,                                                            \
  .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},                \
  .configure = configure, .release = release, .reset = reset, .step = step, .observe = observe, \
  .step_many = step_many, .check_reset = check_reset

const pp_env_def pp_env_cartpole[2] = {
    {CARTPOLE_DEFINITION("CartPole-v0"), .has_reward_threshold = true, .reward_threshold = 195.0,
     .max_episode_steps = 200},
    {CARTPOLE_DEFINITION("CartPole-v1"), .has_reward_threshold = true, .reward_threshold = 475.0,
     .max_episode_steps = 500},
};
