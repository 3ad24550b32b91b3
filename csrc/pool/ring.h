/* Ring: the blocks of results that are being filled, in the order in which the caller receives
 * them. Lanes claim the rows of a block and write them (threads/claims.h, processes/rows.h). */
#ifndef PP_POOL_RING_H
#define PP_POOL_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rollout.h"

/* The record of one block that is being filled. It is kept apart from the block's own memory, so
 * that nothing the user writes into an array can damage it. On a cache line of its own, which the
 * threads that write rows read and the caller alone writes. */
typedef struct pp_ring_slot {
  /* the caller's memory; this and the next two are written before any row of it can be claimed */
  _Alignas(64) void *memory;
  const pp_layout *layout; /* layout of the rows in this memory */
  int32_t first_row;       /* the block's first row there: 0, but for the batches of a rollout */
  /* Lanes wake the caller from this number of written rows on: those that make the block complete,
   * INT32_MAX while more may be added, or fewer while the caller waits for fewer. Set by the
   * caller; both sides read it after the number of written rows, sequentially consistent. Relaxed
   * where it is a hint, or where the block is known to be complete. */
  _Atomic int32_t target;
} pp_ring_slot;

/* A place is a row of the ring: slot * batch_size + row. Blocks have consecutive sequence numbers
 * that are never used again; slot = sequence % num_slots. */
typedef struct pp_ring {
  pp_ring_slot *slots;
  int32_t capacity; /* blocks: enough for all environments in flight */
  /* Unordered: capacity + 1, so that a block can be offered before the oldest one is cut. A cut
   * after k rows leaves num_envs - k environments, whose rows may need `capacity` blocks. */
  int32_t num_slots;
  int32_t batch_size;
  bool is_ordered;
  /* The rest is the caller's, under the pool's lock. On a cache line of its own, as threads read
   * what is above. */
  _Alignas(64) int64_t offered; /* blocks offered: the next sequence number to offer */
  int64_t received;             /* blocks received: the next sequence number to receive */
  int64_t filling;              /* ordered: the block that sends fill */
  int32_t filled_rows;          /* ordered: rows of it that sends have used */
  const pp_layout *layout;      /* layout of a block with memory of its own; never changes */
  pp_rollout rollout;           /* changed only while nothing is in flight */
} pp_ring;

/* Returns the number of blocks in the ring of such a pool. */
int32_t pp_ring_capacity(int32_t num_envs, int32_t batch_size);

/* layout: of a block. Returns PP_OK or PP_ERR_MEMORY. */
int pp_ring_init(pp_ring *ring, const pp_layout *layout, int32_t num_envs, int32_t batch_size);
void pp_ring_fini(pp_ring *ring);

/* Puts memory into the slot of the next sequence number, which must be free. Afterwards that
 * number is offered-1. */
pp_ring_slot *pp_ring_offer_locked(pp_ring *ring, void *memory);

/* Ordered: adds rows to the block that sends fill. Returns the place of the first. */
int32_t pp_ring_append_locked(pp_ring *ring, int32_t count);

/* Takes back the block that was offered last, after a cut that failed. None of its rows is claimed:
 * see pp_ring_capacity. */
void pp_ring_withdraw_locked(pp_ring *ring);

/* Returns the slot of a place, and writes the row of the slot's memory there. */
pp_ring_slot *pp_ring_at(const pp_ring *ring, int32_t place, int32_t *row);

/* Returns the index of a slot. */
static inline int32_t pp_ring_index(const pp_ring *ring, const pp_ring_slot *slot) {
  return (int32_t)(slot - ring->slots);
}

/* Sets how many rows the caller waits for. */
void pp_ring_slot_set_target(pp_ring_slot *slot, int32_t rows);

/* Returns the block that is received next. Ordered: no rows are added to it from here on. */
pp_ring_slot *pp_ring_close_locked(pp_ring *ring);

/* Returns the memory of the block that is received after i others. */
void *pp_ring_held(const pp_ring *ring, int32_t i);

/* Takes the block that was cut out of the ring. */
void pp_ring_remove_locked(pp_ring *ring);

/* Takes the complete block that pp_ring_close_locked returned, and offers fresh memory instead. */
pp_ring_slot *pp_ring_take_locked(pp_ring *ring, void *fresh);

#endif
