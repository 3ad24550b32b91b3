/* Threads: the lanes of a pool whose environments are stepped by threads of this process. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#include "native/action.h"
#include "native/reset.h"
#include "os/os.h"
#include "pool/ids.h"

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
    lane->cores = pool->topology.cores;
    // the caller helps all lanes, and leaves its leftover to the one where it cut a chunk
    if (threads->caller_steps) lane->caller = &threads->scratch;
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
  threads->stepper =
      (pp_stepper){&threads->natives, &pool->layout, &pool->ring, &threads->claims, &pool->gate};
  threads->scratch.recorder = &pool->receiver;
  pool->num_threads = default_threads(pool, options);
  status = pp_claims_init(&threads->claims, &pool->ring);
  if (status >= 0) status = pp_scratch_init(&threads->scratch, pool->fleet.num_players);
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
  pp_scratch_fini(&threads->scratch);
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

static void open_locked(pp_pool *pool, const pp_ring_slot *slot) {
  pp_claims_open_locked(&pool->threads->claims, slot);
}

/* threads read the target in the ring itself */
static void target_locked(pp_pool *pool, const pp_ring_slot *slot) {
  (void)pool;
  (void)slot;
}

static void *alloc(pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  void *memory = pp_os_pages_alloc((size_t)pool->layout.size);
  int status = PP_OK;
  if (!memory || threads->num_lanes == 1) return memory;
  if (pool->ring.is_ordered) {
    status = bind_rows(pool, memory);
  } else {
    int32_t nodes[PP_MAX_NODES];
    for (int32_t i = 0; i < threads->num_lanes; i++) nodes[i] = threads->lanes[i].node;
    status = pp_os_pages_bind(memory, (size_t)pool->layout.size, nodes, threads->num_lanes);
  }
  if (status < 0) atomic_fetch_add_explicit(&pool->refused_binds, 1, memory_order_relaxed);
  return memory;
}

/* ------------------------------------------------------------------------------- queueing -- */

/* lists all environments of a lane, in runs; place: of the pool's first environment */
static int32_t list_all(const pp_lane *lane, int32_t place, int32_t run, pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = lane->first_env; i < lane->end_env; i += run) {
    int32_t length = lane->end_env - i < run ? lane->end_env - i : run;
    entries[listed++] = PP_ENTRY(place + i, i, length);
  }
  return listed;
}

/* lists those of the environments named that are the lane's, one by one in the order named */
static int32_t list_named(const pp_lane *lane, const int32_t *env_ids, int32_t count, int32_t place,
                          pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = 0; i < count; i++) {
    if (env_ids[i] < lane->first_env || env_ids[i] >= lane->end_env) continue;
    entries[listed++] = PP_ENTRY(place + i, env_ids[i], 1);
  }
  return listed;
}

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

static void queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                         bool caller_helps) {
  pp_threads *threads = pool->threads;
  for (int32_t l = 0; l < threads->num_lanes; l++) {
    pp_lane *lane = &threads->lanes[l];
    int32_t run = pp_grain_run(&lane->grain), queued, envs;
    if (!env_ids) {
      envs = lane->end_env - lane->first_env;
      queued = list_all(lane, place, run, pool->entries);
    } else if (pool->ring.is_ordered || run == 1) {
      run = 1;
      envs = queued = list_named(lane, env_ids, count, place, pool->entries);
    } else {
      // Unordered rows may come in any order, so cheap environments are sorted by id and stepped in
      // runs. In the order in which they were received, the runs of several threads would mix and
      // become shorter with every send.
      envs = pp_idset_add(&lane->named, env_ids, count);
      queued = pp_idset_take(&lane->named, run, pool->entries);
    }
    if (!queued) continue;
    pp_queue_push_locked(&lane->queue, pool->entries, queued, run);
    pp_lane_wake(lane, envs, caller_helps && l == threads->home_lane);
  }
}

/* ---------------------------------------------------------------------------------- helping -- */

/* Unordered: chooses the shard that the caller takes from. The environments that the caller steps
 * are queued in its own shard again. If it took only from there, that shard would never be empty,
 * and the other shards would wait until their threads are awake, however long that takes. So the
 * caller looks at one other shard each time, and takes from the fuller of the two. It prefers its
 * own, whose environments are in its core's caches: moving cheap environments costs as much as
 * stepping them, so for these the other shard must have twice as many. */
static void choose_shard(pp_threads *threads) {
  const pp_lane *lane = &threads->lanes[threads->home_lane];
  const pp_queue *queue = &lane->queue;
  int32_t own = 0, other, times = pp_grain_run(&lane->grain) > 1 ? 2 : 1;
  if (queue->num_shards == 1) return;
  threads->other_shard = threads->other_shard % (queue->num_shards - 1) + 1;
  other = threads->other_shard;
  threads->scratch.home =
      pp_queue_waiting(queue, other) > times * pp_queue_waiting(queue, own) ? other : own;
}

/* Returns how many environments the caller should step before it waits, 0 for none. In an ordered
 * pool it loses nothing by helping. In an unordered pool it helps while there is an unclaimed row
 * for each worker. With fewer rows, the workers may complete the batch before the caller has
 * finished its own step, and the user would get the batch late. For the same reason the caller
 * takes no more environments than there are rows to claim. */
static int32_t count_to_help(const pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  int64_t unclaimed;
  if (pool->ring.is_ordered) return PP_GRAIN_ROWS;
  unclaimed = pp_claims_left(&threads->claims);
  if (!threads->caller_steps || unclaimed < threads->num_workers) return 0;
  return unclaimed < PP_GRAIN_ROWS ? (int32_t)unclaimed : PP_GRAIN_ROWS;
}

static bool help(pp_pool *pool, int64_t *now) {
  pp_threads *threads = pool->threads;
  int32_t most = count_to_help(pool);
  if (!most) return false;
  if (!pool->ring.is_ordered) choose_shard(threads);
  threads->scratch.ended = *now;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    // starts with the home lane
    pp_lane *lane = &threads->lanes[(threads->home_lane + i) % threads->num_lanes];
    if (!pp_lane_work(lane, &threads->scratch, most)) continue;
    *now = threads->scratch.ended;
    return true;
  }
  return false;
}

/* Starts the caller's stand-in. Returns whether there is one. */
static bool start_stand_in(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  pp_lane *lane = &threads->lanes[threads->home_lane];
  pthread_mutex_lock(&pool->closing);
  // a pool that is closed begins no work
  if (!atomic_load_explicit(&pool->is_closed, memory_order_seq_cst) &&
      pp_lane_start(lane, lane->num_threads) >= 0) {
    atomic_store_explicit(&threads->has_stand_in, true, memory_order_release);
  }
  pthread_mutex_unlock(&pool->closing);
  return atomic_load_explicit(&threads->has_stand_in, memory_order_relaxed);
}

/* The caller can't leave a step of its own when the time is up. In an unordered pool others step
 * all; in an ordered one it has a stand-in, from the first timeout on. */
static bool is_replaced(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  return !pool->ring.is_ordered ||
         atomic_load_explicit(&threads->has_stand_in, memory_order_acquire) || start_stand_in(pool);
}

/* ----------------------------------------------------------------------------- inline steps -- */

enum {
  INLINE_NS = 3000 /* work that is not worth the cost of the queues */
};

static bool is_inline(const pp_pool *pool, int32_t count) {
  const pp_threads *threads = pool->threads;
  return pool->ring.is_ordered && threads->num_lanes == 1 &&
         (pool->fleet.num_envs == 1 ||
          pp_grain_estimate(&threads->lanes[0].grain, count) < INLINE_NS);
}

/* queues the environments of an inline step from index `at` on, which it has not begun */
static void queue_remaining(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                            int32_t at) {
  if (at == count) return;
  // step_ids is unused, as the step named no ids
  for (int32_t i = at; !env_ids && i < count; i++) pool->step_ids[i] = i;
  pthread_mutex_lock(&pool->lock);
  queue_locked(pool, pool->step_ids + at, count - at, place + at, true);
  pthread_mutex_unlock(&pool->lock);
}

/* lists a chunk of an inline step, from index `at` on; returns the number of entries */
static int32_t list_chunk(const int32_t *env_ids, int32_t at, int32_t chunk, int32_t place,
                          pp_entry *entries) {
  if (!env_ids) {
    entries[0] = PP_ENTRY(place + at, at, chunk);
    return 1;
  }
  for (int32_t i = 0; i < chunk; i++) entries[i] = PP_ENTRY(place + at + i, env_ids[at + i], 1);
  return chunk;
}

/* Steps accepted environments in the caller's thread, without the queues. If they take far longer
 * than estimated, the remaining ones are shared with all threads. */
static int32_t step_inline(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place) {
  pp_threads *threads = pool->threads;
  pp_lane *lane = &threads->lanes[0];
  pp_scratch *scratch = &threads->scratch;
  // every 64th step is timed, as environments may become more expensive
  bool is_timed = (threads->inline_steps++ & 63) == 0;
  int64_t start = is_timed ? pp_os_now() : 0, rough_start = pp_os_now_roughly();
  int64_t deadline = rough_start + PP_GRAIN_LATE;

  for (int32_t at = 0; at < count;) {
    int32_t chunk = count - at < PP_GRAIN_ROWS ? count - at : PP_GRAIN_ROWS;
    int32_t entries = list_chunk(env_ids, at, chunk, place, scratch->entries);
    int32_t done = pp_stepper_run(&threads->stepper, scratch->entries, entries, deadline, scratch);
    at += chunk;
    pp_stepper_learn(&threads->stepper, scratch, pp_os_now_roughly() - rough_start, done);
    if (done == chunk) continue;
    pp_lane_share_leftover(lane, scratch, scratch->entries, entries, done);
    queue_remaining(pool, env_ids, count, place, at);
    return at - chunk + done;
  }
  if (is_timed) pp_grain_learn(&lane->grain, pp_os_now() - start, count);
  return count;
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

static bool is_far(const pp_pool *pool, const pp_ring_slot *slot) {
  const pp_threads *threads = pool->threads;
  const pp_grain *grain = &threads->lanes[threads->home_lane].grain;
  int64_t work = pp_grain_estimate(grain, pp_claims_missing(&threads->claims, slot));
  return work != INT64_MAX && threads->num_workers && work / threads->num_workers > PP_SPIN_NS;
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
    const int32_t *ids = pp_layout_at(&pool->layout, slot->memory, pool->layout.env_id, 0);
    for (int32_t i = 0, run; i < rows; i += run) {
      run = pp_ids_run(ids + i, rows - i);
      memset(pool->is_in_flight + ids[i], 0, (size_t)run);
    }
  }
  if (failed) memcpy(pool->failed, failed_envs, sizeof(*pool->failed) * (size_t)failed);
  return failed;
}

/* --------------------------------------------------------------------------------- queries -- */

static int32_t cores(const pp_pool *pool) {
  return pool->topology.cores;
}

static void stats(const pp_pool *pool, pp_stats *out) {
  const pp_threads *threads = pool->threads;
  out->num_lanes = threads->num_lanes;
  out->num_workers = atomic_load_explicit(&threads->has_stand_in, memory_order_acquire);
  out->chunks = atomic_load_explicit(&threads->scratch.chunks, memory_order_relaxed);
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    out->num_workers += lane->num_workers;
    out->worker_waits += atomic_load_explicit(&lane->gate.waits, memory_order_relaxed);
    out->worker_wakes += atomic_load_explicit(&lane->gate.wakes, memory_order_relaxed);
    for (int32_t w = 0; w < lane->num_threads; w++) {
      const pp_thread *worker = &lane->workers[w];
      out->chunks += atomic_load_explicit(&worker->scratch.chunks, memory_order_relaxed);
      out->refused_binds += atomic_load_explicit(&worker->was_refused, memory_order_relaxed);
    }
  }
}

static int32_t stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room) {
  const pp_threads *threads = pool->threads;
  int32_t found = 0;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    for (int32_t w = 0; w < lane->num_threads && found < room; w++) {
      pp_entry run = atomic_load_explicit(&lane->workers[w].scratch.stepping, memory_order_relaxed);
      if (!PP_ENTRY_PLACE(run)) continue;
      env_ids[found] = PP_ENTRY_ENV(run);
      counts[found++] = PP_ENTRY_LENGTH(run);
    }
  }
  return found;
}

/* --------------------------------------------------------------------------------- traces -- */

/* the last is the stand-in's, if it has started */
static int32_t num_tracks(const pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  return threads->num_workers + atomic_load_explicit(&threads->has_stand_in, memory_order_acquire);
}

static pp_track *alloc_track(pp_pool *pool) {
  (void)pool;
  return pp_track_alloc();
}

static void set_track(pp_pool *pool, int32_t i, pp_track *track) {
  pp_lane *lane = pool->threads->lanes;
  if (i == pool->threads->num_workers) {
    lane += pool->threads->home_lane;
    i = lane->num_workers;
  } else {
    for (; i >= lane->num_workers; lane++) i -= lane->num_workers;
  }
  atomic_store_explicit(&lane->workers[i].recorder.track, track, memory_order_release);
}

static bool is_recording(const pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    for (int32_t w = 0; w < lane->num_threads; w++) {
      if (pp_recorder_is_open(&lane->workers[w].recorder)) return true;
    }
  }
  return false;
}

const pp_lane_ops pp_threads_ops = {.check_locked = check_locked,
                                    .store_actions_locked = store_actions_locked,
                                    .store_reset_locked = store_reset_locked,
                                    .refuse_locked = refuse_locked,
                                    .queue_locked = queue_locked,
                                    .is_inline = is_inline,
                                    .step_inline = step_inline,
                                    .alloc = alloc,
                                    .is_block = is_block,
                                    .open_locked = open_locked,
                                    .target_locked = target_locked,
                                    .cut_locked = cut_locked,
                                    .is_complete = is_complete,
                                    .count_written = count_written,
                                    .is_far = is_far,
                                    .help = help,
                                    .is_replaced = is_replaced,
                                    .check_progress = check_progress,
                                    .collect_locked = collect_locked,
                                    .natives = natives,
                                    .cores = cores,
                                    .stats = stats,
                                    .stepping = stepping,
                                    .track_capacity = PP_TRACK_THREAD,
                                    .num_tracks = num_tracks,
                                    .alloc_track = alloc_track,
                                    .free_track = pp_track_free,
                                    .set_track = set_track,
                                    .is_recording = is_recording,
                                    .stop = stop,
                                    .fini = fini};
