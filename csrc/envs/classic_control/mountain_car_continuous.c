/* MountainCarContinuous-v0: rock a weak car out of a valley with an engine whose small force is the
 * action.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/continuous_mountain_car.py) bit for bit. Its state
 * is float64 after a reset and float32 after a step. NumPy 2 converts a Python float to the
 * precision of the other operand (NEP 50). So the first step of an episode is computed in float64,
 * and all others in float32, unless the action is a NumPy float64. A value that was clipped to a
 * Python float stays in float64 until it is combined with a float32. */
#include "base/run.h"
#include "base/scalar.h"
#include "base/square.h"
#include "valley.h"

#define MAX_ACTION 1.0
#define GOAL_POSITION 0.45
#define POWER 0.0015

static const pp_option options[] = {GOAL_VELOCITY(PP_ALL_ACTION_DTYPES)};

/* if is_narrow, position and velocity are float32 values */
typedef struct narrowing_car {
  car car;
  int64_t is_narrow;
} narrowing_car;

/* the type of a number in Gymnasium: float32 or float16, float64, or Python's float */
enum { NARROW, WIDE, PYTHON };

typedef struct number {
  double value;
  int kind;
} number;

/* -------------------------------------------------------------------------------- dynamics -- */

static inline number add(number a, number b) {
  if (a.kind == WIDE || b.kind == WIDE) return (number){a.value + b.value, WIDE};
  if (a.kind == PYTHON && b.kind == PYTHON) return (number){a.value + b.value, PYTHON};
  return (number){(float)a.value + (float)b.value, NARROW};
}

/* Returns a Python float as NumPy converts it to compare it with x. */
static inline double limit(number x, double python) {
  return x.kind == NARROW ? (float)python : python;
}

static inline number clip(number x, double low, double high) {
  if (x.value > limit(x, high)) return (number){high, PYTHON};
  if (x.value < limit(x, low)) return (number){low, PYTHON};
  return x;
}

/* Returns whether a velocity reaches the goal's. Of a Python number and a NumPy number, NumPy
 * converts the former. */
static inline bool is_fast(number velocity, const rules *shared) {
  if (!shared->goal_dtype) return velocity.value >= limit(velocity, shared->goal_velocity);
  if (velocity.kind != PYTHON) return velocity.value >= shared->goal_velocity;
  return pp_scalar_round(velocity.value, shared->goal_dtype) >= shared->goal_velocity;
}

/* Returns the acceleration by engine and slope. A clipped action is a Python float, and then the
 * sum is one, too. */
static inline number push(double action, int32_t dtype, double slope) {
  if (action > MAX_ACTION) return (number){MAX_ACTION * POWER - slope, PYTHON};
  if (action < -MAX_ACTION) return (number){-MAX_ACTION * POWER - slope, PYTHON};
  if (dtype == PP_FLOAT32) {
    return (number){(float)action * (float)POWER - (float)slope, NARROW};
  }
  if (dtype == PP_FLOAT16) {
    double engine = pp_half_multiply(action, pp_half(POWER));
    return (number){pp_half_add(engine, -pp_half(slope)), NARROW};
  }
  return (number){action * POWER - slope, dtype & PP_PYTHON ? PYTHON : WIDE};
}

/* Advances by one step from a state of this kind. Returns whether the car is at the goal. */
static inline bool advance_as(int kind, narrowing_car *it, const rules *shared, double action,
                              int32_t dtype) {
  number position = {it->car.position, kind}, velocity = {it->car.velocity, kind};
  double angle = kind == NARROW ? 3 * (float)position.value : 3 * position.value;
  velocity = clip(add(velocity, push(action, dtype, GRAVITY * cos(angle))), -MAX_SPEED, MAX_SPEED);
  position = clip(add(position, velocity), MIN_POSITION, MAX_POSITION);
  if (position.value == limit(position, MIN_POSITION) && velocity.value < 0) velocity.value = 0;

  it->car.position = (float)position.value;
  it->car.velocity = (float)velocity.value;
  it->is_narrow = 1;
  // without a branch
  return (position.value >= limit(position, GOAL_POSITION)) & (int)is_fast(velocity, shared);
}

static inline bool advance(narrowing_car *it, const rules *shared, double action, int32_t dtype,
                           double *reward) {
  bool terminated = it->is_narrow ? advance_as(NARROW, it, shared, action, dtype)
                                  : advance_as(WIDE, it, shared, action, dtype);
  /* the square of a float32 is exact */
  double effort = dtype == PP_FLOAT32 ? action * action : pp_square(action);
  *reward = (terminated ? 100.0 : 0.0) - effort * 0.1;
  return terminated;
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int reset_wide(pp_env *env, pp_reset *how) {
  narrowing_car *it = env->state;
  it->is_narrow = 0;
  return reset(env, how);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  int32_t dtype = *env->action_dtype;
  double value = dtype == PP_FLOAT32 ? *(const float *)action : *(const double *)action;
  result->terminated = advance(env->state, env->shared, value, dtype, result->reward);
  return PP_OK;
}

/* steps a run of environments whose actions have this dtype */
static inline void step_run(const rules *shared, const pp_run *run, int32_t dtype) {
  const float *floats = run->actions;
  const double *doubles = run->actions;
  float *row = run->fields[0];
  for (int32_t i = 0; i < run->count; i++) {
    narrowing_car *it = pp_run_state(run, i);
    double action = dtype == PP_FLOAT32 ? floats[i] : doubles[i];
    run->terminated[i] = advance(it, shared, action, dtype, &run->reward[i]);
    if (row) write_observation(&it->car, row + 2 * i);
  }
}

static int step_many(void *shared, const pp_run *run) {
  // the usual dtype as a constant, so that the compiler removes the code for the others
  if (run->action_dtype == PP_FLOAT32) {
    step_run(shared, run, PP_FLOAT32);
  } else {
    step_run(shared, run, run->action_dtype);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_mountain_car_continuous_v0 = {
    VALLEY_DEFINITION,
    .id = "MountainCarContinuous-v0",
    .reference = "gymnasium 1.4.0 MountainCarContinuous-v0",
    .has_reward_threshold = true,
    .reward_threshold = 90.0,
    .max_episode_steps = 999,
    .state_size = sizeof(narrowing_car),
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .ndim = 1,
               .shape = {1},
               .low = -MAX_ACTION,
               .high = MAX_ACTION},
    .action_dtypes = 1 << PP_FLOAT16 | 1 << PP_FLOAT64 | 1 << PP_PYTHON,
    .reset = reset_wide,
    .step = step,
    .step_many = step_many,
};
