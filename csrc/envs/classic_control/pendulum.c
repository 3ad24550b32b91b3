/* Pendulum-v1: swing a pendulum up and keep it upright, with a motor too weak to lift it.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/pendulum.py) bit for bit: float64 dynamics, the
 * torque in the action's dtype (NumPy 2 keeps a float32 times a Python float in float32, NEP 50),
 * squares by the C library's pow, as NumPy computes `** 2` of a scalar. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/random.h"
#include "base/run.h"
#include "base/scalar.h"
#include "base/sincos.h"
#include "base/square.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

#define MAX_SPEED 8.0
#define MAX_TORQUE 2.0
#define TIME_STEP 0.05

/* ------------------------------------------------------------------------------------ data -- */

/* sine and cosine of theta are observed, and the next step uses the sine */
typedef struct pendulum {
  double theta;
  double theta_dot;
  double sine;
  double cosine;
} pendulum;

/* the state of environments whose physics differs, or is not Gymnasium's but for g */
typedef struct varied_pendulum {
  pendulum pendulum;
  double pull; /* as in rules */
  double gain; /* 3 / (m l^2) */
  int64_t gain_dtype;
} varied_pendulum;

/* what all environments share, unless their states are varied_pendulum */
typedef struct rules {
  double pull; /* angular acceleration of a horizontal pendulum by gravity: 3 g / (2 l) */
  int is_varied;
} rules;

/* angular acceleration by a torque of 1, 3 / (m l^2), of Gymnasium's pendulum */
#define GAIN 3.0

static const double lows[3] = {-1, -1, -MAX_SPEED};
static const double highs[3] = {1, 1, MAX_SPEED};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {3}, .lows = lows, .highs = highs},
};

enum { GRAVITY, MASS, LENGTH, NUM_OPTIONS };

/* Gymnasium has the last two as attributes. */
static const pp_option options[NUM_OPTIONS] = {
    [GRAVITY] = {.name = "g",
                 .type = PP_OPT_FLOAT,
                 .number = 10.0,
                 .low = -DBL_MAX,
                 .high = DBL_MAX,
                 .doc = "acceleration of gravity in m/s^2",
                 .varies = true,
                 .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON},
    [MASS] = {.name = "m",
              .type = PP_OPT_FLOAT,
              .number = 1.0,
              .low = DBL_TRUE_MIN,
              .high = DBL_MAX,
              .doc = "mass in kg",
              .varies = true,
              .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON},
    [LENGTH] = {.name = "l",
                .type = PP_OPT_FLOAT,
                .number = 1.0,
                .low = DBL_TRUE_MIN,
                .high = DBL_MAX,
                .doc = "length in m",
                .varies = true,
                .keeps = PP_ALL_ACTION_DTYPES | 1 << PP_PYTHON},
};

/* the initial state is drawn from -x_init .. x_init; NumPy refuses a range below 0 or infinite */
static const pp_option reset_options[] = {
    {.name = "x_init",
     .type = PP_OPT_FLOAT,
     .number = PI,
     .low = 0,
     .high = DBL_MAX / 2,
     .doc = "largest initial angle in rad"},
    {.name = "y_init",
     .type = PP_OPT_FLOAT,
     .number = 1.0,
     .low = 0,
     .high = DBL_MAX / 2,
     .doc = "largest initial angular velocity in rad/s"},
};

/* -------------------------------------------------------------------------------- dynamics -- */

/* Returns fmod(angle, 2 pi) for angle >= 0. The C library divides bit by bit, which is slow. Here 2
 * pi is split into two parts so short that their products with the number of turns are exact. The
 * difference is exact, too: a multiple of the last bit of the angle or of 2 pi, whichever is
 * smaller, and less than 8. */
static inline double drop_turns(double angle) {
  const double turn_high = 0x1.921fb4p+2, turn_low = 2 * PI - 0x1.921fb4p+2;
  if (angle < 2 * PI) return angle;
  if (!(angle < 1e4)) return fmod(angle, 2 * PI);
  double turns = (double)(int32_t)(angle * (0.5 / PI));
  double rest = angle - turns * turn_high - turns * turn_low;

  /* the quotient may have been rounded up to the next integer */
  if (rest < 0) return rest + 2 * PI;
  return rest < 2 * PI ? rest : rest - 2 * PI;
}

/* Returns the angle between -pi and pi, by Python's %, whose result has the divisor's sign. */
static inline double normalize(double theta) {
  double angle = theta + PI;
  double rest = drop_turns(fabs(angle));
  if (angle < 0 && rest > 0) rest = 2 * PI - rest;
  return rest - PI;
}

/* the motor's acceleration, and its part of the cost */
typedef struct effort {
  double acceleration;
  double cost;
} effort;

static inline double clip_torque(double action) {
  return action < -MAX_TORQUE ? -MAX_TORQUE : action > MAX_TORQUE ? MAX_TORQUE : action;
}

static inline effort push_float(float action, double gain) {
  float torque = (float)clip_torque(action);
  return (effort){(float)gain * torque, 0.001f * pp_square_float(torque)};
}

static inline effort push_double(double action, double gain) {
  double torque = clip_torque(action);
  return (effort){gain * torque, 0.001 * pp_square(torque)};
}

static inline effort push_half(double action, double gain) {
  double torque = clip_torque(action), square = pp_half(pp_square_float((float)torque));
  return (effort){pp_half_multiply(pp_half(gain), torque),
                  pp_half_multiply(pp_half(0.001), square)};
}

/* Integers are float64 here, as NumPy's clip makes them. */
static inline effort push(double action, int32_t dtype, double gain) {
  if (dtype == PP_FLOAT32) return push_float((float)action, gain);
  return dtype == PP_FLOAT16 ? push_half(action, gain) : push_double(action, gain);
}

static inline effort push_varied(const varied_pendulum *it, double action, int32_t dtype) {
  effort motor = push(action, dtype, it->gain);
  if (it->gain_dtype == PP_PYTHON_FLOAT) return motor;
  // m or l is a NumPy number
  pp_scalar gain = {it->gain, (int32_t)it->gain_dtype}, torque = {clip_torque(action), dtype};
  motor.acceleration = pp_scalar_multiply(gain, torque).value;
  return motor;
}

/* Advances by one step. Returns the reward. */
static inline double advance(pendulum *it, double pull, effort motor) {
  double cost = pp_square(normalize(it->theta)) + 0.1 * pp_square(it->theta_dot) + motor.cost;

  double theta_acc = pull * it->sine + motor.acceleration;
  double theta_dot = it->theta_dot + theta_acc * TIME_STEP;
  if (theta_dot < -MAX_SPEED) theta_dot = -MAX_SPEED;
  if (theta_dot > MAX_SPEED) theta_dot = MAX_SPEED;
  it->theta = it->theta + theta_dot * TIME_STEP;
  it->theta_dot = theta_dot;
  pp_sincos(it->theta, &it->sine, &it->cosine);
  return -cost;
}

static inline void write_observation(const pendulum *it, float *row) {
  row[0] = (float)it->cosine;
  row[1] = (float)it->sine;
  row[2] = (float)it->theta_dot;
}

/* ------------------------------------------------------------------------------- callbacks -- */

/* 3 * g / (2 * l), in the type of the options */
static double pull_of(const pp_value *chosen) {
  pp_scalar pull = pp_scalar_multiply(pp_scalar_int(3), pp_scalar_of(&chosen[GRAVITY]));
  pp_scalar twice = pp_scalar_multiply(pp_scalar_int(2), pp_scalar_of(&chosen[LENGTH]));
  return pp_scalar_divide(pull, twice).value;
}

/* l ** 2 */
static pp_scalar square_of(pp_scalar x) {
  switch (x.dtype) {
    case PP_PYTHON_FLOAT:
    case PP_FLOAT64: return (pp_scalar){pp_square(x.value), x.dtype};
    case PP_FLOAT32: return (pp_scalar){pp_square_float((float)x.value), x.dtype};
    case PP_FLOAT16: return (pp_scalar){pp_half(pp_square_float((float)x.value)), x.dtype};
    default: return pp_scalar_multiply(x, x);
  }
}

static pp_scalar gain_of(const pp_value *chosen) {
  pp_scalar square = square_of(pp_scalar_of(&chosen[LENGTH]));
  pp_scalar inertia = pp_scalar_multiply(pp_scalar_of(&chosen[MASS]), square);
  return pp_scalar_divide(pp_scalar_float(3.0), inertia);
}

static int configure(pp_config *config) {
  rules *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->pull = pull_of(config->options);
  pp_scalar gain = gain_of(config->options);
  shared->is_varied = gain.value != GAIN || gain.dtype != PP_PYTHON_FLOAT;
  for (int i = 0; i < NUM_OPTIONS && config->varying; i++) {
    shared->is_varied |= config->varying[i];
  }
  if (shared->is_varied) config->state_size = sizeof(varied_pendulum);
  config->shared = shared;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

static int reset(pp_env *env, pp_reset *how) {
  pendulum *it = env->state;
  double angle = how->options ? how->options[0].f : reset_options[0].number;
  double speed = how->options ? how->options[1].f : reset_options[1].number;
  const rules *shared = env->shared;
  if (shared->is_varied) {
    varied_pendulum *varied = env->state;
    varied->pull = pull_of(env->options);
    pp_scalar gain = gain_of(env->options);
    varied->gain = gain.value;
    varied->gain_dtype = gain.dtype;
  }
  it->theta = pp_rng_uniform(env->rng, -angle, angle);
  it->theta_dot = pp_rng_uniform(env->rng, -speed, speed);
  pp_sincos(it->theta, &it->sine, &it->cosine);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  int32_t dtype = *env->action_dtype;
  const rules *shared = env->shared;
  const varied_pendulum *varied = env->state;
  double pull = shared->is_varied ? varied->pull : shared->pull;
  double torque = dtype == PP_FLOAT32 ? *(const float *)action : *(const double *)action;
  effort motor = shared->is_varied ? push_varied(varied, torque, dtype) : push(torque, dtype, GAIN);
  result->reward[0] = advance(env->state, pull, motor);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) write_observation(env->state, rows[0]);
  return PP_OK;
}

static inline void step_run(const rules *shared, int is_varied, const pp_run *run) {
  const float *floats = run->actions;
  const double *doubles = run->actions;
  float *row = run->fields[0];
  for (int32_t i = 0; i < run->count; i++) {
    void *state = pp_run_state(run, i);
    pendulum *it = state;
    double pull = is_varied ? ((varied_pendulum *)state)->pull : shared->pull;
    double torque = run->action_dtype == PP_FLOAT32 ? floats[i] : doubles[i];
    effort motor = is_varied ? push_varied(state, torque, run->action_dtype)
                             : push(torque, run->action_dtype, GAIN);
    run->reward[i] = advance(it, pull, motor);
    if (row) write_observation(it, row + 3 * i);
  }
}

static int step_many(void *shared, const pp_run *run) {
  // a constant, so that the compiler removes the code for the other kind of state
  if (((const rules *)shared)->is_varied) {
    step_run(shared, 1, run);
  } else {
    step_run(shared, 0, run);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_pendulum_v1 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Pendulum-v1",
    .family = "classic_control",
    .reference = "gymnasium 1.4.0 Pendulum-v1",
    .max_episode_steps = 200,
    .options = options,
    .num_options = NUM_OPTIONS,
    .reset_options = reset_options,
    .num_reset_options = 2,
    .state_size = sizeof(pendulum),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .ndim = 1,
               .shape = {1},
               .low = -MAX_TORQUE,
               .high = MAX_TORQUE},
    .action_dtypes = 1 << PP_FLOAT16 | 1 << PP_FLOAT64,
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
};
