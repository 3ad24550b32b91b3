/* Pool: the checks at the start of calls, close and destroy, and simple queries. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "os/os.h"
#include "trace.h"

/* --------------------------------------------------------------------------------- checks -- */

int pp_pool_check(const pp_pool *pool, pp_error *error) {
  if (pool->fork_generation != pp_os_fork_generation()) {
    return pp_error_set(error, PP_ERR_FORKED,
                        "this pool belongs to the parent process: make a new one after fork");
  }
  if (atomic_load_explicit(&pool->is_closed, memory_order_seq_cst)) {
    return pp_error_set(error, PP_ERR_CLOSED, "the pool is closed: make a new one");
  }
  if (atomic_load_explicit(&pool->is_broken, memory_order_relaxed)) {
    return pp_error_set(error, PP_ERR_BROKEN,
                        "a worker process has written over the pool's memory: close this pool and "
                        "make a new one");
  }
  return PP_OK;
}

/* --------------------------------------------------------------------------------- closing -- */

int pp_pool_close(pp_pool *pool, int64_t timeout) {
  int64_t now = pp_os_now();
  // a forked child has none of the threads
  if (pool->fork_generation != pp_os_fork_generation()) return PP_OK;
  atomic_store_explicit(&pool->is_closed, true, memory_order_seq_cst);
  pp_gate_wake(pool->caller, INT32_MAX);
  return pool->ops.stop(pool, timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout)
             ? PP_OK
             : PP_AGAIN;
}

int32_t pp_pool_stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room) {
  if (!env_ids || !counts || pool->fork_generation != pp_os_fork_generation()) return 0;
  return pool->ops.stepping(pool, env_ids, counts, room);
}

void pp_pool_destroy(pp_pool *pool) {
  // a forked child has none of the threads, and a thread of the parent may have held a lock
  if (!pool || pool->fork_generation != pp_os_fork_generation()) return;
  pp_pool_close(pool, -1);
  pp_trace_fini(pool);
  pool->ops.fini(pool);
  pp_ring_fini(&pool->ring);
  free(pool->failed);
  free(pool->is_in_flight);
  free(pool->entries);
  free(pool->sent_ids);
  free(pool->step_ids);
  pp_fleet_fini(&pool->fleet);
  pthread_mutex_destroy(&pool->lock);
  pthread_mutex_destroy(&pool->closing);
  free(pool);
}

/* -------------------------------------------------------------------------------- batches -- */

int64_t pp_batch_size(const pp_pool *pool) {
  return pool->layout.size;
}

int32_t pp_pool_batches(const pp_pool *pool) {
  return pool->ring.capacity;
}

void *pp_batch_alloc(pp_pool *pool) {
  return pool->ops.alloc(pool);
}

/* --------------------------------------------------------------------------------- queries -- */

const pp_column *pp_pool_columns(const pp_pool *pool, int32_t *count) {
  if (count) *count = pool->layout.count;
  return pool->layout.columns;
}

const pp_config *pp_pool_config(const pp_pool *pool) {
  return &pool->fleet.config;
}

void pp_pool_stats(pp_pool *pool, pp_stats *stats) {
  const pp_gate *gate = pool->caller;
  if (!stats) return;
  memset(stats, 0, sizeof(*stats));
  stats->env_steps = atomic_load_explicit(&pool->env_steps, memory_order_relaxed);
  stats->batches = atomic_load_explicit(&pool->batches, memory_order_relaxed);
  stats->caller_waits = atomic_load_explicit(&gate->waits, memory_order_relaxed);
  stats->caller_wakes = atomic_load_explicit(&gate->wakes, memory_order_relaxed);
  stats->refused_binds = atomic_load_explicit(&pool->refused_binds, memory_order_relaxed);
  stats->num_threads = pool->num_threads;
  pool->ops.stats(pool, stats);
}

void pp_pool_stop_spinning(pp_pool *pool) {
  if (pool->ops.stop_spinning) pool->ops.stop_spinning(pool);
}

int32_t pp_usable_cores(const char *root) {
  pp_topology topology;
  pp_topology_read(&topology, root);
  return topology.cores;
}

void pp_limit_cores(int32_t cores) {
  pp_topology_limit(cores);
}
