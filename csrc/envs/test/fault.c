/* test/Fault-v0: fails or delays as its options say, to test how the engine handles that. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { FAIL_ON, FAIL_AT_STEP, FAIL_ENV, SPIN, SLEEP_MS, SLOW_ENV, NUM_OPTIONS };

/* Calls since init, including failed ones, so that the call after a failure succeeds. */
typedef struct fault {
  int64_t steps;
  int64_t resets;
  uint64_t noise; /* the loop's result, so that no compiler removes the loop */
} fault;

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {1}, .low = 0, .high = 1e9},
    {.name = "count", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
};

static const pp_option options[NUM_OPTIONS] = {
    [FAIL_ON] = {.name = "fail_on",
                 .type = PP_OPT_STRING,
                 .text = "none",
                 .doc = "the callback that fails: step, reset, init, observe or none"},
    [FAIL_AT_STEP] = {.name = "fail_at_step",
                      .type = PP_OPT_INT,
                      .number = 1,
                      .low = 0,
                      .high = 1e15,
                      .doc = "which step (step, observe) or reset (reset) fails, counted from 1"},
    [FAIL_ENV] = {.name = "fail_env",
                  .type = PP_OPT_INT,
                  .number = -1,
                  .low = -1,
                  .high = 1e9,
                  .doc = "the environment that fails; -1: all"},
    [SPIN] = {.name = "spin",
              .type = PP_OPT_INT,
              .number = 0,
              .low = 0,
              .high = 1e15,
              .doc = "loop iterations of every step"},
    [SLEEP_MS] = {.name = "sleep_ms",
                  .type = PP_OPT_INT,
                  .number = 0,
                  .low = 0,
                  .high = 1e9,
                  .doc = "milliseconds that every step sleeps"},
    [SLOW_ENV] = {.name = "slow_env",
                  .type = PP_OPT_INT,
                  .number = -1,
                  .low = -1,
                  .high = 1e9,
                  .doc = "the environment to which spin and sleep_ms apply; -1: all"},
};

static int configure(pp_config *config) {
  static const char *const known[] = {"none", "step", "reset", "init", "observe"};
  const char *chosen = config->options[FAIL_ON].s;
  for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
    if (strcmp(chosen, known[i]) == 0) return PP_OK;
  }
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "fail_on='%.80s': choose none, step, reset, init or observe", chosen);
}

/* Fails if the options name this callback and this count. */
static int maybe_fail(pp_env *env, const char *where, int64_t count) {
  const pp_value *chosen = env->options;
  int64_t which = chosen[FAIL_ENV].i;
  if (strcmp(chosen[FAIL_ON].s, where) != 0 || (which >= 0 && which != env->id)) return PP_OK;
  if (count != chosen[FAIL_AT_STEP].i) return PP_OK;
  return pp_fail(env->error, PP_ERR_ENV, "made to fail in %s %lld", where, (long long)count);
}

/* runs once for each environment, so the count is ignored */
static int init(pp_env *env) {
  return maybe_fail(env, "init", env->options[FAIL_AT_STEP].i);
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  fault *it = env->state;
  return maybe_fail(env, "reset", ++it->resets);
}

static void linger(fault *it, int64_t spin, int64_t milliseconds) {
  for (int64_t i = 0; i < spin; i++) it->noise = it->noise * 6364136223846793005u + 1;
  struct timespec rest = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  while (milliseconds > 0 && nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
}

static int step(pp_env *env, const void *action, pp_result *result) {
  fault *it = env->state;
  it->steps++;
  int64_t slow = env->options[SLOW_ENV].i;
  if (slow < 0 || slow == env->id) linger(it, env->options[SPIN].i, env->options[SLEEP_MS].i);
  result->reward[0] = (double)*(const int64_t *)action;
  return maybe_fail(env, "step", it->steps);
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const fault *it = env->state;
  float *obs = rows[0];
  int64_t *count = rows[1];
  if (obs) *obs = (float)it->steps;
  if (count) *count = it->steps;
  return is_reset ? PP_OK : maybe_fail(env, "observe", it->steps);
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const fault *it = saved->state;
  return pp_state_check_range(env, "steps", it->steps, 0, PP_STATE_MOST) &&
                 pp_state_check_range(env, "resets", it->resets, 0, PP_STATE_MOST)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_test_fault_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Fault-v0",
    .family = "test",
    .reference = "none",
    .has_reward_threshold = true,
    .reward_threshold = 1e6,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(fault),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .configure = configure,
    .init = init,
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
