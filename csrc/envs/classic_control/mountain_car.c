/* MountainCar-v0: rock a weak car out of a valley by pushing left, right or not at all.
 *
 * Equals gymnasium 1.4.0 (envs/classic_control/mountain_car.py) bit for bit: float64 dynamics,
 * float32 observation. Model: A. Moore, "Efficient memory-based learning for robot control",
 * 1990. */
#include "base/run.h"
#include "valley.h"

#define GOAL_POSITION 0.5
#define FORCE 0.001

static const pp_option options[] = {GOAL_VELOCITY(0)};

/* -------------------------------------------------------------------------------- dynamics -- */

static inline double clip(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

/* Returns 0 - 1 in the action's dtype. NumPy's unsigned integers wrap. (Gymnasium's space does not
 * contain uint64 actions.) */
static inline double first_direction(int32_t dtype) {
  switch (dtype) {
    case PP_UINT8: return UINT8_MAX;
    case PP_UINT16: return UINT16_MAX;
    case PP_UINT32: return UINT32_MAX;
    default: return -1;
  }
}

/* Advances by one step. Returns whether the car is at the goal. */
static inline bool advance(car *it, const rules *shared, int64_t action, double first) {
  double direction = action ? (double)(action - 1) : first;
  double push = direction * FORCE + cos(3 * it->position) * (-GRAVITY);
  double velocity = clip(it->velocity + push, -MAX_SPEED, MAX_SPEED);
  double position = clip(it->position + velocity, MIN_POSITION, MAX_POSITION);

  /* the car stops at the wall on the left */
  if (position == MIN_POSITION && velocity < 0) velocity = 0;
  it->position = position;
  it->velocity = velocity;
  return (position >= GOAL_POSITION) & (velocity >= shared->goal_velocity);
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int step(pp_env *env, const void *action, pp_result *result) {
  double first = first_direction(*env->action_dtype);
  result->terminated = advance(env->state, env->shared, *(const int64_t *)action, first);
  result->reward[0] = -1;
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  float *row = run->fields[0];
  double first = first_direction(run->action_dtype);
  for (int32_t i = 0; i < run->count; i++) {
    car *it = pp_run_state(run, i);
    run->terminated[i] = advance(it, shared, actions[i], first);
    run->reward[i] = -1;
    if (row) write_observation(it, row + 2 * i);
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_mountain_car_v0 = {
    VALLEY_DEFINITION,
    .id = "MountainCar-v0",
    .reference = "gymnasium 1.4.0 MountainCar-v0",
    .has_reward_threshold = true,
    .reward_threshold = -110.0,
    .max_episode_steps = 200,
    .state_size = sizeof(car),
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .action_dtypes = 1 << PP_UINT8 | 1 << PP_UINT16 | 1 << PP_UINT32,
    .reset = reset,
    .step = step,
    .step_many = step_many,
};
