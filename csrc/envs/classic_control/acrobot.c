/* Acrobot-v1: swing the tip of a two-link pendulum above a line by a torque on the middle joint.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/acrobot.py) bit for bit: one Runge-Kutta step of
 * 0.2 s in float64, in the same order of operations. Gymnasium's state is float32 after a reset, so
 * the first observation of an episode contains NumPy's float32 sines. Model: R. Sutton,
 * "Generalization in reinforcement learning: successful examples using sparse coarse coding", 1996,
 * with the equations of Sutton and Barto's book, which Gymnasium uses by default. */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "base/float_trig.h"
#include "base/interval.h"
#include "base/random.h"
#include "base/sincos.h"
#include "base/square.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

#define TIME_STEP 0.2
#define GRAVITY 9.8
#define CENTER 0.5 /* distance of each link's center of mass; masses, lengths, moments are 1 */
#define MAX_SPEED_1 (4 * PI)
#define MAX_SPEED_2 (9 * PI)

/* Beyond this angle, the loop that wraps it would run for seconds or forever, also in Gymnasium. */
#define MAX_ANGLE 1e8

/* ------------------------------------------------------------------------------------ data -- */

enum { THETA_1, THETA_2, SPEED_1, SPEED_2, NUM_COORDINATES };

typedef struct acrobot {
  double at[NUM_COORDINATES];
  double sine_2; /* of theta_2, for the next step */
  double cosine_2;
  float shown[4]; /* cosine and sine of both angles as observed */
} acrobot;

static const double lows[6] = {-1, -1, -1, -1, -MAX_SPEED_1, -MAX_SPEED_2};
static const double highs[6] = {1, 1, 1, 1, MAX_SPEED_1, MAX_SPEED_2};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {6}, .lows = lows, .highs = highs},
};

static const pp_option reset_options[] = {
    {.name = "low",
     .type = PP_OPT_FLOAT,
     .number = -0.1,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "lower bound of the initial angles and velocities"},
    {.name = "high",
     .type = PP_OPT_FLOAT,
     .number = 0.1,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "upper bound of the initial angles and velocities"},
};

/* -------------------------------------------------------------------------------- dynamics -- */

/* computes the time derivative of a state; sine_2 and cosine_2 are those of its theta_2 */
static inline void differentiate(const double *at, double sine_2, double cosine_2, double torque,
                                 double *rate) {
  double speed_1 = at[SPEED_1], speed_2 = at[SPEED_2];

  /* mass matrix */
  double d1 = CENTER * CENTER + (1 + CENTER * CENTER + 2 * CENTER * cosine_2) + 1 + 1;
  double d2 = (CENTER * CENTER + CENTER * cosine_2) + 1;

  /* gravity and centrifugal terms */
  double phi2 = CENTER * GRAVITY * cos(at[THETA_1] + at[THETA_2] - PI / 2);
  double phi1 = -CENTER * pp_square(speed_2) * sine_2 - 2 * CENTER * speed_2 * speed_1 * sine_2 +
                (CENTER + 1) * GRAVITY * cos(at[THETA_1] - PI / 2) + phi2;

  double acc_2 = (torque + d2 / d1 * phi1 - CENTER * pp_square(speed_1) * sine_2 - phi2) /
                 (CENTER * CENTER + 1 - pp_square(d2) / d1);
  rate[THETA_1] = speed_1;
  rate[THETA_2] = speed_2;
  rate[SPEED_1] = -(d2 * acc_2 + phi1) / d1;
  rate[SPEED_2] = acc_2;
}

/* computes the time derivative of the state at + time * rate */
static inline void differentiate_ahead(const double *at, double time, const double *rate,
                                       double torque, double *out) {
  double there[NUM_COORDINATES], sine_2, cosine_2;
  for (int i = 0; i < NUM_COORDINATES; i++) there[i] = at[i] + time * rate[i];
  pp_sincos(there[THETA_2], &sine_2, &cosine_2);
  differentiate(there, sine_2, cosine_2, torque, out);
}

/* one classical Runge-Kutta step */
static inline void integrate(acrobot *it, double torque) {
  double k1[NUM_COORDINATES], k2[NUM_COORDINATES], k3[NUM_COORDINATES], k4[NUM_COORDINATES];
  differentiate(it->at, it->sine_2, it->cosine_2, torque, k1);
  differentiate_ahead(it->at, TIME_STEP / 2, k1, torque, k2);
  differentiate_ahead(it->at, TIME_STEP / 2, k2, torque, k3);
  differentiate_ahead(it->at, TIME_STEP, k3, torque, k4);
  for (int i = 0; i < NUM_COORDINATES; i++) {
    it->at[i] = it->at[i] + TIME_STEP / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
}

/* Wraps an angle. Subtracts 2 pi once per pass, so that rounding equals the reference's. */
static inline double wrap(double angle) {
  while (angle > PI) angle = angle - 2 * PI;
  while (angle < -PI) angle = angle + 2 * PI;
  return angle;
}

static inline double bound(double value, double limit) {
  if (value < -limit) return -limit;
  return value > limit ? limit : value;
}

/* Advances by one step. Returns PP_ERR_ENV if an angle exceeds MAX_ANGLE. */
static inline int advance(acrobot *it, int64_t action, double *reward, uint8_t *terminated) {
  integrate(it, (double)(action - 1));
  if (fabs(it->at[THETA_1]) > MAX_ANGLE || fabs(it->at[THETA_2]) > MAX_ANGLE) return PP_ERR_ENV;
  it->at[THETA_1] = wrap(it->at[THETA_1]);
  it->at[THETA_2] = wrap(it->at[THETA_2]);
  it->at[SPEED_1] = bound(it->at[SPEED_1], MAX_SPEED_1);
  it->at[SPEED_2] = bound(it->at[SPEED_2], MAX_SPEED_2);

  double sine_1, cosine_1;
  pp_sincos(it->at[THETA_1], &sine_1, &cosine_1);
  pp_sincos(it->at[THETA_2], &it->sine_2, &it->cosine_2);
  it->shown[0] = (float)cosine_1;
  it->shown[1] = (float)sine_1;
  it->shown[2] = (float)it->cosine_2;
  it->shown[3] = (float)it->sine_2;

  *terminated = -cosine_1 - cos(it->at[THETA_2] + it->at[THETA_1]) > 1;
  *reward = *terminated ? 0 : -1;
  return PP_OK;
}

static inline void write_observation(const acrobot *it, float *row) {
  for (int i = 0; i < 4; i++) row[i] = it->shown[i];
  row[4] = (float)it->at[SPEED_1];
  row[5] = (float)it->at[SPEED_2];
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int check_reset(void *shared, const pp_value *values, pp_error *error) {
  (void)shared;
  return pp_interval_check(values[0].f, values[1].f, error);
}

static int reset(pp_env *env, pp_reset *how) {
  acrobot *it = env->state;
  double low = how->options ? how->options[0].f : reset_options[0].number;
  double high = how->options ? how->options[1].f : reset_options[1].number;
  for (int i = 0; i < NUM_COORDINATES; i++) {
    it->at[i] = (float)pp_rng_uniform(env->rng, low, high);
  }
  pp_sincos(it->at[THETA_2], &it->sine_2, &it->cosine_2);
  for (int i = 0; i < 2; i++) {
    it->shown[2 * i] = pp_float_cos((float)it->at[i]);
    it->shown[2 * i + 1] = pp_float_sin((float)it->at[i]);
  }
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  int status = advance(env->state, *(const int64_t *)action, result->reward, &result->terminated);
  if (status == PP_OK) return PP_OK;
  return pp_fail(env->error, status,
                 "an angle exceeds %g rad, which would take seconds or forever to wrap: reset with "
                 "smaller bounds",
                 MAX_ANGLE);
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) write_observation(env->state, rows[0]);
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_acrobot_v1 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Acrobot-v1",
    .family = "classic_control",
    .reference = "gymnasium 1.4.0 Acrobot-v1",
    .has_reward_threshold = true,
    .reward_threshold = -100.0,
    .max_episode_steps = 500,
    .reset_options = reset_options,
    .num_reset_options = 2,
    .state_size = sizeof(acrobot),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .check_reset = check_reset,
    .reset = reset,
    .step = step,
    .observe = observe,
};
