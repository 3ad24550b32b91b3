/* The pool's inside: what the files of its calls and its lanes share. */
#ifndef PP_POOL_POOL_H
#define PP_POOL_POOL_H

#include <pthread.h>

#include "lane_ops.h"
#include "threads/lane.h"

/* ns that a call which waits stays away from its caller's signals */
enum { PP_SLICE_NS = 50000000 };

struct pp_pool {
  pp_lane_ops ops; /* by value: the hot path has no more to load than if the pool knew its lanes */
  pp_fleet fleet;
  pp_layout layout;
  pp_ring ring;
  pp_stepper stepper;
  pp_topology topology;
  pp_lane *lanes;
  int32_t num_lanes;
  int32_t num_threads;
  int32_t num_workers; /* threads but for the caller */
  int32_t home_lane;   /* the one on whose node the pool was made: the caller helps there first */
  struct pp_processes
      *processes;    /* of lanes that are worker processes: remote.c's and its files' */
  int32_t is_helped; /* 1: the caller steps too, as one of num_threads */
  uint32_t fork_generation;
  pp_gate *caller; /* where the caller sleeps: gate, or one that worker processes share */
  pp_gate gate;

  /* the caller's own, used by one thread at a time: whoever holds receiving */
  pp_scratch scratch;
  int32_t *failed; /* of the last batch with failures */
  int32_t num_failed;
  int32_t failed_rows;
  const void *last_given; /* memory that the last receive took, and what it returned */
  int32_t last_result;
  int32_t *step_ids; /* room for the ids of one step */
  uint32_t inline_steps;
  int32_t other_shard; /* of the home lane's queue: the one that the caller looked at last */

  /* 1 while a thread is in recv or step: taken with acquire, given back with release */
  _Atomic int32_t receiving;
  /* set by close, read by all calls: sequentially consistent, so that who sleeps sees it */
  _Atomic int32_t is_closed;
  /* 1: nothing can come of the pool any more. Set by the thread that finds it out and never taken
   * back, read by all calls; relaxed, as nothing is published with it and one call more does no
   * harm */
  _Atomic int32_t is_broken;
  /* held by close, which waits for threads that never close: whoever closes meanwhile waits too */
  pthread_mutex_t closing;

  /* Held by whoever sends or takes a batch; guards flying, in_flight, entries and the caller's
   * part of the ring. Workers never take it. */
  pthread_mutex_t lock;
  uint8_t *is_in_flight; /* 1: sent and not yet received */
  /* how many of them; written under the lock, read without it where an answer may be stale.
   * Relaxed: under the lock nobody else writes, and without it nothing follows from the number */
  _Atomic int32_t in_flight;
  pp_entry *entries; /* room for one send */
  int32_t *sent_ids; /* room for the ids of one send */

  /* statistics; written under the lock, read by any thread, relaxed */
  _Atomic int64_t env_steps;
  _Atomic int64_t batches;
  _Atomic int64_t refused_binds;
};

/* environments in flight. In the header, as what follows, because every step asks */
static inline int32_t pp_pool_count(const pp_pool *pool) {
  return atomic_load_explicit(&pool->in_flight, memory_order_relaxed);
}

/* they became more or fewer; under the lock, so no locked addition */
static inline void pp_pool_add_locked(pp_pool *pool, int32_t change) {
  atomic_store_explicit(&pool->in_flight, pp_pool_count(pool) + change, memory_order_relaxed);
}

/* Copies ids into room for num_envs of them, so that a caller's thread that writes to its array
 * meanwhile can't get a bad one past the checks. Returns the copy, or ids if they are null or have
 * a count that will be refused. */
const int32_t *pp_pool_copy_ids(const pp_pool *pool, int32_t *room, const int32_t *ids,
                                int32_t count);

/* PP_OK, or why no call can be served now */
int pp_pool_check(const pp_pool *pool, pp_error *error);

/* the same for calls that need the environments themselves */
int pp_pool_check_local(const pp_pool *pool, pp_error *error);

/* refuses an environment that can't be read or written now, because it is in flight or elsewhere */
int pp_pool_check_idle_locked(const pp_pool *pool, int32_t env_id, pp_error *error);

/* Says what an environment can't be ("saved") and why: what its callback said when it failed, once,
 * so that a later failure without a text does not repeat it. Returns status */
int pp_pool_explain_failure(pp_fleet *fleet, int32_t env_id, int status, const char *what,
                            pp_error *error);

/* refuses memory that no batch of this pool can lie in */
int pp_pool_check_block(const pp_pool *pool, const void *memory, pp_error *error);

/* lets the lanes forget what was left for a send that was refused; env_ids as the caller gave them
 */
void pp_pool_refuse_locked(pp_pool *pool, const int32_t *env_ids, int32_t count);

/* validates, stores and marks a send, then builds its entries; the caller queues or steps them.
 * Returns the place of the first row, or a negative status and nothing has changed */
int32_t pp_pool_accept_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error);

#endif
