/* The pool's inside: what create.c, send.c, recv.c and snapshot.c share. */
#ifndef PP_POOL_POOL_H
#define PP_POOL_POOL_H

#include <pthread.h>

#include "lane.h"

struct pp_pool {
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
  struct pp_remote *remote; /* lanes are worker processes, and there are none of threads */
  int32_t is_helped;        /* 1: the caller steps too, as one of num_threads */
  uint32_t fork_generation;
  pp_gate gate; /* where the caller sleeps, if the workers are threads: see pp_pool_gate */

  /* the caller's own, used by one thread at a time: whoever holds receiving */
  pp_scratch scratch;
  int32_t *failed; /* of the last batch with failures */
  int32_t num_failed;
  int32_t failed_rows;
  const void *last_fresh; /* memory that the last receive took, and what it returned */
  int32_t last_result;
  int32_t *step_ids; /* room for the ids of one step */
  uint32_t inline_steps;
  int32_t other_shard; /* of the home lane's queue: the one that the caller looked at last */

  /* 1 while a thread is in recv or step: taken with acquire, given back with release */
  _Atomic int32_t receiving;
  /* set by close, read by all calls: sequentially consistent, so that who sleeps sees it */
  _Atomic int32_t is_closed;

  /* Held by whoever sends or takes a batch; guards flying, in_flight, entries and the caller's
   * part of the ring. Workers never take it. */
  pthread_mutex_t lock;
  uint8_t *flying; /* 1: sent and not yet received */
  /* how many of them; written under the lock, read without it where an answer may be stale */
  _Atomic int32_t in_flight;
  pp_entry *entries; /* room for one send */
  int32_t *sent_ids; /* room for the ids of one send */

  /* statistics; written under the lock, read by any thread, relaxed */
  _Atomic int64_t env_steps;
  _Atomic int64_t batches;
  _Atomic int64_t refused_binds;
};

/* where the caller sleeps */
pp_gate *pp_pool_gate(pp_pool *pool);

/* environments in flight became more or fewer; under the lock, so no locked addition */
void pp_pool_count_locked(pp_pool *pool, int32_t change);

/* Copies ids into room for num_envs of them, so that a caller's thread that writes to its array
 * meanwhile can't get a bad one past the checks. Returns the copy, or ids if they are null or have
 * a count that will be refused. */
const int32_t *pp_pool_keep_ids(const pp_pool *pool, int32_t *room, const int32_t *ids,
                                int32_t count);

/* PP_OK, or why no call can be served now */
int pp_pool_check(const pp_pool *pool, pp_error *error);

/* validates, stores and marks a send, then builds its entries; the caller queues or steps them.
 * Returns the place of the first row, or a negative status and nothing has changed */
int32_t pp_pool_accept_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error);

/* queues accepted environments and wakes workers; is_helping: the caller is about to work too */
void pp_pool_queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                          int32_t is_helping);

#endif
