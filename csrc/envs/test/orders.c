/* test/Orders-v0: do what an order in words says, to test texts.
 *
 * An order is one to three numbers, such as "press 3, 1 and 4". Its code has a place for each: the
 * digit, or -1. A text of such codes is composed anew for each of some hundred orders. */
#include <string.h>

#include "base/random.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { MOST_WORDS = 3, NUM_DIGITS = 6, NOTHING = -1, MOST_TEXT = 24 };

typedef struct order {
  int32_t digits[MOST_WORDS]; /* NOTHING after the last */
  int32_t done;               /* how many were pressed */
} order;

/* "press 3", "press 3 and 1", "press 3, 1 and 4" */
static int32_t write_order(const void *code, char *out) {
  const int32_t *digits = code;
  int32_t count = 0, length = 0;
  while (count < MOST_WORDS && digits[count] >= 0 && digits[count] < NUM_DIGITS) count++;
  if (!count) return 0;
  for (int32_t i = 0; i < count; i++) {
    const char *before = i == 0 ? "press " : i == count - 1 ? " and " : ", ";
    size_t size = strlen(before);
    memcpy(out + length, before, size);
    length += (int32_t)size;
    out[length++] = (char)('0' + digits[i]);
  }
  return length;
}

static const pp_field fields[] = {
    {.name = "order",
     .dtype = PP_INT32,
     .space = PP_TEXT,
     .ndim = 1,
     .shape = {MOST_WORDS},
     .n = MOST_TEXT,
     .text = write_order,
     .charset = "presand0123456789, "},
    {.name = "done", .dtype = PP_INT64, .space = PP_DISCRETE, .n = MOST_WORDS + 1},
};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  order *it = env->state;
  int64_t count = pp_rng_integers(env->rng, 1, MOST_WORDS + 1);
  for (int32_t i = 0; i < MOST_WORDS; i++) {
    it->digits[i] = i < count ? (int32_t)pp_rng_integers(env->rng, 0, NUM_DIGITS) : NOTHING;
  }
  it->done = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  order *it = env->state;
  if (it->done < MOST_WORDS && *(const int64_t *)action == it->digits[it->done]) it->done++;
  result->terminated = it->done == MOST_WORDS || it->digits[it->done] == NOTHING;
  result->reward[0] = result->terminated;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const order *it = env->state;
  int64_t *done = rows[1];
  if (rows[0]) memcpy(rows[0], it->digits, sizeof(it->digits));
  if (done) *done = it->done;
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const order *it = saved->state;
  return pp_state_check_range(env, "done", it->done, 0, MOST_WORDS) ? PP_OK : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_test_orders_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Orders-v0",
    .family = "test",
    .reference = "none",
    .max_episode_steps = 40,
    .state_size = sizeof(order),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_DIGITS},
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
