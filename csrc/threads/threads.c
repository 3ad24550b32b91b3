/* Threads: the lanes of a pool whose environments are stepped by threads of this process. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

/* ------------------------------------------------------------------------- making, ending -- */

/* one lane for each node that gets a thread; each owns environments in proportion to its threads */
static int make_lanes(pp_pool *pool, int32_t offset) {
  pp_share shares[PP_MAX_NODES];
  int32_t count = pp_topology_assign(&pool->topology, pool->num_threads, shares);
  int32_t here = pp_os_current_cpu(), threads = 0, first = 0;

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
    if (is_home) lane->caller = &pool->scratch;
    lane->node = shares[i].node;
    for (int32_t w = 0; w < lane->num_workers; w++) {
      pp_thread *worker = &lane->workers[w];
      if (offset >= 0) {
        worker->cpus = pp_topology_pin(&pool->topology, &shares[i], offset, w);
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

int pp_threads_init(pp_pool *pool, const pp_pool_options *options) {
  int status;
  pool->num_threads = default_threads(pool, options);
  status = make_lanes(pool, options->thread_affinity_offset);
  for (int32_t i = 0; status >= 0 && i < pool->num_lanes; i++) {
    status = pp_lane_start(&pool->lanes[i]);
  }
  if (status >= 0) bind_states(pool);
  return status;
}

static void stop(pp_pool *pool) {
  for (int32_t i = 0; i < pool->num_lanes; i++) pp_lane_stop(&pool->lanes[i]);
}

static void fini(pp_pool *pool) {
  for (int32_t i = 0; i < pool->num_lanes; i++) pp_lane_fini(&pool->lanes[i]);
  free(pool->lanes);
}

/* --------------------------------------------------------------------------------- blocks -- */

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

static void *alloc(pp_pool *pool) {
  void *memory = pp_os_pages_alloc((size_t)pool->layout.size);
  int status = PP_OK;
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

/* ------------------------------------------------------------------------------- stepping -- */

/* all environments of a lane, in runs; place: of the pool's first environment */
static int32_t list_all(const pp_lane *lane, int32_t place, int32_t run, pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = lane->first_env; i < lane->end_env; i += run) {
    int32_t length = lane->end_env - i < run ? lane->end_env - i : run;
    entries[listed++] = PP_ENTRY(place + i, i, length);
  }
  return listed;
}

/* those of the environments named that are the lane's, one by one in the order named */
static int32_t list_named(const pp_lane *lane, const int32_t *env_ids, int32_t count, int32_t place,
                          pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = 0; i < count; i++) {
    if (env_ids[i] < lane->first_env || env_ids[i] >= lane->end_env) continue;
    entries[listed++] = PP_ENTRY(place + i, env_ids[i], 1);
  }
  return listed;
}

static void queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                         int32_t is_helping) {
  for (int32_t l = 0; l < pool->num_lanes; l++) {
    pp_lane *lane = &pool->lanes[l];
    int32_t run = pp_grain_run(&lane->grain), queued, envs;
    if (!env_ids) {
      envs = lane->end_env - lane->first_env;
      queued = list_all(lane, place, run, pool->entries);
    } else if (pool->ring.is_ordered || run == 1) {
      run = 1;
      envs = queued = list_named(lane, env_ids, count, place, pool->entries);
    } else {
      // Unordered rows may come in any order, so cheap environments are stepped in runs. Named as
      // they were received, the runs of several threads would lie one inside the other, and each
      // time round they would become shorter.
      envs = pp_idset_add(&lane->named, env_ids, count);
      queued = pp_idset_take(&lane->named, run, pool->entries);
    }
    if (!queued) continue;
    pp_queue_push_locked(&lane->queue, pool->entries, queued, run);
    pp_lane_wake(lane, envs, is_helping && l == pool->home_lane);
  }
}

static int is_complete(const pp_pool *pool, pp_batch *batch) {
  (void)pool;
  return pp_batch_is_complete(batch);
}

static int32_t collect_locked(pp_pool *pool, pp_batch *batch, int32_t rows) {
  int32_t failed = atomic_load_explicit(&batch->num_failed, memory_order_relaxed);
  if (rows == pool->fleet.num_envs) {
    memset(pool->is_in_flight, 0, (size_t)rows);
  } else {
    const int32_t *ids = pp_layout_at(&pool->layout, batch->memory, pool->layout.env_id, 0);
    for (int32_t i = 0, run; i < rows; i += run) {
      run = pp_ids_run(ids + i, rows - i);
      memset(pool->is_in_flight + ids[i], 0, (size_t)run);
    }
  }
  if (failed) memcpy(pool->failed, batch->failed, sizeof(*pool->failed) * (size_t)failed);
  return failed;
}

/* ------------------------------------------------------------------------------ questions -- */

static int32_t cores(const pp_pool *pool) {
  return pool->topology.cores;
}

static void stats(const pp_pool *pool, pp_stats *out) {
  out->num_lanes = pool->num_lanes;
  for (int32_t i = 0; i < pool->num_lanes; i++) {
    const pp_lane *lane = &pool->lanes[i];
    out->num_workers += lane->num_workers;
    out->worker_waits += atomic_load_explicit(&lane->gate.waits, memory_order_relaxed);
    out->worker_wakes += atomic_load_explicit(&lane->gate.wakes, memory_order_relaxed);
    for (int32_t w = 0; w < lane->num_workers; w++) {
      const pp_thread *worker = &lane->workers[w];
      out->chunks += atomic_load_explicit(&worker->scratch.chunks, memory_order_relaxed);
      out->refused_binds += atomic_load_explicit(&worker->was_refused, memory_order_relaxed);
    }
  }
}

const pp_lane_ops pp_threads_ops = {.queue_locked = queue_locked,
                                    .alloc = alloc,
                                    .is_complete = is_complete,
                                    .collect_locked = collect_locked,
                                    .cores = cores,
                                    .stats = stats,
                                    .stop = stop,
                                    .fini = fini};
