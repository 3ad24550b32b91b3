/* Pools: making them, sharing their environments out over nodes, and taking them down. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "os.h"
#include "pool.h"
#include "remote.h"

/* --------------------------------------------------------------------------------- checks -- */

static int check_options(const pp_pool_options *o, pp_error *error) {
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
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "max_episode_steps=%d: choose a positive number, or none",
                        o->max_episode_steps);
  }
  return PP_OK;
}

int pp_pool_check(const pp_pool *pool, pp_error *error) {
  if (pool->fork_generation != pp_os_fork_generation()) {
    return pp_error_set(error, PP_ERR_FORKED,
                        "this pool belongs to the parent process: make a new one after fork");
  }
  if (atomic_load_explicit(&pool->is_closed, memory_order_seq_cst)) {
    return pp_error_set(error, PP_ERR_CLOSED, "the pool is closed");
  }
  return PP_OK;
}

/* --------------------------------------------------------------------------------- making -- */

/* one lane for each node that gets a thread; each owns environments in proportion to its threads */
static int make_lanes(pp_pool *pool, int32_t offset) {
  pp_share shares[PP_MAX_NODES];
  int32_t count = pp_topology_deal(&pool->topology, pool->num_threads, shares);
  int32_t here = pp_os_current_cpu(), threads = 0, first = 0, pinned = 0;

  if (count > pool->fleet.num_envs) count = pool->fleet.num_envs;
  pool->lanes = aligned_alloc(64, sizeof(*pool->lanes) * (size_t)count);
  if (!pool->lanes) return PP_ERR_MEMORY;
  memset(pool->lanes, 0, sizeof(*pool->lanes) * (size_t)count);

  for (int32_t i = 0; i < count; i++) {
    for (int32_t c = 0; c < shares[i].num_cpus; c++) {
      if (shares[i].cpus[c] == here) pool->home_lane = i;
    }
  }
  // The caller takes the place of one worker on its own node. Unordered, a lane must go on while
  // the caller is away, so it needs another.
  pool->is_helped = pool->ring.is_ordered || shares[pool->home_lane].num_threads > 1;
  for (int32_t i = 0; i < count; i++) {
    pp_lane *lane = &pool->lanes[i];
    int32_t is_home = i == pool->home_lane && pool->is_helped, end;
    int status;

    threads += shares[i].num_threads;
    end = (int32_t)((int64_t)pool->fleet.num_envs * threads / pool->num_threads);
    if (i == count - 1) end = pool->fleet.num_envs;
    status = pp_lane_init(lane, &pool->stepper, first, end, shares[i].num_threads, is_home);
    pool->num_lanes = i + 1;
    if (status < 0) return status;
    lane->cores = pool->topology.cores;
    lane->node = shares[i].node;
    for (int32_t w = 0; w < lane->num_workers; w++, pinned++) {
      pp_worker *worker = &lane->workers[w];
      if (offset >= 0) {
        worker->cpus = &pool->topology.cpus[((int64_t)offset + pinned) % pool->topology.num_cpus];
        worker->num_cpus = 1;
      } else if (count > 1) {
        worker->cpus = shares[i].cpus;
        worker->num_cpus = shares[i].num_cpus;
      }
    }
    first = end;
  }
  // with fewer environments than nodes some nodes are left out, and their threads with them
  pool->num_threads = threads;
  pool->num_workers = threads - pool->is_helped;
  return PP_OK;
}

/* puts the states of each lane's environments on its node */
static void bind_states(pp_pool *pool) {
  for (int32_t i = 0; pool->num_lanes > 1 && i < pool->num_lanes; i++) {
    pp_lane *lane = &pool->lanes[i];
    char *first = pool->fleet.states + pool->fleet.stride * (size_t)lane->first_env;
    size_t size = pool->fleet.stride * (size_t)(lane->end_env - lane->first_env);
    if (pp_os_pages_bind(first, size, &lane->node, 1) < 0) {
      atomic_fetch_add_explicit(&pool->refused_binds, 1, memory_order_relaxed);
    }
  }
}

/* num_threads=0: as many as can run at once, and no more than can have work */
static int32_t default_threads(const pp_pool *pool, const pp_pool_options *options) {
  if (options->num_threads) return options->num_threads;
  return pool->topology.cores < options->batch_size ? pool->topology.cores : options->batch_size;
}

static int make_threads(pp_pool *pool, const pp_pool_options *options) {
  int status;
  pool->num_threads = default_threads(pool, options);
  status = make_lanes(pool, options->thread_affinity_offset);
  for (int32_t i = 0; status >= 0 && i < pool->num_lanes; i++) {
    status = pp_lane_start(&pool->lanes[i]);
  }
  return status;
}

static int make_books(pp_pool *pool, const pp_pool_options *options) {
  size_t n = (size_t)options->num_envs;
  pool->failed = calloc(n, sizeof(*pool->failed));
  pool->flying = calloc(n, sizeof(*pool->flying));
  pool->entries = calloc(n, sizeof(*pool->entries));
  pool->sent_ids = calloc(n, sizeof(*pool->sent_ids));
  pool->step_ids = calloc(n, sizeof(*pool->step_ids));
  if (!pool->failed || !pool->flying || !pool->entries || !pool->sent_ids || !pool->step_ids) {
    return PP_ERR_MEMORY;
  }
  if (pp_scratch_init(&pool->scratch, pool->fleet.num_players) < 0) return PP_ERR_MEMORY;
  return pp_ring_init(&pool->ring, options->num_envs, options->batch_size);
}

/* what every pool starts with; null: no memory */
static pp_pool *make_pool(const char *topology_root) {
  pp_pool *pool = aligned_alloc(64, (sizeof(*pool) + 63) / 64 * 64);
  if (!pool) return NULL;
  memset(pool, 0, sizeof(*pool));
  pool->fork_generation = pp_os_fork_generation();
  pthread_mutex_init(&pool->lock, NULL);
  pp_gate_init(&pool->gate, 0);
  pp_topology_read(&pool->topology, topology_root);
  return pool;
}

int pp_pool_create(const pp_env_def *def, const pp_value *values, const pp_pool_options *options,
                   pp_pool **out, pp_error *error) {
  int status = check_options(options, error);
  pp_pool *pool;

  *out = NULL;
  if (status < 0) return status;
  pool = make_pool(options->topology_root);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");
  pool->stepper = (pp_stepper){&pool->fleet, &pool->layout, &pool->ring, &pool->gate};

  status = pp_fleet_init(&pool->fleet, def, values, options, error);
  if (status >= 0) {
    status =
        pp_layout_init(&pool->layout, &pool->fleet.config, options, options->batch_size, error);
  }
  if (status >= 0) {
    status = make_books(pool, options);
    if (status >= 0) status = make_threads(pool, options);
    if (status < 0) {
      pp_error_set(error, status, "no memory or threads for num_envs=%d, num_threads=%d",
                   options->num_envs, pool->num_threads);
    }
  }
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  bind_states(pool);
  *out = pool;
  return PP_OK;
}

int pp_pool_create_remote(const pp_config *config, const pp_pool_options *options,
                          int32_t num_lanes, int32_t keeps_last, pp_pool **out, pp_error *error) {
  int status = check_options(options, error);
  pp_pool *pool;

  *out = NULL;
  if (status < 0) return status;
  if (num_lanes < 1 || num_lanes > options->num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_workers=%d, num_envs=%d: choose 1 to num_envs",
                        num_lanes, options->num_envs);
  }
  pool = make_pool(options->topology_root);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");
  pool->num_threads = pool->num_workers = num_lanes;
  status = pp_fleet_init_remote(&pool->fleet, config, options, error);
  if (status >= 0) {
    status = pp_layout_init(&pool->layout, config, options, options->batch_size, error);
  }
  if (status >= 0 && make_books(pool, options) < 0) {
    status = pp_error_set(error, PP_ERR_MEMORY, "no memory for num_envs=%d", options->num_envs);
  }
  if (status >= 0) status = pp_remote_init(pool, options, num_lanes, keeps_last, error);
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return PP_OK;
}

/* ----------------------------------------------------------------------------- taking down -- */

void pp_pool_close(pp_pool *pool) {
  if (pool->fork_generation != pp_os_fork_generation()) return;
  atomic_store_explicit(&pool->is_closed, 1, memory_order_seq_cst);
  pp_gate_wake(pp_pool_gate(pool), INT32_MAX);
  if (pool->remote) pp_remote_close(pool);
  for (int32_t i = 0; i < pool->num_lanes; i++) pp_lane_stop(&pool->lanes[i]);
}

void pp_pool_destroy(pp_pool *pool) {
  // a child has none of the threads, and whatever it frees here it would have to lock first
  if (!pool || pool->fork_generation != pp_os_fork_generation()) return;
  pp_pool_close(pool);
  for (int32_t i = 0; i < pool->num_lanes; i++) pp_lane_fini(&pool->lanes[i]);
  free(pool->lanes);
  pp_remote_fini(pool);
  pp_ring_fini(&pool->ring);
  pp_scratch_fini(&pool->scratch);
  free(pool->failed);
  free(pool->flying);
  free(pool->entries);
  free(pool->sent_ids);
  free(pool->step_ids);
  pp_fleet_fini(&pool->fleet);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

/* -------------------------------------------------------------------------------- batches -- */

int64_t pp_batch_size(const pp_pool *pool) {
  return pool->layout.size;
}

int32_t pp_pool_batches(const pp_pool *pool) {
  return pool->ring.capacity;
}

void pp_batch_free(void *memory, int64_t size) {
  if (!pp_remote_block_free(memory, size)) pp_os_pages_free(memory, (size_t)size);
}

/* ordered: rows of a lane's environments are written by its threads, so they go to its node */
static int bind_rows(const pp_pool *pool, void *memory) {
  int status = PP_OK;
  for (int32_t c = 0; c < pool->layout.count; c++) {
    for (int32_t i = 0; i < pool->num_lanes; i++) {
      const pp_lane *lane = &pool->lanes[i];
      char *first = pp_layout_at(&pool->layout, memory, c, lane->first_env);
      size_t size = (size_t)(pool->layout.columns[c].row_bytes * (lane->end_env - lane->first_env));
      if (pp_os_pages_bind(first, size, &lane->node, 1) < 0) status = PP_ERR_SYSTEM;
    }
  }
  return status;
}

void *pp_batch_alloc(pp_pool *pool) {
  void *memory;
  int status = PP_OK;
  if (pool->remote) return pp_remote_block_alloc(pool);
  memory = pp_os_pages_alloc((size_t)pool->layout.size);
  if (!memory || pool->num_lanes == 1) return memory;
  if (pool->ring.is_ordered) {
    status = bind_rows(pool, memory);
  } else {
    int32_t nodes[PP_MAX_NODES];
    for (int32_t i = 0; i < pool->num_lanes; i++) nodes[i] = pool->lanes[i].node;
    status = pp_os_pages_bind(memory, (size_t)pool->layout.size, nodes, pool->num_lanes);
  }
  if (status < 0) atomic_fetch_add_explicit(&pool->refused_binds, 1, memory_order_relaxed);
  return memory;
}

/* ------------------------------------------------------------------------------- questions -- */

const pp_column *pp_pool_columns(const pp_pool *pool, int32_t *count) {
  *count = pool->layout.count;
  return pool->layout.columns;
}

const pp_config *pp_pool_config(const pp_pool *pool) {
  return &pool->fleet.config;
}

void pp_pool_stats(pp_pool *pool, pp_stats *stats) {
  const pp_gate *gate = pp_pool_gate(pool);
  memset(stats, 0, sizeof(*stats));
  stats->env_steps = atomic_load_explicit(&pool->env_steps, memory_order_relaxed);
  stats->batches = atomic_load_explicit(&pool->batches, memory_order_relaxed);
  stats->chunks = atomic_load_explicit(&pool->scratch.chunks, memory_order_relaxed);
  stats->caller_waits = atomic_load_explicit(&gate->waits, memory_order_relaxed);
  stats->caller_wakes = atomic_load_explicit(&gate->wakes, memory_order_relaxed);
  stats->refused_binds = atomic_load_explicit(&pool->refused_binds, memory_order_relaxed);
  stats->num_threads = pool->num_threads;
  stats->num_lanes = pool->num_lanes;
  if (pool->remote) pp_remote_stats(pool, stats);
  for (int32_t i = 0; i < pool->num_lanes; i++) {
    const pp_lane *lane = &pool->lanes[i];
    stats->num_workers += lane->num_workers;
    stats->worker_waits += atomic_load_explicit(&lane->gate.waits, memory_order_relaxed);
    stats->worker_wakes += atomic_load_explicit(&lane->gate.wakes, memory_order_relaxed);
    for (int32_t w = 0; w < lane->num_workers; w++) {
      const pp_worker *worker = &lane->workers[w];
      stats->chunks += atomic_load_explicit(&worker->scratch.chunks, memory_order_relaxed);
      stats->refused_binds += atomic_load_explicit(&worker->was_refused, memory_order_relaxed);
    }
  }
}
