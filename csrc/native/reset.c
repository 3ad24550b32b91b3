/* Reset: checks the seeds and options of a reset, and stores them until environments take them. */
#include "reset.h"

#include <stdlib.h>
#include <string.h>

#include "pool/error.h"
#include "values.h"

static int check_seed(int32_t env_id, int32_t count, pp_error *error) {
  if (count >= 0 && count <= PP_SEED_WORDS) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "the seed of environment %d has %lld bits: choose one of at most %d bits",
                      env_id, 32 * (long long)count, 32 * PP_SEED_WORDS);
}

/* Stores a checked seed for the next reset; with count 0 the current generator stays. */
static void store_seed(pp_natives *natives, int32_t env_id, const uint32_t *words, int32_t count) {
  if (count == 0) return;
  memcpy(natives->seeds[env_id], words, sizeof(*words) * (size_t)count);
  natives->seed_sizes[env_id] = (uint8_t)count;
}

/* words: the seeds one after another, sizes[i] words for the i-th environment named */
static int store_seeds(pp_natives *natives, const int32_t *env_ids, int32_t count,
                       const uint32_t *words, const int32_t *sizes, pp_error *error) {
  if (words && !sizes) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "seeds without sizes: give the words of each");
  }
  // all are checked before the first is stored
  for (int32_t i = 0; words && i < count; i++) {
    int status = check_seed(env_ids ? env_ids[i] : i, sizes[i], error);
    if (status < 0) return status;
  }
  for (int32_t i = 0; words && i < count; i++) {
    store_seed(natives, env_ids ? env_ids[i] : i, words, sizes[i]);
    words += sizes[i];
  }
  return PP_OK;
}

/* checks reset options and stores them; environments read them while their reset is in flight */
static int store_options_locked(const pp_pool *pool, pp_natives *natives, const pp_value *options,
                                int32_t count, pp_error *error) {
  const pp_env_def *def = natives->def;
  const pp_option_sets *sets = &natives->option_sets;
  pp_error own = {.text = ""};
  pp_value *kept;

  if (pp_pool_count(pool) != count) {
    return pp_error_set(error, PP_ERR_STATE,
                        "a reset with options needs all others received first: %d are in flight",
                        pp_pool_count(pool) - count);
  }
  // with defaults filled in, and with texts that outlive the call
  kept = pp_values_copy(def->reset_options, def->num_reset_options, options);
  if (!kept) return pp_error_set(error, PP_ERR_MEMORY, "no memory for reset options");
  for (int32_t i = 0; def->check_reset && i < sets->num_shared; i++) {
    int status = def->check_reset(sets->shared[i], kept, &own);
    if (status >= 0) continue;
    pp_error_explain(&own, "check_reset", status);
    free(kept);
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: %s", def->id, own.text);
  }
  free(natives->reset_options);
  natives->reset_options = kept;
  return PP_OK;
}

int pp_reset_store_locked(const pp_pool *pool, pp_natives *natives, const int32_t *env_ids,
                          int32_t count, const uint32_t *seed_words, const int32_t *seed_sizes,
                          const pp_value *options, pp_error *error) {
  int status = options ? store_options_locked(pool, natives, options, count, error) : PP_OK;
  return status < 0 ? status : store_seeds(natives, env_ids, count, seed_words, seed_sizes, error);
}

int pp_pool_seed(pp_pool *pool, const uint32_t *words, const int32_t *sizes, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives;
  if (status < 0) return status;
  natives = pool->ops.natives(pool, error);
  if (!natives) return PP_ERR_STATE;
  pthread_mutex_lock(&pool->lock);
  if (pp_pool_count(pool)) {
    status = pp_error_set(error, PP_ERR_STATE, "%d environments are in flight: receive them first",
                          pp_pool_count(pool));
  } else {
    status = store_seeds(natives, NULL, pool->fleet.num_envs, words, sizes, error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}
