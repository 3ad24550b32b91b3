/* bench/Timed-v0: an environment whose steps take as long as its options say. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "pp_env.h"

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {4}, .low = 0, .high = 1},
};

enum { MICROSECONDS, SLOW, SLOW_MICROSECONDS, SLEEPS, NUM_OPTIONS };

static const pp_option options[NUM_OPTIONS] = {
    [MICROSECONDS] = {.name = "microseconds",
                      .type = PP_OPT_FLOAT,
                      .number = 100,
                      .low = 0,
                      .high = 1e6,
                      .doc = "of a step"},
    [SLOW] = {.name = "slow",
              .type = PP_OPT_INT,
              .number = 0,
              .low = 0,
              .high = 1e6,
              .doc = "environments that are slow, from the first on"},
    [SLOW_MICROSECONDS] = {.name = "slow_microseconds",
                           .type = PP_OPT_FLOAT,
                           .number = 0,
                           .low = 0,
                           .high = 1e6,
                           .doc = "of a step of those"},
    [SLEEPS] = {.name = "sleeps",
                .type = PP_OPT_BOOL,
                .number = 0,
                .low = 0,
                .high = 1,
                .doc = "whether a step sleeps, instead of computing"},
};

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)env;
  (void)how;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const pp_value *given = env->options;
  double length = given[env->id < given[SLOW].i ? SLOW_MICROSECONDS : MICROSECONDS].f * 1000;
  (void)action;
  (void)result;
  if (given[SLEEPS].i) {
    struct timespec time = {(time_t)(length / 1e9), 0};
    time.tv_nsec = (long)(length - (double)time.tv_sec * 1e9);
    nanosleep(&time, NULL);
  } else {
    int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + (int64_t)length;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end) continue;
  }
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)env;
  (void)is_reset;
  for (int i = 0; rows[0] && i < 4; i++) ((float *)rows[0])[i] = 0;
  return PP_OK;
}

const pp_env_def pp_env_timed_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "bench/Timed-v0",
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = 1,
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = reset,
    .step = step,
    .observe = observe};
