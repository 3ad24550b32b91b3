/* Create: makes a pool whose environments are stepped by threads of this process. */
#include "pool/create.h"

#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "pool/budget.h"
#include "pool/error.h"

/* returns a pool without environments; null if there is no memory */
static pp_pool *make_pool(const pp_pool_options *options) {
  pp_pool *pool = pp_pool_make(&pp_threads_ops, options->topology_root);
  if (!pool) return NULL;
  pool->threads = aligned_alloc(PP_EXCHANGED_BYTES, sizeof(*pool->threads));
  if (!pool->threads) {
    pp_pool_destroy(pool);
    return NULL;
  }
  memset(pool->threads, 0, sizeof(*pool->threads));
  return pool;
}

/* makes the environments, once it is clear that they and their results fit into memory */
static int make_natives(pp_pool *pool, const pp_env_def *def, const pp_value *values,
                        const pp_pool_options *options, pp_error *error) {
  const int32_t *limits = options->variation ? options->variation->limits : NULL;
  pp_natives *natives = &pool->threads->natives;
  int status = pp_natives_init(natives, &pool->fleet, def, values, options, error);
  if (status >= 0) {
    status =
        pp_layout_init(&pool->layout, &pool->fleet.config, options, options->batch_size, error);
  }
  if (status >= 0) {
    status = pp_budget_check(pool, options, pp_natives_bytes(natives, options), error);
  }
  return status < 0 ? status : pp_natives_make(natives, limits, error);
}

int pp_pool_create(const pp_env_def *def, const pp_value *values, const pp_pool_options *options,
                   pp_pool **out, pp_error *error) {
  int status = pp_pool_check_options(def, options, out, error);
  pp_pool *pool;

  if (status >= 0) status = pp_env_check(def, error);
  if (status < 0) return status;
  pool = make_pool(options);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");
  status = make_natives(pool, def, values, options, error);
  if (status >= 0) {
    status = pp_pool_make_records(pool, options);
    if (status >= 0) status = pp_threads_init(pool, options);
    if (status < 0) {
      pp_error_set(error, status, "no memory or threads for num_envs=%d, num_threads=%d",
                   options->num_envs, pool->num_threads);
    }
  }
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return PP_OK;
}
