/* Send: checks the arguments of sends and resets, and hands environments over to their lanes. */
#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "ids.h"
#include "os/os.h"
#include "pool.h"

/* ------------------------------------------------------------------------------ accepting -- */

static int refuse_in_flight(int32_t env_id, pp_error *error) {
  pp_error_set(error, PP_ERR_STATE,
               "environment %d is already in flight: receive its result before sending to it again",
               env_id);
  if (error) error->env_id = env_id;
  return PP_ERR_STATE;
}

static int refuse_ended(const pp_pool *pool, int32_t env_id, pp_error *error) {
  const char *why =
      pool->fleet.phase[env_id] == PP_ENDED ? "has ended its episode" : "is not reset";
  pp_error_set(error, PP_ERR_STATE, "environment %d %s and autoreset is disabled: reset it first",
               env_id, why);
  if (error) error->env_id = env_id;
  return PP_ERR_STATE;
}

const int32_t *pp_pool_copy_ids(const pp_pool *pool, int32_t *buffer, const int32_t *ids,
                                int32_t count) {
  if (!ids || count < 1 || count > pool->fleet.num_envs) return ids;
  return memcpy(buffer, ids, sizeof(*ids) * (size_t)count);
}

/* removes the marks of the first count environments */
static void unmark_locked(pp_pool *pool, const int32_t *env_ids, int32_t count) {
  for (int32_t i = 0; i < count; i++) pool->is_in_flight[env_ids ? env_ids[i] : i] = 0;
  pp_pool_add_locked(pool, -count);
}

/* marks all environments as in flight, or refuses the first that is in flight already */
static int mark_all_locked(pp_pool *pool, pp_error *error) {
  int32_t n = pool->fleet.num_envs;
  if (pp_pool_count(pool)) {
    const uint8_t *first = memchr(pool->is_in_flight, 1, (size_t)n);
    return refuse_in_flight((int32_t)(first - pool->is_in_flight), error);
  }
  memset(pool->is_in_flight, 1, (size_t)n);
  pp_pool_add_locked(pool, n);
  return PP_OK;
}

/* marks the i-th environment named, or refuses it; does not count it */
static int mark_one_locked(pp_pool *pool, const int32_t *env_ids, int32_t i, pp_error *error) {
  int32_t id = env_ids[i], n = pool->fleet.num_envs;
  if (id < 0 || id >= n) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "env_id %d: choose 0 to %d", id, n - 1);
  }
  if (!pool->is_in_flight[id]) {
    pool->is_in_flight[id] = 1;
    return PP_OK;
  }
  // it is named twice, or was in flight before this call
  for (int32_t j = 0; j < i; j++) {
    if (env_ids[j] != id) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT, "env_id %d is named twice: name it once", id);
  }
  return refuse_in_flight(id, error);
}

static int mark_some_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, pp_error *error) {
  int32_t n = pool->fleet.num_envs;
  for (int32_t i = 0, run; i < count; i += run) {
    int32_t first = env_ids[i];
    run = pp_ids_run(env_ids + i, count - i);
    if (first >= 0 && first <= n - run && !memchr(pool->is_in_flight + first, 1, (size_t)run)) {
      memset(pool->is_in_flight + first, 1, (size_t)run);
      continue;
    }
    for (int32_t j = i; j < i + run; j++) {
      int status = mark_one_locked(pool, env_ids, j, error);
      if (status >= 0) continue;
      pp_pool_add_locked(pool, j);
      unmark_locked(pool, env_ids, j);
      return status;
    }
  }
  pp_pool_add_locked(pool, count);
  return PP_OK;
}

static int mark_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, pp_error *error) {
  if (count < 1 || count > pool->fleet.num_envs || (!env_ids && count != pool->fleet.num_envs)) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%d environments named: name 1 to %d", count,
                        pool->fleet.num_envs);
  }
  if (pool->ring.offered - pool->ring.received != pool->ring.capacity) {
    return pp_error_set(error, PP_ERR_STATE, "offer %d batches first", pool->ring.capacity);
  }
  return env_ids ? mark_some_locked(pool, env_ids, count, error) : mark_all_locked(pool, error);
}

/* PP_DISABLED: refuses environments whose episode has ended */
static int check_phases_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                               pp_error *error) {
  if (pool->fleet.autoreset != PP_DISABLED) return PP_OK;
  for (int32_t i = 0; i < count; i++) {
    int32_t id = env_ids ? env_ids[i] : i;
    if (pool->fleet.phase[id] != PP_RUNNING) return refuse_ended(pool, id, error);
  }
  return PP_OK;
}

static void set_command_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                               int32_t command) {
  for (int32_t i = 0, run; i < count; i += run) {
    uint8_t *first = pool->fleet.command + (env_ids ? env_ids[i] : 0), differs = 0;
    run = env_ids ? pp_ids_run(env_ids + i, count - i) : count;
    for (int32_t j = 0; j < run; j++) differs |= (uint8_t)(first[j] ^ command);
    // written only if it changes: other threads read commands in the same cache line
    if (differs) memset(first, command, (size_t)run);
  }
}

int32_t pp_pool_accept_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error) {
  int status = mark_locked(pool, env_ids, count, error);
  if (status < 0) return status;
  // first, as a reset is no cure for an environment that is lost
  status = pool->ops.check_locked(pool, env_ids, count, error);
  if (status >= 0) status = check_phases_locked(pool, env_ids, count, error);
  if (status >= 0)
    status = pool->ops.store_actions_locked(pool, env_ids, count, actions, dtype, error);
  if (status < 0) {
    unmark_locked(pool, env_ids, count);
    return status;
  }
  set_command_locked(pool, env_ids, count,
                     dtype == PP_ACTION_IN_PAYLOAD ? PP_COMMAND_STEP_PAYLOAD : PP_COMMAND_STEP);
  return pool->ring.is_ordered ? pp_ring_append_locked(&pool->ring, count) : 0;
}

/* ---------------------------------------------------------------------------------- calls -- */

int pp_pool_check_block(const pp_pool *pool, const void *memory, pp_error *error) {
  if (memory && pool->ops.is_block(pool, memory)) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "address %p is not memory for a batch of this pool: give what pp_batch_alloc "
                      "returned",
                      memory);
}

int pp_pool_offer(pp_pool *pool, void *memory, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status >= 0) status = pp_pool_check_block(pool, memory, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  if (pool->ring.offered - pool->ring.received >= pool->ring.capacity) {
    status = pp_error_set(error, PP_ERR_STATE, "the pool has all of its %d batches: offer no more",
                          pool->ring.capacity);
  } else {
    pool->ops.block_offered_locked(pool, pp_ring_offer_locked(&pool->ring, memory));
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* Returns whether another thread waits for something to be in flight. One that waits for rows is
 * left asleep: a wake for each send would cost more than the send. */
static bool must_wake_locked(const pp_pool *pool) {
  return pool->waiting_for_send > 0;
}

/* All sleepers are woken: threads that wait for an answer of a worker process sleep at the same
 * gate, and one wake might reach only those. */
static void wake_receiver(pp_pool *pool) {
  pp_gate_wake(pool->caller, INT32_MAX);
}

/* returns when a call began, 0 if nothing is recorded */
static int64_t began_locked(const pp_pool *pool) {
  return pp_recorder_track(&pool->sender) ? pp_os_now() : 0;
}

static void record_locked(pp_pool *pool, int32_t kind, int64_t start, int32_t count) {
  if (start) pp_recorder_call(&pool->sender, kind, start, count);
}

int pp_pool_send(pp_pool *pool, const int32_t *env_ids, int32_t count, const void *actions,
                 int32_t dtype, pp_error *error) {
  int32_t place = pp_pool_check(pool, error);
  bool must_wake;
  int64_t start;
  if (place < 0) return place;
  pthread_mutex_lock(&pool->lock);
  start = began_locked(pool);
  env_ids = pp_pool_copy_ids(pool, pool->sent_ids, env_ids, count);
  place = pp_pool_accept_locked(pool, env_ids, count, actions, dtype, error);
  if (place >= 0) {
    pool->ops.queue_locked(pool, env_ids, count, place, false);
    record_locked(pool, PP_SPAN_SEND, start, count);
  } else {
    pool->ops.refuse_locked(pool, env_ids, count);
  }
  must_wake = place >= 0 && must_wake_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  if (must_wake) wake_receiver(pool);
  return place < 0 ? place : PP_OK;
}

int pp_pool_send_reset(pp_pool *pool, const int32_t *env_ids, int32_t count,
                       const uint32_t *seed_words, const int32_t *seed_sizes,
                       const pp_value *options, pp_error *error) {
  int status = pp_pool_check(pool, error);
  int32_t command = options ? PP_COMMAND_RESET_OPTIONS : PP_COMMAND_RESET, place = 0;
  bool must_wake;
  int64_t start;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  start = began_locked(pool);
  env_ids = pp_pool_copy_ids(pool, pool->sent_ids, env_ids, count);
  status = mark_locked(pool, env_ids, count, error);
  if (status >= 0) {
    status = pool->ops.check_locked(pool, env_ids, count, error);
    if (status >= 0 && (seed_words || options)) {
      status = pool->ops.store_reset_locked(pool, env_ids, count, seed_words, seed_sizes, options,
                                            error);
    }
    if (status < 0) unmark_locked(pool, env_ids, count);
  }
  if (status >= 0) {
    set_command_locked(pool, env_ids, count, command);
    if (pool->ring.is_ordered) place = pp_ring_append_locked(&pool->ring, count);
    pool->ops.queue_locked(pool, env_ids, count, place, false);
    record_locked(pool, PP_SPAN_RESETS, start, count);
  } else {
    pool->ops.refuse_locked(pool, env_ids, count);
  }
  must_wake = status >= 0 && must_wake_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  if (must_wake) wake_receiver(pool);
  return status;
}
