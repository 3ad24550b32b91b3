/* Lanes: those of a pool whose environments are stepped by threads of this process. */
#include "lanes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "native/action.h"
#include "native/reset.h"
#include "os/os.h"
#include "pool/ids.h"
#include "queries.h"
#include "queueing.h"

_Static_assert(_Alignof(pp_threads) == PP_EXCHANGED_BYTES &&
                   offsetof(pp_threads, caller) % PP_EXCHANGED_BYTES == 0,
               "what the caller writes shares no line with what workers read");

/* -------------------------------------------------------------------------- init and fini -- */

/* sets the cores that a lane's workers may run on */
static void place_workers(const pp_pool *pool, pp_lane *lane, const pp_share *share, int32_t offset,
                          bool is_only_lane) {
  for (int32_t w = 0; w < lane->num_workers; w++) {
    pp_thread *worker = &lane->workers[w];
    if (offset >= 0) {
      worker->cpus = pp_topology_pin(&pool->topology, share, offset, w);
      worker->num_cpus = 1;
    } else if (!is_only_lane) {
      worker->cpus = share->cpus;
      worker->num_cpus = share->num_cpus;
    }
  }
}

/* returns the index of the share whose node this thread runs on, 0 if there is none */
static int32_t find_home(const pp_share *shares, int32_t count) {
  int32_t here = pp_os_current_cpu(), home = 0;
  for (int32_t i = 0; i < count; i++) {
    for (int32_t c = 0; c < shares[i].num_cpus; c++) {
      if (shares[i].cpus[c] == here) home = i;
    }
  }
  return home;
}

/* allocates lanes, one for each share, and finds the one that the caller helps first */
static int alloc_lanes(pp_pool *pool, const pp_share *shares, int32_t count) {
  pp_threads *threads = pool->threads;
  size_t size = sizeof(*threads->lanes) * (size_t)count;
  threads->lanes = aligned_alloc(64, size);
  if (!threads->lanes) return PP_ERR_MEMORY;
  memset(threads->lanes, 0, size);
  threads->home_lane = find_home(shares, count);
  // The caller takes the place of one worker on its own node. An unordered lane must make progress
  // while the caller is away, so it needs another thread.
  threads->caller_steps = pool->ring.is_ordered || shares[threads->home_lane].num_threads > 1;
  return PP_OK;
}

/* makes one lane for each node that gets threads; each owns environments in proportion to them */
static int make_lanes(pp_pool *pool, int32_t offset) {
  pp_threads *threads = pool->threads;
  pp_share shares[PP_MAX_NODES];
  int32_t count = pp_topology_assign(&pool->topology, pool->num_threads, shares);
  int32_t num_threads = 0, first = 0;
  int status;

  if (count > pool->fleet.num_envs) count = pool->fleet.num_envs;
  status = alloc_lanes(pool, shares, count);
  for (int32_t i = 0; status >= 0 && i < count; i++) {
    pp_lane *lane = &threads->lanes[i];
    bool has_caller = i == threads->home_lane && threads->caller_steps;
    int32_t end;

    num_threads += shares[i].num_threads;
    end = (int32_t)((int64_t)pool->fleet.num_envs * num_threads / pool->num_threads);
    if (i == count - 1) end = pool->fleet.num_envs;
    status = pp_lane_init(lane, &threads->stepper, first, end, shares[i].num_threads, has_caller);
    threads->num_lanes = i + 1;
    if (status < 0) return status;
    atomic_init(&lane->spin_cores, pool->topology.cores);
    // the caller helps all lanes, and leaves its leftover to the one where it cut a chunk
    if (threads->caller_steps) lane->caller = &threads->caller;
    lane->node = shares[i].node;
    place_workers(pool, lane, &shares[i], offset, count == 1);
    first = end;
  }
  if (status < 0) return status;
  // with fewer environments than nodes, some nodes are left out, with their threads
  pool->num_threads = num_threads;
  threads->num_workers = num_threads - threads->caller_steps;
  return PP_OK;
}

/* puts the states of each lane's environments on its node */
static void bind_states(pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  const pp_natives *natives = &threads->natives;
  for (int32_t i = 0; threads->num_lanes > 1 && i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    char *first = natives->states + natives->stride * (size_t)lane->first_env;
    size_t size = natives->stride * (size_t)(lane->end_env - lane->first_env);
    if (pp_os_pages_bind(first, size, &lane->node, 1) < 0) {
      atomic_fetch_add_explicit(&pool->refused_binds, 1, memory_order_relaxed);
    }
  }
}

/* returns num_threads; for 0 as many threads as can run at once, at most one per row of a batch */
static int32_t default_threads(const pp_pool *pool, const pp_pool_options *options) {
  if (options->num_threads) return options->num_threads;
  return pool->topology.cores < options->batch_size ? pool->topology.cores : options->batch_size;
}

int pp_threads_init(pp_pool *pool, const pp_pool_options *options) {
  pp_threads *threads = pool->threads;
  int status;
  threads->stepper = (pp_stepper){&threads->natives, &pool->ring, &threads->claims, &pool->gate};
  threads->caller.recorder = &pool->receiver;
  pool->num_threads = default_threads(pool, options);
  status = pp_claims_init(&threads->claims, &pool->ring);
  if (status >= 0) status = pp_step_thread_init(&threads->caller, pool->fleet.num_players);
  if (status >= 0) status = make_lanes(pool, options->thread_affinity_offset);
  for (int32_t i = 0; status >= 0 && i < threads->num_lanes; i++) {
    status = pp_lane_start(&threads->lanes[i], threads->lanes[i].num_workers);
  }
  if (status >= 0) bind_states(pool);
  return status;
}

/* joins the threads of all lanes, if all have ended; a stand-in may have started after a wait */
static bool join(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  bool has_ended = true;
  pthread_mutex_lock(&pool->closing);
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    has_ended = has_ended && pp_lane_has_ended(&threads->lanes[i]);
  }
  for (int32_t i = 0; has_ended && i < threads->num_lanes; i++) pp_lane_join(&threads->lanes[i]);
  pthread_mutex_unlock(&pool->closing);
  return has_ended;
}

static bool stop(pp_pool *pool, int64_t end) {
  pp_threads *threads = pool->threads;
  if (!threads) return true;
  for (int32_t i = 0; i < threads->num_lanes; i++) pp_lane_stop(&threads->lanes[i]);
  do {
    for (int32_t i = 0; i < threads->num_lanes; i++) {
      if (!pp_lane_wait(&threads->lanes[i], end)) return false;
    }
  } while (!join(pool));
  return true;
}

static void fini(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  if (!threads) return;
  for (int32_t i = 0; i < threads->num_lanes; i++) pp_lane_fini(&threads->lanes[i]);
  free(threads->lanes);
  pp_step_thread_fini(&threads->caller);
  pp_claims_fini(&threads->claims);
  pp_natives_fini(&threads->natives);
  free(threads);
  pool->threads = NULL;
}

/* --------------------------------------------------------------------------------- blocks -- */

/* ordered: puts the rows of each lane's environments on its node, whose threads write them */
static int bind_rows(const pp_pool *pool, void *memory) {
  const pp_threads *threads = pool->threads;
  int status = PP_OK;
  for (int32_t c = 0; c < pool->layout.count; c++) {
    for (int32_t i = 0; i < threads->num_lanes; i++) {
      const pp_lane *lane = &threads->lanes[i];
      char *first = pp_layout_at(&pool->layout, memory, c, lane->first_env);
      size_t size = (size_t)(pool->layout.columns[c].row_bytes * (lane->end_env - lane->first_env));
      if (pp_os_pages_bind(first, size, &lane->node, 1) < 0) status = PP_ERR_SYSTEM;
    }
  }
  return status;
}

static bool is_block(const pp_pool *pool, const void *memory) {
  (void)pool;
  return memory != NULL;
}

static void block_offered_locked(pp_pool *pool, const pp_ring_slot *slot) {
  pp_claims_prepare_locked(&pool->threads->claims, slot);
}

/* threads read the target in the ring itself */
static void target_set_locked(pp_pool *pool, const pp_ring_slot *slot) {
  (void)pool;
  (void)slot;
}

static void count_refused(pp_pool *pool, int status) {
  if (status < 0) atomic_fetch_add_explicit(&pool->refused_binds, 1, memory_order_relaxed);
}

/* spreads pages over the nodes of all lanes */
static void bind_to_all(pp_pool *pool, void *memory, size_t size) {
  const pp_threads *threads = pool->threads;
  int32_t nodes[PP_MAX_NODES];
  for (int32_t i = 0; i < threads->num_lanes; i++) nodes[i] = threads->lanes[i].node;
  count_refused(pool, pp_os_pages_bind(memory, size, nodes, threads->num_lanes));
}

static void *alloc(pp_pool *pool) {
  void *memory = pp_os_pages_alloc((size_t)pool->layout.size);
  if (!memory || pool->threads->num_lanes == 1) return memory;
  if (pool->ring.is_ordered) {
    count_refused(pool, bind_rows(pool, memory));
  } else {
    bind_to_all(pool, memory, (size_t)pool->layout.size);
  }
  return memory;
}

/* On all nodes: pages of a rollout's small columns hold rows of several nodes' environments. */
static void *alloc_rollout(pp_pool *pool, int32_t batches) {
  const pp_threads *threads = pool->threads;
  size_t size = (size_t)pool->layout.size * (size_t)batches;
  void *memory = pp_os_pages_alloc(size);
  if (memory && threads->num_lanes > 1) bind_to_all(pool, memory, size);
  return memory;
}

/* -------------------------------------------------------------------------------- receiving -- */

static bool is_complete(const pp_pool *pool, const pp_ring_slot *slot) {
  return pp_claims_are_complete(&pool->threads->claims, slot);
}

static int32_t count_written(const pp_pool *pool, const pp_ring_slot *slot) {
  return pp_claims_written(&pool->threads->claims, slot);
}

static bool cut_locked(pp_pool *pool, int32_t rows) {
  return pp_claims_cut_locked(&pool->threads->claims, rows);
}

/* a thread can't die without its process, so the batch is always completed */
static int check_progress(pp_pool *pool, const pp_ring_slot *slot, int32_t rows, pp_error *error) {
  (void)pool;
  (void)slot;
  (void)rows;
  (void)error;
  return PP_OK;
}

static int32_t collect_locked(pp_pool *pool, const pp_ring_slot *slot, int32_t rows) {
  int32_t failed;
  const int32_t *failed_envs = pp_claims_failed(&pool->threads->claims, slot, &failed);
  if (rows == pool->fleet.num_envs) {
    memset(pool->is_in_flight, 0, (size_t)rows);
  } else {
    const int32_t *ids =
        pp_layout_at(slot->layout, slot->memory, pool->layout.env_id, slot->first_row);
    for (int32_t i = 0, run; i < rows; i += run) {
      run = pp_ids_run(ids + i, rows - i);
      memset(pool->is_in_flight + ids[i], 0, (size_t)run);
    }
  }
  if (failed) memcpy(pool->failed, failed_envs, sizeof(*pool->failed) * (size_t)failed);
  return failed;
}

/* ------------------------------------------------------------------------------ operations -- */

static int check_locked(const pp_pool *pool, const int32_t *env_ids, int32_t count,
                        pp_error *error) {
  (void)pool;
  (void)env_ids;
  (void)count;
  (void)error;
  return PP_OK;
}

static int store_actions_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                                const void *actions, int32_t dtype, pp_error *error) {
  return pp_action_store(&pool->threads->natives, env_ids, count, actions, dtype, error);
}

static int store_reset_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const uint32_t *seed_words, const int32_t *seed_sizes,
                              const pp_value *options, pp_error *error) {
  return pp_reset_store_locked(pool, &pool->threads->natives, env_ids, count, seed_words,
                               seed_sizes, options, error);
}

static pp_natives *natives(const pp_pool *pool, pp_error *error) {
  (void)error;
  return &pool->threads->natives;
}

static void refuse_locked(pp_pool *pool, const int32_t *env_ids, int32_t count) {
  (void)pool;
  (void)env_ids;
  (void)count;
}

static int32_t spin_cores(const pp_pool *pool) {
  return atomic_load_explicit(&pool->threads->lanes[0].spin_cores, memory_order_relaxed);
}

static void stop_spinning(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    atomic_store_explicit(&threads->lanes[i].spin_cores, 0, memory_order_relaxed);
  }
}

static pp_track *alloc_track(pp_pool *pool) {
  (void)pool;
  return pp_track_alloc();
}

const pp_lane_ops pp_threads_ops = {.check_locked = check_locked,
                                    .store_actions_locked = store_actions_locked,
                                    .store_reset_locked = store_reset_locked,
                                    .refuse_locked = refuse_locked,
                                    .queue_locked = pp_threads_queue_locked,
                                    .is_inline = pp_caller_is_inline,
                                    .step_inline = pp_caller_step_inline,
                                    .alloc = alloc,
                                    .alloc_rollout = alloc_rollout,
                                    .is_block = is_block,
                                    .block_offered_locked = block_offered_locked,
                                    .target_set_locked = target_set_locked,
                                    .cut_locked = cut_locked,
                                    .is_complete = is_complete,
                                    .count_written = count_written,
                                    .expects_long_wait = pp_caller_expects_long_wait,
                                    .step_chunk = pp_caller_step_chunk,
                                    .is_replaced = pp_caller_is_replaced,
                                    .check_progress = check_progress,
                                    .collect_locked = collect_locked,
                                    .natives = natives,
                                    .spin_cores = spin_cores,
                                    .stop_spinning = stop_spinning,
                                    .stats = pp_threads_stats,
                                    .stepping = pp_threads_stepping,
                                    .track_capacity = PP_TRACK_THREAD,
                                    .num_tracks = pp_threads_num_tracks,
                                    .alloc_track = alloc_track,
                                    .free_track = pp_track_free,
                                    .set_track = pp_threads_set_track,
                                    .is_recording = pp_threads_is_recording,
                                    .stop = stop,
                                    .fini = fini};
