/* Pool: the members that both kinds of pools have, and the checks at the start of calls. */
#ifndef PP_POOL_POOL_H
#define PP_POOL_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "entry.h"
#include "fleet.h"
#include "gate.h"
#include "lane_ops.h"
#include "layout.h"
#include "os/topology.h"
#include "ring.h"
#include "track.h"

/* ns after which a call that waits returns, so that its caller can handle signals */
enum { PP_SLICE_NS = 50000000 };

/* who owns the receiving thread's members: no thread; a thread in recv or step; or, briefly, the
 * thread that stops a trace */
enum { PP_IDLE, PP_RECEIVING, PP_FLUSHING };

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
  /* Threads that wait for a send rather than for rows. Changed and read under the lock. */
  int32_t waiting_for_send;

  /* Used by the receiving thread only: the one that has set receiving. */
  int32_t *failed; /* environments of the last batch with failures */
  int32_t num_failed;
  int32_t failed_rows;    /* rows of that batch */
  const void *last_given; /* fresh memory of the last receive */
  int32_t last_result;    /* what the last receive returned */
  int32_t *step_ids;      /* buffer for the ids of one step */

  /* A try-lock over the members above and over receiver, below. Taken by compare-and-swap from
   * PP_IDLE (acquire), released by a store of PP_IDLE (release). */
  _Atomic int32_t receiving;
  /* set by close, read by all calls: sequentially consistent, so that a thread about to sleep sees
   * it */
  _Atomic bool is_closed;
  /* No more results can be expected. Set by the thread that detects this, never cleared, and read
   * by all calls. Relaxed: it publishes nothing, and one more call does no harm. */
  _Atomic bool is_broken;
  /* held while ended threads are joined; another thread that closes meanwhile waits for it */
  pthread_mutex_t closing;

  /* Held by the thread that sends or takes a batch; guards is_in_flight, num_in_flight, entries,
   * sent_ids and the caller's part of the ring. Workers never take it. */
  pthread_mutex_t lock;
  uint8_t *is_in_flight; /* by environment, 1: sent and not yet received */
  /* Number of environments in flight. Written under the lock, and read without it where an old
   * value will do. Relaxed: under the lock there is no other writer, and readers without it
   * conclude nothing else from the number. */
  _Atomic int32_t num_in_flight;
  pp_entry *entries; /* buffer for one send */
  int32_t *sent_ids; /* buffer for the ids of one send */

  /* statistics; written under the lock, read by any thread, relaxed */
  _Atomic int64_t env_steps;
  _Atomic int64_t batches;
  _Atomic int64_t refused_binds;

  /* What the caller does: written by the thread that receives, and by the one that sends, under the
   * lock. At the end, so that what every step needs lies together. */
  pp_recorder receiver; /* receives, and the steps that the caller does itself */
  pp_recorder sender;
  /* used by the thread that starts, reads and stops traces; null until the first trace */
  pp_track **tracks;
  int32_t num_tracks;
  bool is_traced;
};

/* Returns the number of environments in flight. In the header, like the next function, because
 * every step needs it. */
static inline int32_t pp_pool_count(const pp_pool *pool) {
  return atomic_load_explicit(&pool->num_in_flight, memory_order_relaxed);
}

/* Changes that number; under the lock, so the addition need not be atomic. */
static inline void pp_pool_add_locked(pp_pool *pool, int32_t change) {
  atomic_store_explicit(&pool->num_in_flight, pp_pool_count(pool) + change, memory_order_relaxed);
}

/* Copies ids to a buffer for num_envs of them, so that another thread that writes to the caller's
 * array can't change an id after it was checked. Returns the copy; or ids itself, if it is null or
 * if count is out of range, which later checks refuse. */
const int32_t *pp_pool_copy_ids(const pp_pool *pool, int32_t *buffer, const int32_t *ids,
                                int32_t count);

/* Returns PP_OK, or PP_ERR_FORKED, PP_ERR_CLOSED or PP_ERR_BROKEN. */
int pp_pool_check(const pp_pool *pool, pp_error *error);

/* Returns PP_ERR_ARGUMENT if this memory can't be a block of the pool. */
int pp_pool_check_block(const pp_pool *pool, const void *memory, pp_error *error);

/* Ordered: returns PP_ERR_STATE if a step would not return the rows of its own send, as results of
 * an earlier one are pending. */
int pp_pool_check_pending(const pp_pool *pool, pp_error *error);

/* Validates a send, stores its actions and marks its environments as in flight; the caller then
 * queues or steps them. Returns the place of the first row (0 if unordered), or a negative status
 * if nothing was accepted. */
int32_t pp_pool_accept_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error);

#endif
