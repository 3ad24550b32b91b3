/* Ring: the ring of result blocks. Threads claim rows of a block and fill them, and the caller
 * receives the block when it is full. */
#ifndef PP_POOL_RING_H
#define PP_POOL_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The state of one block that is being filled. It is kept apart from the block's own memory, so
 * that nothing the user writes into an array can damage it. */
typedef struct pp_batch {
  _Alignas(64) void *memory; /* the caller's; written before any row of it can be claimed */
  /* Rows written. Raised by workers: release, as their rows are written before; acquire, so that
   * the thread that writes the last row sees them all. Sequentially consistent against target, see
   * pp_batch_finish. */
  _Atomic int32_t done;
  /* Rows of which the caller must be told: those that make the block complete, INT32_MAX while more
   * may be added, or fewer while the caller waits for fewer. Set by the caller; both sides read it
   * after done, sequentially consistent. Relaxed where it is a hint, or where the block is known to
   * be complete. */
  _Atomic int32_t target;
  _Atomic int32_t num_failed; /* raised by workers before done, relaxed: done publishes it */
  int32_t *failed;            /* environments that failed, num_failed of them */
} pp_batch;

/* A place is a row of the ring: slot * batch_size + row. Blocks have consecutive sequence numbers
 * that are never used again; slot = sequence % num_slots. */
typedef struct pp_ring {
  pp_batch *batches;
  int32_t capacity; /* blocks: enough for all environments in flight */
  /* Unordered: capacity + 1, so that a block can be offered before the oldest one is cut. A cut
   * block of k rows leaves num_envs - k environments that may claim rows of `capacity` others. */
  int32_t num_slots;
  int32_t batch_size;
  bool is_ordered;
  /* Unordered: rows claimed so far, in the order in which steps finish. Acquire and release: an
   * environment that was sent long ago may claim the first row of a block that was offered after
   * that send; the claim before its own makes the block's memory visible to it. */
  _Alignas(64) _Atomic int64_t tickets;
  /* the rest is the caller's, under the pool's lock */
  _Alignas(64) int64_t offered; /* blocks offered: the next sequence number to offer */
  int64_t received;             /* blocks received: the next sequence number to receive */
  int64_t open;                 /* ordered: the block that sends fill */
  int32_t open_rows;            /* ordered: rows of it that sends have used */
} pp_ring;

/* Returns the number of blocks in the ring of such a pool. */
int32_t pp_ring_capacity(int32_t num_envs, int32_t batch_size);

/* Returns PP_OK or PP_ERR_MEMORY. */
int pp_ring_init(pp_ring *ring, int32_t num_envs, int32_t batch_size);
void pp_ring_fini(pp_ring *ring);

/* Puts memory into the slot of the next sequence number, which must be free. Afterwards that
 * number is offered-1. */
pp_batch *pp_ring_offer_locked(pp_ring *ring, void *memory);

/* Ordered: adds rows to the open block. Returns the place of the first. */
int32_t pp_ring_append_locked(pp_ring *ring, int32_t count);

/* Unordered: claims at most *count rows of one block and writes to *count how many it claimed.
 * Returns the place of the first. */
int32_t pp_ring_claim(pp_ring *ring, int32_t *count);

/* Unordered: cuts the block that is received next after its first rows, if exactly these are
 * claimed and all of them are written; later claims go to the next block. The block that follows
 * those in the ring must have been offered. Returns whether it did. */
bool pp_ring_cut_locked(pp_ring *ring, int32_t rows);

/* Takes back the block that was offered last, which no thread can have claimed yet. */
void pp_ring_withdraw_locked(pp_ring *ring);

/* Returns the block of a place, and writes its row there. */
pp_batch *pp_ring_at(const pp_ring *ring, int32_t place, int32_t *row);

/* Records a failed environment; to be called before pp_batch_finish of its row. */
void pp_batch_fail(pp_batch *batch, int32_t env_id);

/* Counts rows as written. Returns whether as many are written as the target says. */
bool pp_batch_finish(pp_batch *batch, int32_t count);

/* Sets how many rows the caller waits for. */
void pp_batch_set_target(pp_batch *batch, int32_t rows);

/* Returns how many rows are written. Sequentially consistent, so that a thread may check it last
 * before it sleeps. */
int32_t pp_batch_written(const pp_batch *batch);

/* Returns the block that is received next. Ordered: no rows are added to it from here on. */
pp_batch *pp_ring_close_locked(pp_ring *ring);

/* Returns whether all rows are written. Sequentially consistent, so that a thread may check it last
 * before it sleeps. */
bool pp_batch_is_complete(pp_batch *batch);

/* Unordered, for the caller: returns how many rows of the block that is received next are
 * unclaimed. May be out of date. At 0 or less, other threads are writing the last rows. */
int64_t pp_ring_unclaimed(const pp_ring *ring);

/* Returns how many rows are not written yet. The number may be out of date. */
int32_t pp_batch_missing(const pp_batch *batch);

/* Returns the memory of the block that is received after i others. */
void *pp_ring_held(const pp_ring *ring, int32_t i);

/* Takes the block that was cut out of the ring. */
void pp_ring_remove_locked(pp_ring *ring);

/* Takes the complete block that pp_ring_close_locked returned, and offers fresh memory in its
 * place.
 */
pp_batch *pp_ring_take_locked(pp_ring *ring, void *fresh);

#endif
