/* Caller: what the thread that calls step() or recv() steps itself. */
#include "caller.h"

#include "lanes.h"
#include "os/os.h"
#include "queueing.h"

/* -------------------------------------------------------------------------- chunks of queues -- */

/* Unordered: chooses the shard that the caller takes from. The environments that the caller steps
 * are queued in its own shard again. If it took only from there, that shard would never be empty,
 * and the other shards would wait until their threads are awake, however long that takes. So the
 * caller looks at one other shard each time, and takes from the fuller of the two. It prefers its
 * own, whose environments are in its core's caches: moving cheap environments costs as much as
 * stepping them, so for these the other shard must have twice as many. */
static void choose_shard(pp_threads *threads) {
  const pp_lane *lane = &threads->lanes[threads->home_lane];
  const pp_queue *queue = &lane->queue;
  int32_t own = 0, other, times = pp_cost_entry(&lane->cost) > 1 ? 2 : 1;
  if (queue->num_shards == 1) return;
  threads->other_shard = threads->other_shard % (queue->num_shards - 1) + 1;
  other = threads->other_shard;
  threads->caller.home =
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
  if (pool->ring.is_ordered) return PP_MAX_CHUNK;
  unclaimed = pp_claims_left(&threads->claims);
  if (!threads->caller_steps || unclaimed < threads->num_workers) return 0;
  return unclaimed < PP_MAX_CHUNK ? (int32_t)unclaimed : PP_MAX_CHUNK;
}

bool pp_caller_step_chunk(pp_pool *pool, int64_t *now) {
  pp_threads *threads = pool->threads;
  int32_t max_envs = count_to_help(pool);
  if (!max_envs) return false;
  if (!pool->ring.is_ordered) choose_shard(threads);
  threads->caller.ended = *now;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    // starts with the home lane
    pp_lane *lane = &threads->lanes[(threads->home_lane + i) % threads->num_lanes];
    if (!pp_lane_work(lane, &threads->caller, max_envs)) continue;
    *now = threads->caller.ended;
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
bool pp_caller_is_replaced(pp_pool *pool) {
  pp_threads *threads = pool->threads;
  return !pool->ring.is_ordered ||
         atomic_load_explicit(&threads->has_stand_in, memory_order_acquire) || start_stand_in(pool);
}

bool pp_caller_expects_long_wait(const pp_pool *pool, const pp_ring_slot *slot) {
  const pp_threads *threads = pool->threads;
  const pp_cost *cost = &threads->lanes[threads->home_lane].cost;
  int64_t work = pp_cost_estimate(cost, pp_claims_missing(&threads->claims, slot));
  return work != INT64_MAX && threads->num_workers && work / threads->num_workers > PP_SPIN_NS;
}

/* ----------------------------------------------------------------------------- inline steps -- */

bool pp_caller_is_inline(const pp_pool *pool, int32_t count) {
  const pp_threads *threads = pool->threads;
  return pool->ring.is_ordered && threads->num_lanes == 1 &&
         (pool->fleet.num_envs == 1 ||
          pp_cost_estimate(&threads->lanes[0].cost, count) < PP_INLINE_NS);
}

/* queues the environments of an inline step from index `at` on, which it has not begun */
static void queue_remaining(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                            int32_t at) {
  if (at == count) return;
  // step_ids is unused, as the step named no ids
  for (int32_t i = at; !env_ids && i < count; i++) pool->step_ids[i] = i;
  pthread_mutex_lock(&pool->lock);
  pp_threads_queue_locked(pool, pool->step_ids + at, count - at, place + at, true);
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
int32_t pp_caller_step_inline(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place) {
  pp_threads *threads = pool->threads;
  pp_lane *lane = &threads->lanes[0];
  pp_step_thread *self = &threads->caller;
  // every 64th step is timed, as environments may become more expensive
  bool is_timed = (threads->inline_steps++ & 63) == 0;
  int64_t start = is_timed ? pp_os_now() : 0, deadline = pp_os_now_roughly() + PP_CHUNK_CUT_NS;

  for (int32_t at = 0; at < count;) {
    int32_t chunk = count - at < PP_MAX_CHUNK ? count - at : PP_MAX_CHUNK;
    int32_t entries = list_chunk(env_ids, at, chunk, place, self->entries);
    int32_t done = pp_lane_step(lane, self, entries, deadline);
    at += chunk;
    if (done == chunk) continue;
    queue_remaining(pool, env_ids, count, place, at);
    return at - chunk + done;
  }
  if (is_timed) pp_cost_learn(&lane->cost, pp_os_now() - start, count, 0);
  return count;
}
