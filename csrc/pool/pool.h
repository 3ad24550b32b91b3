/* Pool: the members that all calls of a pool share, and what they check first. */
#ifndef PP_POOL_POOL_H
#define PP_POOL_POOL_H

#include <pthread.h>

#include "batch.h"
#include "entry.h"
#include "fleet.h"
#include "gate.h"
#include "lane_ops.h"
#include "layout.h"
#include "os/topology.h"

/* ns that a waiting call keeps its caller from handling signals */
enum { PP_SLICE_NS = 50000000 };

struct pp_pool {
  pp_lane_ops ops; /* by value: one load less on the hot path */
  pp_fleet fleet;
  pp_layout layout;
  pp_ring ring;
  pp_topology topology;
  struct pp_threads *threads;     /* lanes that are threads, or null */
  struct pp_processes *processes; /* lanes that are worker processes, or null */
  int32_t num_threads;            /* threads that step, the caller included; or worker processes */
  uint32_t fork_generation;
  pp_gate *caller; /* where the caller sleeps: gate, or one that worker processes share */
  pp_gate gate;

  /* the caller's own, used by one thread at a time: the one that has set receiving */
  int32_t *failed; /* of the last batch with failures */
  int32_t num_failed;
  int32_t failed_rows;
  const void *last_given; /* memory that the last receive was given, and what it returned */
  int32_t last_result;
  int32_t *step_ids; /* room for the ids of one step */

  /* 1 while a thread is in recv or step: taken with acquire, given back with release */
  _Atomic int32_t receiving;
  /* set by close, read by all calls: sequentially consistent, so that a thread about to sleep sees
   * it */
  _Atomic int32_t is_closed;
  /* 1: no result can come any more. Set by the thread that finds this out and never taken back,
   * read by all calls. Relaxed: nothing is published with it, and one more call does no harm */
  _Atomic int32_t is_broken;
  /* held by close while it waits for threads; other threads that close meanwhile wait here */
  pthread_mutex_t closing;

  /* Held by the thread that sends or takes a batch; guards is_in_flight, num_in_flight, entries and
   * the caller's part of the ring. Workers never take it. */
  pthread_mutex_t lock;
  uint8_t *is_in_flight; /* 1: sent and not yet received */
  /* how many are; written under the lock, read without it where an old value will do. Relaxed:
   * under the lock there is no other writer, and without it nothing follows from the number */
  _Atomic int32_t num_in_flight;
  pp_entry *entries; /* room for one send */
  int32_t *sent_ids; /* room for the ids of one send */

  /* statistics; written under the lock, read by any thread, relaxed */
  _Atomic int64_t env_steps;
  _Atomic int64_t batches;
  _Atomic int64_t refused_binds;
};

/* environments in flight. In the header, like the next one, because every step needs it */
static inline int32_t pp_pool_count(const pp_pool *pool) {
  return atomic_load_explicit(&pool->num_in_flight, memory_order_relaxed);
}

/* changes their number; under the lock, so the addition need not be atomic */
static inline void pp_pool_add_locked(pp_pool *pool, int32_t change) {
  atomic_store_explicit(&pool->num_in_flight, pp_pool_count(pool) + change, memory_order_relaxed);
}

/* Copies ids into room for num_envs of them: another thread that writes to the caller's array
 * meanwhile can't slip a bad id past the checks. Returns the copy, or ids if they are null or if
 * their count will be refused. */
const int32_t *pp_pool_copy_ids(const pp_pool *pool, int32_t *room, const int32_t *ids,
                                int32_t count);

/* PP_OK, or why no call can be served now */
int pp_pool_check(const pp_pool *pool, pp_error *error);

/* refuses calls that need the environments themselves where these live in worker processes */
int pp_pool_check_local(const pp_pool *pool, pp_error *error);

/* refuses an environment that can't be read or written now: it is in flight, or in another process
 */
int pp_pool_check_idle_locked(const pp_pool *pool, int32_t env_id, pp_error *error);

/* Fills in an error after a callback failed: what could not be done ("saved"), and the callback's
 * own text. Clears that text, so that a later failure without one does not repeat it. Returns
 * status. */
int pp_pool_explain_failure(pp_fleet *fleet, int32_t env_id, int status, const char *what,
                            pp_error *error);

/* refuses memory that no batch of this pool can lie in */
int pp_pool_check_block(const pp_pool *pool, const void *memory, pp_error *error);

/* validates, stores and marks a send, then builds its entries; the caller queues or steps them.
 * Returns the place of the first row, or a negative status and nothing has changed */
int32_t pp_pool_accept_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error);

#endif
