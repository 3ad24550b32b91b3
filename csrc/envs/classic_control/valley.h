/* What both mountain cars share: the valley, the car in it, its start and its options. */
#ifndef PP_ENVS_CLASSIC_CONTROL_VALLEY_H
#define PP_ENVS_CLASSIC_CONTROL_VALLEY_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/interval.h"
#include "base/random.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

#define MIN_POSITION (-1.2)
#define MAX_POSITION 0.6
#define MAX_SPEED 0.07
#define GRAVITY 0.0025

/* ------------------------------------------------------------------------------------ data -- */

/* the first member of both states */
typedef struct car {
  double position;
  double velocity;
} car;

/* what all environments share */
typedef struct rules {
  double goal_velocity;
  int32_t goal_dtype; /* as pp_value.dtype */
} rules;

static const double lows[2] = {MIN_POSITION, -MAX_SPEED};
static const double highs[2] = {MAX_POSITION, MAX_SPEED};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .lows = lows, .highs = highs},
};

/* the only option; types: the dtypes that change results, as pp_option.keeps */
#define GOAL_VELOCITY(types)                                  \
  {.name = "goal_velocity",                                   \
   .type = PP_OPT_FLOAT,                                      \
   .number = 0,                                               \
   .low = -INFINITY,                                          \
   .high = INFINITY,                                          \
   .doc = "least velocity at the goal that ends the episode", \
   .keeps = (types)}

static const pp_option reset_options[] = {
    {.name = "low",
     .type = PP_OPT_FLOAT,
     .number = -0.6,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "lower bound of the initial position"},
    {.name = "high",
     .type = PP_OPT_FLOAT,
     .number = -0.4,
     .low = -DBL_MAX,
     .high = DBL_MAX,
     .doc = "upper bound of the initial position"},
};

static inline void write_observation(const car *it, float *row) {
  row[0] = (float)it->position;
  row[1] = (float)it->velocity;
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int configure(pp_config *config) {
  rules *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->goal_velocity = config->options[0].f;
  shared->goal_dtype = config->options[0].dtype;
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

static int reset(pp_env *env, pp_reset *how) {
  car *it = env->state;
  double low = how->options ? how->options[0].f : reset_options[0].number;
  double high = how->options ? how->options[1].f : reset_options[1].number;
  it->position = pp_rng_uniform(env->rng, low, high);
  it->velocity = 0;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) write_observation(env->state, rows[0]);
  return PP_OK;
}

/* the members that both definitions share */
#define VALLEY_DEFINITION                                                                         \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "classic_control", .options = options, \
  .num_options = 1, .reset_options = reset_options, .num_reset_options = 2, .num_fields = 1,      \
  .fields = fields, .configure = configure, .release = release, .observe = observe,               \
  .check_reset = check_reset

#endif
