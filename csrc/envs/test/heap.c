/* test/Heap-v0: a diary in allocated memory, to test environments whose state is not plain data.
 *
 * Every step appends the action plus a random number to the diary, so the size of a snapshot grows
 * during an episode. It needs all of init, fini, save, load and check_state. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { FIRST_CAPACITY = 2, MAX_RANDOM = 999, MAX_ACTION = 3, MAX_ENTRY = MAX_RANDOM + MAX_ACTION };

typedef struct diary {
  int64_t *entries;
  int64_t length;
  int64_t capacity;
} diary;

static const pp_field fields[] = {
    {.name = "obs", /* number of entries, their sum */
     .dtype = PP_INT64,
     .ndim = 1,
     .shape = {2},
     .low = 0,
     .high = 1e9},
    {.name = "last", .is_info = true, .when = PP_ON_STEP, .dtype = PP_INT64},
};

static int make_room(pp_env *env, int64_t capacity) {
  diary *book = env->state;
  if (capacity <= book->capacity) return PP_OK;
  int64_t *entries = realloc(book->entries, (size_t)capacity * sizeof(*entries));
  if (!entries) {
    return pp_fail(env->error, PP_ERR_MEMORY, "no memory for %lld entries", (long long)capacity);
  }
  book->entries = entries;
  book->capacity = capacity;
  return PP_OK;
}

static int init(pp_env *env) {
  return make_room(env, FIRST_CAPACITY);
}

static void fini(pp_env *env) {
  diary *book = env->state;
  free(book->entries);
  *book = (diary){0};
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  diary *book = env->state;
  book->length = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  diary *book = env->state;
  if (book->length == book->capacity) {
    int status = make_room(env, 2 * book->capacity);
    if (status != PP_OK) return status;
  }
  int64_t entry = *(const int64_t *)action + pp_rng_integers(env->rng, 0, MAX_RANDOM + 1);
  book->entries[book->length++] = entry;
  result->reward[0] = (double)entry;
  result->terminated = entry >= 990;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const diary *book = env->state;
  int64_t *summary = rows[0], *last = rows[1];
  if (summary) {
    summary[0] = book->length;
    summary[1] = 0;
    for (int64_t i = 0; i < book->length; i++) summary[1] += book->entries[i];
  }
  if (last) *last = book->length ? book->entries[book->length - 1] : 0;
  return PP_OK;
}

static int64_t save(pp_env *env, void *bytes) {
  const diary *book = env->state;
  size_t size = (size_t)book->length * sizeof(*book->entries);
  if (bytes) memcpy(bytes, book->entries, size);
  return (int64_t)size;
}

/* Refuses what load must not get. The entries are not aligned here, and observe adds them up. */
static int check_state(const pp_env *env, const pp_saved *saved) {
  int64_t entry;
  const int64_t entry_size = (int64_t)sizeof(entry);
  if (saved->size % entry_size != 0) {
    return pp_fail(env->error, PP_ERR_ARGUMENT, "%lld bytes are no whole number of entries",
                   (long long)saved->size);
  }
  for (int64_t at = 0; at < saved->size; at += entry_size) {
    memcpy(&entry, (const char *)saved->state + at, sizeof(entry));
    if (!pp_state_check_range(env, "entry", entry, 0, MAX_ENTRY)) return PP_ERR_ARGUMENT;
  }
  return PP_OK;
}

static int load(pp_env *env, const void *bytes, int64_t size) {
  diary *book = env->state;
  const int64_t entry_size = (int64_t)sizeof(*book->entries);
  int status = make_room(env, size / entry_size);
  if (status != PP_OK) return status;
  if (size > 0) memcpy(book->entries, bytes, (size_t)size);
  book->length = size / entry_size;
  return PP_OK;
}

const pp_env_def pp_env_test_heap_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Heap-v0",
    .family = "test",
    .reference = "none",
    .has_reward_threshold = true,
    .reward_threshold = 1e6,
    .max_episode_steps = 1000,
    .state_size = sizeof(diary),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = MAX_ACTION + 1},
    .init = init,
    .fini = fini,
    .reset = reset,
    .step = step,
    .observe = observe,
    .save = save,
    .load = load,
    .check_state = check_state,
};
