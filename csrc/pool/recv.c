/* Receive: waits for a batch, or for some of its rows, stepping environments meanwhile, and takes
 * it out of the ring. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "os/os.h"
#include "pool.h"
#include "row.h"

/* --------------------------------------------------------------------------------- waiting -- */

/* what the callbacks of pp_spin need */
typedef struct waiter {
  const pp_pool *pool;
  pp_ring_slot *slot;
} waiter;

static bool is_closed(const pp_pool *pool) {
  return atomic_load_explicit(&pool->is_closed, memory_order_seq_cst);
}

static bool is_complete(void *context) {
  const waiter *it = context;
  return it->pool->ops.is_complete(it->pool, it->slot);
}

/* Unordered: whether as many rows are written as the target says, which may be fewer than all. */
static bool has_target(void *context) {
  const waiter *it = context;
  // relaxed: this thread has set the target
  return it->pool->ops.count_written(it->pool, it->slot) >=
         atomic_load_explicit(&it->slot->target, memory_order_relaxed);
}

/* spinning must not take a core from a worker */
static bool may_spin(void *context) {
  const pp_pool *pool = ((const waiter *)context)->pool;
  return pp_spin_allowed(pool->ops.spin_cores(pool));
}

/* returns whether this thread can step environments itself */
static bool caller_steps(const pp_pool *pool) {
  return pool->ops.step_chunk != NULL;
}

static bool spin(waiter *it, bool (*is_done)(void *), int64_t end) {
  const pp_pool *pool = it->pool;
  if (caller_steps(pool) && pool->ops.expects_long_wait(pool, it->slot)) return false;
  return pp_spin(may_spin, is_done, it, end);
}

/* Waits until the time end (pp_os_now) at most. Returns is_done(it). */
static bool sleep_until(waiter *it, bool (*is_done)(void *), int64_t end) {
  const pp_pool *pool = it->pool;
  while (!is_closed(pool)) {
    int64_t now = pp_os_now(), left = end - now;
    uint32_t epoch;
    // spin again after each wake: a worker process may have freed its core since
    if (spin(it, is_done, now + (left < PP_SPIN_NS ? left : PP_SPIN_NS))) return true;
    left = end - pp_os_now();
    if (left <= 0) break;
    epoch = pp_gate_enter(pool->caller);
    if (!is_done(it) && !is_closed(pool)) pp_gate_sleep(pool->caller, epoch, left);
    pp_gate_leave(pool->caller);
    if (is_done(it)) return true;
  }
  return is_done(it);
}

/* Waits for at most slice ns. Returns whether the batch is complete. has_timeout: the user has set
 * a timeout. */
static bool wait_for(pp_pool *pool, pp_ring_slot *slot, int64_t slice, bool has_timeout) {
  // the caller can't leave a step of its own when the time is up
  bool may_help = caller_steps(pool) && (!has_timeout || !pool->ops.is_replaced(pool));
  int64_t start, now;
  waiter it = {pool, slot};

  if (is_complete(&it)) return true;
  start = now = pp_os_now();
  while (may_help && pool->ops.step_chunk(pool, &now)) {
    if (is_complete(&it)) return true;
    if (is_closed(pool) || now - start > slice) return false;
  }
  return sleep_until(&it, is_complete, start + slice);
}

/* returns how many environments must be in flight for the next batch to be completed */
static int32_t needed(const pp_pool *pool) {
  return pool->ring.is_ordered ? 1 : pool->ring.batch_size;
}

/* Sleeps until another thread has sent enough, for at most slice ns. The state that the gate needs
 * in sequential order is read and written under the lock: if a sender raises the count before this
 * check, the check sees it; if it raises the count later, the sender sees the sleeper. */
static void wait_for_send(pp_pool *pool, int32_t enough, int64_t slice) {
  uint32_t epoch = pp_gate_enter(pool->caller);
  bool has_enough;
  pthread_mutex_lock(&pool->lock);
  has_enough = pp_pool_count(pool) >= enough;
  pool->waiting_for_send++;
  pthread_mutex_unlock(&pool->lock);
  if (!has_enough && !is_closed(pool)) pp_gate_sleep(pool->caller, epoch, slice);
  pthread_mutex_lock(&pool->lock);
  pool->waiting_for_send--;
  pthread_mutex_unlock(&pool->lock);
  pp_gate_leave(pool->caller);
}

/* ---------------------------------------------------------------------------------- taking -- */

/* under the lock, so the addition need not be atomic */
static void add(_Atomic int64_t *statistic, int64_t amount) {
  int64_t old = atomic_load_explicit(statistic, memory_order_relaxed);
  atomic_store_explicit(statistic, old + amount, memory_order_relaxed);
}

/* receives the rows of a batch; returns how many of their environments failed */
static inline int32_t receive_rows_locked(pp_pool *pool, pp_ring_slot *slot, int32_t rows) {
  int32_t failed = pool->ops.collect_locked(pool, slot, rows);
  pp_pool_add_locked(pool, -rows);
  if (failed) {
    pool->num_failed = failed;
    pool->failed_rows = rows;
  }
  return failed;
}

/* records the result of a receive that has taken fresh memory */
static inline void note_result_locked(pp_pool *pool, const void *fresh, int32_t rows,
                                      int32_t failed) {
  pool->last_given = fresh;
  pool->last_result = failed ? PP_ERR_ENV : rows;
  add(&pool->env_steps, rows);
  add(&pool->batches, 1);
}

/* returns the rows of a receive, or PP_ERR_ENV */
static inline int32_t result_of(const pp_pool *pool, int32_t rows, int32_t failed,
                                pp_error *error) {
  if (!failed) return rows;
  if (error) *error = pool->fleet.errors[pool->failed[0]];
  return PP_ERR_ENV;
}

/* takes a complete batch; returns its rows, or PP_ERR_ENV; inline, as most receives end here */
static inline int32_t take(pp_pool *pool, pp_ring_slot *slot, int32_t rows, void *fresh,
                           pp_error *error) {
  int32_t failed;
  pthread_mutex_lock(&pool->lock);
  failed = receive_rows_locked(pool, slot, rows);
  slot = pp_ring_take_locked(&pool->ring, fresh);
  pool->ops.block_offered_locked(pool, slot);
  note_result_locked(pool, fresh, rows, failed);
  pthread_mutex_unlock(&pool->lock);
  return result_of(pool, rows, failed, error);
}

/* Unordered: cuts the batch after those rows that are written, at least *min_rows, and takes it.
 * Returns their number, PP_ERR_ENV, or 0: then another row is being written, and *min_rows counts
 * it too. */
static int32_t take_written(pp_pool *pool, pp_ring_slot *slot, void *fresh, int32_t *min_rows,
                            pp_error *error) {
  int32_t size = pool->ring.batch_size, rows = pool->ops.count_written(pool, slot), failed;

  if (rows == size) return take(pool, slot, size, fresh, error);
  // worker processes may have overwritten the count since it was last read
  if (rows < *min_rows) return 0;
  pthread_mutex_lock(&pool->lock);
  // offered first: once the batch is cut, environments may claim rows of the block that follows all
  // others
  pool->ops.block_offered_locked(pool, pp_ring_offer_locked(&pool->ring, fresh));
  if (!pool->ops.cut_locked(pool, rows)) {
    pp_ring_withdraw_locked(&pool->ring);
    pthread_mutex_unlock(&pool->lock);
    *min_rows = rows + 1;
    return 0;
  }
  failed = receive_rows_locked(pool, slot, rows);
  pp_ring_remove_locked(&pool->ring);
  note_result_locked(pool, fresh, rows, failed);
  pthread_mutex_unlock(&pool->lock);
  pp_row_clear(slot->layout, slot->memory, slot->first_row + rows, size - rows);
  return result_of(pool, rows, failed, error);
}

/* --------------------------------------------------------------------------- time that is up -- */

/* Writes which environments threads are stepping, with the words before them; nothing if none. */
static void name_stepped(const pp_pool *pool, char *text, size_t room) {
  enum { MAX_NAMED = 4 };
  int32_t first[MAX_NAMED], counts[MAX_NAMED];
  int32_t found = pp_pool_stepping(pool, first, counts, MAX_NAMED);
  size_t at = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < found && at < room; i++) {
    int32_t last = first[i] + counts[i] - 1;
    const char *before = i ? " and" : ", now in a step or reset of";
    int length = counts[i] == 1 ? snprintf(text + at, room - at, "%s environment %d", before, last)
                                : snprintf(text + at, room - at, "%s environments %d to %d", before,
                                           first[i], last);
    at += (size_t)length;
  }
}

int pp_pool_explain_timeout(const pp_pool *pool, int32_t min_rows, int64_t timeout,
                            pp_error *error) {
  char missing[64], stepped[160];
  name_stepped(pool, stepped, sizeof(stepped));
  if (min_rows) {
    snprintf(missing, sizeof(missing), "fewer than min_rows=%d rows", min_rows);
  } else {
    snprintf(missing, sizeof(missing), "no batch of %d", pool->ring.batch_size);
  }
  return pp_error_set(error, PP_ERR_TIMEOUT, "%s within %.9g s: %d environments are in flight%s",
                      missing, (double)timeout / 1e9, pp_pool_count(pool), stepped);
}

/* ----------------------------------------------------------------------------------- calls -- */

/* makes this thread the only one that receives */
static int begin(pp_pool *pool, const void *fresh, pp_error *error) {
  int status = pp_pool_check(pool, error);
  int32_t state = PP_IDLE;
  if (status >= 0) status = pp_pool_check_block(pool, fresh, error);
  if (status < 0) return status;
  while (!atomic_compare_exchange_strong_explicit(&pool->receiving, &state, PP_RECEIVING,
                                                  memory_order_acquire, memory_order_relaxed)) {
    if (state == PP_RECEIVING) {
      return pp_error_set(error, PP_ERR_STATE,
                          "another thread is receiving from this pool: let one thread receive");
    }
    // a trace ends
    pp_os_yield();
    state = PP_IDLE;
  }
  return PP_OK;
}

/* returns when a call began, 0 if nothing is recorded */
static int64_t began(const pp_pool *pool) {
  return pp_recorder_track(&pool->receiver) ? pp_os_now() : 0;
}

/* records the steps of an inline call that has left the others to all threads */
static void record_part(pp_pool *pool, int64_t start, const int32_t *env_ids, int32_t count) {
  pp_span span = {start, pp_os_now(), PP_SPAN_WORK, env_ids ? env_ids[0] : 0, count, 0};
  pp_recorder_work(&pool->receiver, &span);
}

static void end(pp_pool *pool, int32_t kind, int64_t start, int32_t rows) {
  if (start) pp_recorder_call(&pool->receiver, kind, start, rows);
  atomic_store_explicit(&pool->receiving, PP_IDLE, memory_order_release);
}

/* called after a wait for `rows` rows without a result */
static int check_wait(pp_pool *pool, pp_ring_slot *slot, int32_t rows, pp_error *error) {
  int status = pp_pool_check(pool, error);
  return status < 0 ? status : pool->ops.check_progress(pool, slot, rows, error);
}

static int32_t receive(pp_pool *pool, void *fresh, int64_t slice, bool has_timeout,
                       pp_error *error) {
  pp_ring_slot *slot;
  pthread_mutex_lock(&pool->lock);
  slot = pp_ring_close_locked(&pool->ring);
  pool->ops.target_set_locked(pool, slot);
  pthread_mutex_unlock(&pool->lock);
  // relaxed: this thread has set it
  if (wait_for(pool, slot, slice, has_timeout)) {
    return take(pool, slot, atomic_load_explicit(&slot->target, memory_order_relaxed), fresh,
                error);
  }
  return check_wait(pool, slot, atomic_load_explicit(&slot->target, memory_order_relaxed), error);
}

/* returns how long one call waits at most: its caller has signals to handle */
static int64_t slice_of(int64_t timeout) {
  return timeout >= 0 && timeout < PP_SLICE_NS ? timeout : PP_SLICE_NS;
}

static int32_t receive_batch(pp_pool *pool, void *fresh, int32_t rows, int64_t timeout,
                             pp_error *error) {
  (void)rows;
  return receive(pool, fresh, slice_of(timeout), timeout >= 0, error);
}

static void set_target(pp_pool *pool, pp_ring_slot *slot, int32_t rows) {
  pthread_mutex_lock(&pool->lock);
  pp_ring_slot_set_target(slot, rows);
  pool->ops.target_set_locked(pool, slot);
  pthread_mutex_unlock(&pool->lock);
}

/* Waits until the time end (pp_os_now) at most for at least *min_rows rows, and until no more are
 * being written. Takes them, and returns as take_written does. Writes to *min_rows how many rows it
 * waited for in the end. */
static int32_t receive_written(pp_pool *pool, pp_ring_slot *slot, void *fresh, int32_t *min_rows,
                               int64_t end, pp_error *error) {
  waiter it = {pool, slot};
  int32_t status = 0;

  while (status == 0) {
    if (pool->ops.count_written(pool, slot) < *min_rows) {
      // the threads that write rows wake the caller from this number on
      set_target(pool, slot, *min_rows);
      if (!sleep_until(&it, has_target, end)) break;
    }
    status = take_written(pool, slot, fresh, min_rows, error);
    // a worker process that overwrites the count could make this go on for ever
    if (status == 0 && pp_os_now() >= end) break;
  }
  if (status == 0) set_target(pool, slot, pool->ring.batch_size);
  return status;
}

static int32_t receive_some(pp_pool *pool, void *fresh, int32_t min_rows, int64_t timeout,
                            pp_error *error) {
  int32_t size = pool->ring.batch_size, status = 0;
  waiter it = {pool, NULL};
  int64_t now = pp_os_now();

  pthread_mutex_lock(&pool->lock);
  it.slot = pp_ring_close_locked(&pool->ring);
  pthread_mutex_unlock(&pool->lock);
  if (timeout >= 0) {
    if (has_target(&it) || sleep_until(&it, has_target, now + slice_of(timeout))) {
      return take(pool, it.slot, size, fresh, error);
    }
    now = pp_os_now();
  }
  // after the timeout, only rows that are being written are waited for
  if (timeout < 0 ||
      (timeout <= PP_SLICE_NS && pool->ops.count_written(pool, it.slot) >= min_rows)) {
    status = receive_written(pool, it.slot, fresh, &min_rows, now + PP_SLICE_NS, error);
  }
  return status ? status : check_wait(pool, it.slot, min_rows, error);
}

static int check_min_rows(const pp_pool *pool, int32_t min_rows, pp_error *error) {
  if (pool->ring.is_ordered) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "min_rows=%d, but batch_size=%d is all environments: choose batch_size < "
                        "num_envs to receive those that are ready",
                        min_rows, pool->ring.batch_size);
  }
  if (min_rows >= 1 && min_rows <= pool->ring.batch_size) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT, "min_rows=%d: choose 1 to %d", min_rows,
                      pool->ring.batch_size);
}

/* waits for rows of environments that are in flight, and takes them */
typedef int32_t receive_wait(pp_pool *pool, void *fresh, int32_t rows, int64_t timeout,
                             pp_error *error);

/* A call that needs `rows` environments in flight, and then waits as receive_batch or receive_some.
 * Always inline: then neither costs an instruction more than if it were written out. */
static inline __attribute__((always_inline)) int32_t receive_call(pp_pool *pool, void *fresh,
                                                                  int32_t rows, int64_t timeout,
                                                                  receive_wait *wait,
                                                                  pp_error *error) {
  int32_t status = begin(pool, fresh, error), in_flight;
  int64_t start;

  if (status < 0) return status;
  start = began(pool);
  pthread_mutex_lock(&pool->lock);
  in_flight = pp_pool_count(pool);
  pthread_mutex_unlock(&pool->lock);
  if (wait == receive_some) status = check_min_rows(pool, rows, error);
  if (status >= 0 && in_flight >= rows) {
    status = wait(pool, fresh, rows, timeout, error);
  } else if (status >= 0 && timeout >= 0) {
    wait_for_send(pool, rows, slice_of(timeout));
    status = pp_pool_check(pool, error);
  } else if (status >= 0) {
    status = pp_error_set(error, PP_ERR_STATE,
                          wait == receive_some
                              ? "%d environments are in flight, min_rows=%d need more: send first"
                              : "%d environments are in flight, a batch needs %d: send first",
                          in_flight, rows);
  }
  end(pool, PP_SPAN_RECV, start, status);
  return status;
}

int32_t pp_pool_recv_some(pp_pool *pool, void *fresh, int32_t min_rows, int64_t timeout,
                          pp_error *error) {
  return receive_call(pool, fresh, min_rows, timeout, receive_some, error);
}

int32_t pp_pool_recv(pp_pool *pool, void *fresh, int64_t timeout, pp_error *error) {
  return receive_call(pool, fresh, needed(pool), timeout, receive_batch, error);
}

int pp_pool_check_pending(const pp_pool *pool, pp_error *error) {
  int32_t in_flight = pp_pool_count(pool);
  if (!pool->ring.is_ordered || !in_flight) return PP_OK;
  return pp_error_set(error, PP_ERR_STATE,
                      "results of an earlier call are pending (%d environments): receive them "
                      "first",
                      in_flight);
}

/* Ordered: a step must return the rows of its own send, so nothing else may be in flight.
 * Unordered: enough environments must be in flight for a batch. */
static int check_step_locked(const pp_pool *pool, int32_t count, pp_error *error) {
  int32_t in_flight = pp_pool_count(pool);
  if (!pool->ring.is_ordered && count < needed(pool) - in_flight) {
    return pp_error_set(error, PP_ERR_STATE,
                        "a step of %d environments with %d in flight gives no batch of %d: send "
                        "instead, or step more",
                        count, in_flight, needed(pool));
  }
  return pp_pool_check_pending(pool, error);
}

/* drops the payloads of a step that is refused before its arguments are checked */
static int32_t refuse_step(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t status) {
  // in a forked child the lock may be held for ever; a closed pool has nothing to drop
  if (pp_pool_check(pool, NULL) < 0) return status;
  pthread_mutex_lock(&pool->lock);
  pool->ops.refuse_locked(pool, env_ids, count);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int32_t pp_pool_step(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                     int32_t dtype, void *fresh, pp_error *error) {
  int32_t status = begin(pool, fresh, error), place, done;
  bool is_inline;
  int64_t start;

  if (status < 0) return refuse_step(pool, env_ids, count, status);
  start = began(pool);
  env_ids = pp_pool_copy_ids(pool, pool->step_ids, env_ids, count);
  pthread_mutex_lock(&pool->lock);
  place = check_step_locked(pool, count, error);
  if (place >= 0) place = pp_pool_accept_locked(pool, env_ids, count, actions, dtype, error);
  is_inline = caller_steps(pool) && pool->ops.is_inline(pool, count);
  if (place < 0) {
    pool->ops.refuse_locked(pool, env_ids, count);
  } else if (!is_inline) {
    pool->ops.queue_locked(pool, env_ids, count, place, pool->ring.is_ordered);
  }
  pthread_mutex_unlock(&pool->lock);
  if (place >= 0) {
    if (is_inline) {
      done = pool->ops.step_inline(pool, env_ids, count, place);
      is_inline = done == count;
      if (start && !is_inline) record_part(pool, start, env_ids, done);
    }
    status = receive(pool, fresh, PP_SLICE_NS, false, error);
  } else {
    status = place;
  }
  end(pool, is_inline ? PP_SPAN_INLINE : PP_SPAN_STEP, start, status);
  return status;
}

/* --------------------------------------------------------------------------------- queries -- */

int32_t pp_pool_has_batch(const pp_pool *pool) {
  const pp_ring *ring = &pool->ring;
  int status = pp_pool_check(pool, NULL);
  // only the thread that receives changes which slot is next
  return status < 0 ? status
                    : pool->ops.is_complete(pool, &ring->slots[ring->received % ring->num_slots]);
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

/* Checks that the lock may be taken and that there is such an environment. In a forked child the
 * lock may be held for ever. */
static int32_t check_query(const pp_pool *pool, int32_t env_id) {
  int32_t status = pp_pool_check(pool, NULL);
  if (status < 0) return status;
  return env_id >= 0 && env_id < pool->fleet.num_envs ? PP_OK : PP_ERR_ARGUMENT;
}

int32_t pp_pool_needs_reset(pp_pool *pool, int32_t env_id) {
  int32_t status = check_query(pool, env_id);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = pool->is_in_flight[env_id] ? PP_ERR_STATE : pp_fleet_needs_reset(&pool->fleet, env_id);
  pthread_mutex_unlock(&pool->lock);
  return status;
}
