/* MountainCarContinuous-v0: rock a weak car out of a valley with an engine of any small force.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/continuous_mountain_car.py) bit for bit. That file
 * keeps its state in float64 after a reset and in float32 after a step, and NumPy 2 computes with
 * Python floats in the precision of the array (NEP 50): so the first step of an episode is wide,
 * all others are narrow, and a value clipped to a Python float is wide until it meets a float32.
 */
#include "valley.h"

#define MAX_ACTION 1.0
#define GOAL_POSITION 0.45
#define POWER 0.0015

/* once is_narrow, both numbers are float32 values */
typedef struct narrowing_car {
  car car;
  int64_t is_narrow;
} narrowing_car;

/* -------------------------------------------------------------------------------- dynamics -- */

/* engine and slope together. An action inside the bounds is a float32 and makes the sum one; a
 * clipped one is a Python float, and so is the sum */
static inline double push(float action, double slope) {
  if (action > MAX_ACTION) return MAX_ACTION * POWER - slope;
  if (action < -MAX_ACTION) return -MAX_ACTION * POWER - slope;
  return action * (float)POWER - (float)slope;
}

/* the first step of an episode; returns 1 at the goal */
static inline uint8_t advance_wide(narrowing_car *it, const rules *shared, float action) {
  double velocity = it->car.velocity + push(action, GRAVITY * cos(3 * it->car.position));
  if (velocity > MAX_SPEED) velocity = MAX_SPEED;
  if (velocity < -MAX_SPEED) velocity = -MAX_SPEED;
  double position = it->car.position + velocity;
  if (position > MAX_POSITION) position = MAX_POSITION;
  if (position < MIN_POSITION) position = MIN_POSITION;
  if (position == MIN_POSITION && velocity < 0) velocity = 0;

  it->car.position = (float)position;
  it->car.velocity = (float)velocity;
  it->is_narrow = 1;
  return (position >= GOAL_POSITION) & (velocity >= shared->goal_velocity);
}

/* every other step; returns 1 at the goal */
static inline uint8_t advance_narrow(narrowing_car *it, const rules *shared, float action) {
  float position = (float)it->car.position;
  float velocity = (float)it->car.velocity;
  velocity += (float)push(action, GRAVITY * cos(3 * position));

  /* the goal's velocity is compared in float32 too, unless a Python float took the speed's place */
  uint8_t is_fast = velocity >= (float)shared->goal_velocity;
  if (velocity > (float)MAX_SPEED) {
    velocity = (float)MAX_SPEED;
    is_fast = MAX_SPEED >= shared->goal_velocity;
  } else if (velocity < -(float)MAX_SPEED) {
    velocity = -(float)MAX_SPEED;
    is_fast = -MAX_SPEED >= shared->goal_velocity;
  }
  position += velocity;
  if (position > (float)MAX_POSITION) position = (float)MAX_POSITION;
  if (position < (float)MIN_POSITION) position = (float)MIN_POSITION;
  if (position == (float)MIN_POSITION && velocity < 0) velocity = 0;

  it->car.position = position;
  it->car.velocity = velocity;
  return (position >= (float)GOAL_POSITION) & is_fast;
}

static inline uint8_t advance(narrowing_car *it, const rules *shared, float action,
                              double *reward) {
  uint8_t terminated =
      it->is_narrow ? advance_narrow(it, shared, action) : advance_wide(it, shared, action);
  double effort = (double)action * action;
  *reward = (terminated ? 100.0 : 0.0) - effort * 0.1;
  return terminated;
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int reset_wide(pp_env *env, const pp_reset *how, pp_result *result) {
  narrowing_car *it = env->state;
  it->is_narrow = 0;
  return reset(env, how, result);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  result->terminated = advance(env->state, env->shared, *(const float *)action, result->reward);
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  const float *actions = run->actions;
  float *row = run->fields[0];
  for (int32_t i = 0; i < run->count; i++) {
    narrowing_car *it = (narrowing_car *)(void *)(run->states + (size_t)i * run->state_stride);
    run->terminated[i] = advance(it, shared, actions[i], &run->reward[i]);
    if (row) write_observation(&it->car, row + 2 * i);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_mountain_car_continuous_v0 = {
    VALLEY_DEFINITION,
    .id = "MountainCarContinuous-v0",
    .reference = "gymnasium 1.4.0 MountainCarContinuous-v0",
    .reward_threshold = 90.0,
    .max_episode_steps = 999,
    .state_size = sizeof(narrowing_car),
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .ndim = 1,
               .shape = {1},
               .low = -MAX_ACTION,
               .high = MAX_ACTION},
    .reset = reset_wide,
    .step = step,
    .step_many = step_many,
};
