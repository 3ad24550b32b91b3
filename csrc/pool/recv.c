/* Receiving: waiting for a batch, working along meanwhile, and handing it over. */
#include <string.h>

#include "error.h"
#include "os/os.h"
#include "pool.h"

enum {
  INLINE_NS = 3000 /* work that is not worth another thread's attention */
};

/* --------------------------------------------------------------------------------- waiting -- */

static int is_closed(const pp_pool *pool) {
  return atomic_load_explicit(&pool->is_closed, memory_order_seq_cst);
}

/* Unordered, what the caller steps comes back to the same shard, which would never be empty, and
 * the others would wait for their threads however long those take to wake. So it looks at one other
 * each time and takes from where more is waiting; from its own if it can, whose environments are in
 * its core's caches. To move those of cheap environments costs as much as to step them, so of those
 * twice as many must be waiting. */
static void choose_shard(pp_pool *pool) {
  const pp_lane *lane = &pool->lanes[pool->home_lane];
  const pp_queue *queue = &lane->queue;
  int32_t own = 0, other, times = pp_grain_run(&lane->grain) > 1 ? 2 : 1;
  if (queue->num_shards == 1) return;
  pool->other_shard = pool->other_shard % (queue->num_shards - 1) + 1;
  other = pool->other_shard;
  pool->scratch.home =
      pp_queue_waiting(queue, other) > times * pp_queue_waiting(queue, own) ? other : own;
}

/* Environments that the caller had better step before it waits, at least 1; 0: none. Ordered,
 * nothing comes of waiting. Unordered, it does as the workers do while they have a row each to
 * claim; after that the batch may be complete before its own step is, and there is a policy to
 * run. For the same reason it takes no more than there are rows to claim. */
static int32_t worth_helping(const pp_pool *pool) {
  int64_t unclaimed;
  if (pool->ring.is_ordered) return PP_GRAIN_ROWS;
  unclaimed = pp_ring_unclaimed(&pool->ring);
  if (!pool->is_helped || unclaimed < pool->num_workers) return 0;
  return unclaimed < PP_GRAIN_ROWS ? (int32_t)unclaimed : PP_GRAIN_ROWS;
}

/* steps one chunk, of the home lane first; 0: nothing is queued, or it is not worth it */
static int32_t help(pp_pool *pool) {
  int32_t most = worth_helping(pool);
  if (!most) return 0;
  if (!pool->ring.is_ordered) choose_shard(pool);
  for (int32_t i = 0; i < pool->num_lanes; i++) {
    pp_lane *lane = &pool->lanes[(pool->home_lane + i) % pool->num_lanes];
    int32_t count = pp_lane_work(lane, &pool->scratch, most);
    if (count) return count;
  }
  return 0;
}

static int is_complete(const pp_pool *pool, pp_batch *batch) {
  return pool->ops.is_complete(pool, batch);
}

/* 1: by all that is known the batch takes longer than a spin lasts, which would be in vain */
static int is_far(const pp_pool *pool, const pp_batch *batch) {
  int64_t work;
  if (!pool->num_lanes) return 0;
  work = pp_grain_estimate(&pool->lanes[pool->home_lane].grain, pp_batch_missing(batch));
  return work != INT64_MAX && pool->num_workers && work / pool->num_workers > PP_SPIN_NS;
}

/* spins until the batch is complete, as long as that takes no core from a worker */
static int spin(pp_pool *pool, pp_batch *batch, int64_t end) {
  if (is_far(pool, batch)) return 0;
  while (pp_spin_allowed(pool->ops.cores(pool))) {
    for (int32_t i = 0; i < 32; i++) {
      if (is_complete(pool, batch)) return 1;
      pp_os_relax();
    }
    if (pp_os_now() >= end) break;
  }
  return 0;
}

/* 1: the batch is complete; 0: the slice of time is over. has_timeout: so is the user's, perhaps */
static int wait_for(pp_pool *pool, pp_batch *batch, int64_t slice, int32_t has_timeout) {
  // a step in the caller's own thread can't be left when time is up, but an ordered pool may have
  // no other thread, and each environment it leaves to others is waited for anyway
  int32_t may_help = pool->ring.is_ordered || !has_timeout;
  int64_t start;

  if (is_complete(pool, batch)) return 1;
  start = pool->scratch.ended = pp_os_now();
  while (may_help && help(pool)) {
    if (is_complete(pool, batch)) return 1;
    if (is_closed(pool) || pool->scratch.ended - start > slice) return 0;
  }
  while (!is_closed(pool)) {
    int64_t now = pp_os_now(), left = start + slice - now;
    uint32_t epoch;
    // again after each wake: a worker process may have left its core to the caller
    if (spin(pool, batch, now + (left < PP_SPIN_NS ? left : PP_SPIN_NS))) return 1;
    left = start + slice - pp_os_now();
    if (left <= 0) break;
    epoch = pp_gate_enter(pool->caller);
    if (!is_complete(pool, batch) && !is_closed(pool)) {
      pp_gate_sleep(pool->caller, epoch, left);
    }
    pp_gate_leave(pool->caller);
    if (is_complete(pool, batch)) return 1;
  }
  return is_complete(pool, batch);
}

/* environments that must be in flight before a batch can come of them */
static int32_t needed(const pp_pool *pool) {
  return pool->ring.is_ordered ? 1 : pool->ring.batch_size;
}

/* Sleeps until another thread sent enough, or for a slice. What a gate asks of its state the lock
 * does here: who counts before this look is seen, who counts after it sees the sleeper. */
static void wait_for_send(pp_pool *pool, int64_t slice) {
  uint32_t epoch = pp_gate_enter(pool->caller);
  int32_t has_enough;
  pthread_mutex_lock(&pool->lock);
  has_enough = pp_pool_count(pool) >= needed(pool);
  pthread_mutex_unlock(&pool->lock);
  if (!has_enough && !is_closed(pool)) pp_gate_sleep(pool->caller, epoch, slice);
  pp_gate_leave(pool->caller);
}

/* ------------------------------------------------------------------------------- handing over --
 */

/* under the lock, so no locked addition */
static void add(_Atomic int64_t *statistic, int64_t amount) {
  int64_t old = atomic_load_explicit(statistic, memory_order_relaxed);
  atomic_store_explicit(statistic, old + amount, memory_order_relaxed);
}

/* takes a complete batch; returns its rows, or PP_ERR_ENV */
static int32_t take(pp_pool *pool, pp_batch *batch, void *fresh, pp_error *error) {
  int32_t rows = atomic_load_explicit(&batch->target, memory_order_relaxed), failed;

  pthread_mutex_lock(&pool->lock);
  failed = pool->ops.collect_locked(pool, batch, rows);
  pp_pool_add_locked(pool, -rows);
  if (failed) {
    pool->num_failed = failed;
    pool->failed_rows = rows;
  }
  batch = pp_ring_take_locked(&pool->ring, fresh);
  if (pool->ops.ready_locked) pool->ops.ready_locked(pool, batch);
  pool->last_given = fresh;
  pool->last_result = failed ? PP_ERR_ENV : rows;
  add(&pool->env_steps, rows);
  add(&pool->batches, 1);
  pthread_mutex_unlock(&pool->lock);
  if (!failed) return rows;
  if (error) *error = pool->fleet.errors[pool->failed[0]];
  return PP_ERR_ENV;
}

/* ----------------------------------------------------------------------------------- calls -- */

static int enter(pp_pool *pool, const void *fresh, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status >= 0 && (!fresh || pool->ops.is_fit)) status = pp_pool_check_block(pool, fresh, error);
  if (status < 0) return status;
  if (atomic_exchange_explicit(&pool->receiving, 1, memory_order_acquire)) {
    return pp_error_set(error, PP_ERR_STATE,
                        "another thread is receiving from this pool: let one thread receive");
  }
  return PP_OK;
}

static void leave(pp_pool *pool) {
  atomic_store_explicit(&pool->receiving, 0, memory_order_release);
}

static int32_t receive(pp_pool *pool, void *fresh, int64_t slice, int32_t has_timeout,
                       pp_error *error) {
  pp_batch *batch;
  pthread_mutex_lock(&pool->lock);
  batch = pp_ring_close_locked(&pool->ring);
  if (pool->ops.close_locked) pool->ops.close_locked(pool, batch);
  pthread_mutex_unlock(&pool->lock);
  if (wait_for(pool, batch, slice, has_timeout)) return take(pool, batch, fresh, error);
  int status = pp_pool_check(pool, error);
  return status >= 0 && pool->ops.look ? pool->ops.look(pool, batch, error) : status;
}

int32_t pp_pool_recv(pp_pool *pool, void *fresh, int64_t timeout, pp_error *error) {
  int64_t slice = timeout >= 0 && timeout < PP_SLICE_NS ? timeout : PP_SLICE_NS;
  int32_t status = enter(pool, fresh, error), in_flight;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  in_flight = pp_pool_count(pool);
  pthread_mutex_unlock(&pool->lock);
  if (in_flight >= needed(pool)) {
    status = receive(pool, fresh, slice, timeout >= 0, error);
  } else if (timeout >= 0) {
    wait_for_send(pool, slice);
    status = pp_pool_check(pool, error);
  } else {
    status = pp_error_set(error, PP_ERR_STATE,
                          "%d environments are in flight, a batch needs %d: send first", in_flight,
                          needed(pool));
  }
  leave(pool);
  return status;
}

/* queues what an inline step has not come to: environments from the at-th named on */
static void queue_left(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                       int32_t at) {
  if (at == count) return;
  // the room is free but for what was named
  for (int32_t i = at; !env_ids && i < count; i++) pool->step_ids[i] = i;
  pthread_mutex_lock(&pool->lock);
  pool->ops.queue_locked(pool, pool->step_ids + at, count - at, place + at, 1);
  pthread_mutex_unlock(&pool->lock);
}

/* Steps accepted environments here and now, without queue or threads; what turns out to take far
 * longer than expected is left to all threads. */
static void step_inline(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place) {
  pp_lane *lane = &pool->lanes[0];
  pp_scratch *scratch = &pool->scratch;
  // an environment may become dearer: look at the clock now and then
  int32_t is_timed = (pool->inline_steps++ & 63) == 0, at = 0, done, entries;
  int64_t start = is_timed ? pp_os_now() : 0, begun = pp_os_now_roughly();
  int64_t late = begun + PP_GRAIN_LATE;

  while (at < count) {
    int32_t chunk = count - at < PP_GRAIN_ROWS ? count - at : PP_GRAIN_ROWS;
    entries = env_ids ? chunk : 1;
    for (int32_t i = 0; i < entries; i++) {
      scratch->entries[i] =
          env_ids ? PP_ENTRY(place + at + i, env_ids[at + i], 1) : PP_ENTRY(place + at, at, chunk);
    }
    done = pp_stepper_run(&pool->stepper, scratch->entries, entries, late, scratch);
    at += chunk;
    pp_stepper_learn(&pool->stepper, scratch, pp_os_now_roughly() - begun, done);
    if (done == chunk) continue;
    pp_lane_share_leftover(lane, scratch, scratch->entries, entries, done);
    queue_left(pool, env_ids, count, place, at);
    return;
  }
  if (is_timed) pp_grain_learn(&lane->grain, pp_os_now() - start, count);
}

/* a step returns what it sent, or, unordered, has enough to return something */
static int check_step_locked(const pp_pool *pool, int32_t count, pp_error *error) {
  int32_t in_flight = pp_pool_count(pool);
  if (pool->ring.is_ordered && in_flight) {
    return pp_error_set(error, PP_ERR_STATE,
                        "results of an earlier call are pending (%d environments): receive them "
                        "first",
                        in_flight);
  }
  if (!pool->ring.is_ordered && count < needed(pool) - in_flight) {
    return pp_error_set(error, PP_ERR_STATE,
                        "a step of %d environments with %d in flight gives no batch of %d: send "
                        "instead, or step more",
                        count, in_flight, needed(pool));
  }
  return PP_OK;
}

/* a step in which nobody could even look at what was sent */
static int32_t refuse_step(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t status) {
  // in a child of the creator, or a closed pool, there is nothing left to forget
  if (pp_pool_check(pool, NULL) < 0) return status;
  pthread_mutex_lock(&pool->lock);
  pp_pool_refuse_locked(pool, env_ids, count);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int32_t pp_pool_step(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                     int32_t dtype, void *fresh, pp_error *error) {
  int32_t status = enter(pool, fresh, error), place, is_inline;

  if (status < 0) return refuse_step(pool, env_ids, count, status);
  env_ids = pp_pool_copy_ids(pool, pool->step_ids, env_ids, count);
  pthread_mutex_lock(&pool->lock);
  place = check_step_locked(pool, count, error);
  if (place >= 0) place = pp_pool_accept_locked(pool, env_ids, count, actions, dtype, error);
  is_inline =
      pool->ring.is_ordered && pool->num_lanes == 1 &&
      (pool->fleet.num_envs == 1 || pp_grain_estimate(&pool->lanes[0].grain, count) < INLINE_NS);
  if (place < 0) {
    pp_pool_refuse_locked(pool, env_ids, count);
  } else if (!is_inline) {
    pool->ops.queue_locked(pool, env_ids, count, place, pool->ring.is_ordered);
  }
  pthread_mutex_unlock(&pool->lock);
  if (place >= 0) {
    if (is_inline) step_inline(pool, env_ids, count, place);
    status = receive(pool, fresh, PP_SLICE_NS, 0, error);
  } else {
    status = place;
  }
  leave(pool);
  return status;
}

int32_t pp_pool_last_result(const pp_pool *pool, const void *fresh) {
  return fresh && fresh == pool->last_given ? pool->last_result : 0;
}

const int32_t *pp_pool_failed(const pp_pool *pool, int32_t *count, int32_t *rows) {
  if (count) *count = pool->num_failed;
  if (rows) *rows = pool->failed_rows;
  return pool->failed;
}

const pp_error *pp_pool_env_error(const pp_pool *pool, int32_t env_id) {
  return env_id >= 0 && env_id < pool->fleet.num_envs ? &pool->fleet.errors[env_id] : NULL;
}

int32_t pp_pool_in_flight(const pp_pool *pool) {
  return pp_pool_count(pool);
}

/* whether one environment may be asked about, for which the lock is taken: in a forked child it may
 * be another thread's for ever */
static int32_t check_question(const pp_pool *pool, int32_t env_id) {
  int32_t status = pp_pool_check(pool, NULL);
  if (status < 0) return status;
  return env_id >= 0 && env_id < pool->fleet.num_envs ? PP_OK : PP_ERR_ARGUMENT;
}

int32_t pp_pool_needs_reset(pp_pool *pool, int32_t env_id) {
  int32_t status = check_question(pool, env_id);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = pool->is_in_flight[env_id] ? PP_ERR_STATE : pp_fleet_needs_reset(&pool->fleet, env_id);
  pthread_mutex_unlock(&pool->lock);
  return status;
}
