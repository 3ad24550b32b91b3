/* Create: checks the options of a pool, and makes what both kinds of pools have. */
#include "create.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "os/os.h"

int pp_pool_check_options(const void *source, const pp_pool_options *o, pp_pool **out,
                          pp_error *error) {
  if (!out)
    return pp_error_set(error, PP_ERR_ARGUMENT, "out is null: give the address of a pool pointer");
  *out = NULL;
  if (!source || !o) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s is null: give it",
                        o ? "the definition or configuration" : "options");
  }
  if (o->num_envs < 1 || o->num_envs > PP_MAX_ENVS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_envs=%d: choose 1 to %d", o->num_envs,
                        PP_MAX_ENVS);
  }
  if (o->batch_size < 1 || o->batch_size > o->num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "batch_size=%d, num_envs=%d: choose 1 <= batch_size <= num_envs",
                        o->batch_size, o->num_envs);
  }
  if (o->num_threads < 0 || o->num_threads > PP_MAX_CPUS) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "num_threads=%d: choose 1 to %d, or 0 for what the machine has",
                        o->num_threads, PP_MAX_CPUS);
  }
  if (o->autoreset < PP_NEXT_STEP || o->autoreset > PP_DISABLED) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "autoreset=%d: choose a pp_autoreset",
                        o->autoreset);
  }
  if (o->max_episode_steps < -1) {
    return pp_error_set(
        error, PP_ERR_ARGUMENT,
        "max_episode_steps=%d: choose 1 or more, 0 for no limit, or -1 for the default",
        o->max_episode_steps);
  }
  return PP_OK;
}

int pp_pool_make_records(pp_pool *pool, const pp_pool_options *options) {
  size_t n = (size_t)options->num_envs;
  pool->failed = calloc(n, sizeof(*pool->failed));
  pool->is_in_flight = calloc(n, sizeof(*pool->is_in_flight));
  pool->entries = calloc(n, sizeof(*pool->entries));
  pool->sent_ids = calloc(n, sizeof(*pool->sent_ids));
  pool->step_ids = calloc(n, sizeof(*pool->step_ids));
  if (!pool->failed || !pool->is_in_flight || !pool->entries || !pool->sent_ids ||
      !pool->step_ids) {
    return PP_ERR_MEMORY;
  }
  return pp_ring_init(&pool->ring, &pool->layout, options->num_envs, options->batch_size);
}

pp_pool *pp_pool_make(const pp_lane_ops *ops, const char *topology_root) {
  pp_pool *pool = aligned_alloc(64, (sizeof(*pool) + 63) / 64 * 64);
  if (!pool) return NULL;
  memset(pool, 0, sizeof(*pool));
  pool->ops = *ops;
  pool->caller = &pool->gate;
  pool->fork_generation = pp_os_fork_generation();
  pthread_mutex_init(&pool->lock, NULL);
  pthread_mutex_init(&pool->closing, NULL);
  pp_gate_init(&pool->gate, false);
  pp_topology_read(&pool->topology, topology_root);
  return pool;
}
