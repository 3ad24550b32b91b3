/* Batches: the ring of result blocks, from the claim of a row to the block that is full. */
#ifndef PP_POOL_BATCH_H
#define PP_POOL_BATCH_H

#include <stdatomic.h>
#include <stdint.h>

/* What is known about one block that is being filled. It lies in private memory, apart from the
 * block's own, so that nothing the user writes into an array can harm it. */
typedef struct pp_batch {
  _Alignas(64) void *memory; /* the caller's, written before any row of it can be claimed */
  /* rows written: raised by workers, release (the rows are written) and acquire (the last one has
   * them all); sequentially consistent against target, see pp_batch_finish */
  _Atomic int32_t done;
  /* rows that make it complete, INT32_MAX while more may be added: set by the caller, and read by
   * both sides after done, sequentially consistent; relaxed where it is a hint, or known to be
   * complete */
  _Atomic int32_t target;
  _Atomic int32_t num_failed; /* raised by workers before done, relaxed: done publishes it */
  int32_t *failed;            /* environments that failed, num_failed of them */
} pp_batch;

/* A place is a row of the ring: slot * batch_size + row. Blocks are numbered for ever by sequence;
 * slot = sequence % capacity. */
typedef struct pp_ring {
  pp_batch *batches;
  int32_t capacity; /* slots: enough for all environments in flight */
  int32_t batch_size;
  int32_t is_ordered;
  /* unordered: rows claimed so far, in the order of finishing. Acquire and release: an environment
   * sent long ago may claim the first row of a block that was offered after it was sent; it learns
   * of the block's memory from the claim before its own */
  _Alignas(64) _Atomic int64_t tickets;
  /* the rest belongs to the caller, under the pool's lock */
  _Alignas(64) int64_t offered; /* blocks given, next sequence to give */
  int64_t received;             /* blocks taken, next sequence to take */
  int64_t open;                 /* ordered: the block that sends fill */
  int32_t open_rows;            /* ordered: rows given out in it */
} pp_ring;

/* blocks that the ring of such a pool holds */
int32_t pp_ring_capacity(int32_t num_envs, int32_t batch_size);

int pp_ring_init(pp_ring *ring, int32_t num_envs, int32_t batch_size);
void pp_ring_fini(pp_ring *ring);

/* gives memory for the next sequence, which is offered-1 then; the caller sees to it that the slot
 * is free */
pp_batch *pp_ring_offer_locked(pp_ring *ring, void *memory);

/* ordered: gives out rows of the open block; returns the place of the first */
int32_t pp_ring_append_locked(pp_ring *ring, int32_t count);

/* unordered: claims at most count rows of one block; returns the place of the first */
int32_t pp_ring_claim(pp_ring *ring, int32_t *count);

/* the block and the row of a place */
pp_batch *pp_ring_at(const pp_ring *ring, int32_t place, int32_t *row);

/* notes a failed environment; before pp_batch_finish of its row */
void pp_batch_fail(pp_batch *batch, int32_t env_id);

/* count rows are written; 1: that made the block complete */
int pp_batch_finish(pp_batch *batch, int32_t count);

/* the block that is received next; ordered: no more rows are added to it from here on */
pp_batch *pp_ring_close_locked(pp_ring *ring);

/* 1: every row is there. Sequentially consistent, for the last look before going to sleep */
int pp_batch_is_complete(pp_batch *batch);

/* unordered: rows of the block that is received next which nobody has claimed, as of some moment
 * ago; 0 or less: others are writing the last of them. For the caller */
int64_t pp_ring_unclaimed(const pp_ring *ring);

/* rows that are still to come, as of some moment ago */
int32_t pp_batch_missing(const pp_batch *batch);

/* takes the block that pp_ring_close gave, complete, and puts fresh memory in its slot */
pp_batch *pp_ring_take_locked(pp_ring *ring, void *fresh);

#endif
