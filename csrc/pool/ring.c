/* Ring: the ring of result blocks. Threads claim rows of a block and fill them, and the caller
 * receives the block when it is full. */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "pp_env.h"

static void prepare(pp_ring *ring, pp_batch *batch, void *memory) {
  batch->memory = memory;
  atomic_store_explicit(&batch->done, 0, memory_order_relaxed);
  atomic_store_explicit(&batch->target, ring->is_ordered ? INT32_MAX : ring->batch_size,
                        memory_order_relaxed);
  atomic_store_explicit(&batch->num_failed, 0, memory_order_relaxed);
}

int32_t pp_ring_capacity(int32_t num_envs, int32_t batch_size) {
  // Rows that are claimed and not received belong to environments in flight, so they span at most
  // this many blocks. Ordered: one block is open while another is being received.
  return (num_envs - 1) / batch_size + 1 + (batch_size == num_envs);
}

int pp_ring_init(pp_ring *ring, int32_t num_envs, int32_t batch_size) {
  memset(ring, 0, sizeof(*ring));
  ring->batch_size = batch_size;
  ring->is_ordered = batch_size == num_envs;
  ring->capacity = pp_ring_capacity(num_envs, batch_size);
  ring->num_slots = ring->capacity + !ring->is_ordered;
  ring->batches = aligned_alloc(64, sizeof(*ring->batches) * (size_t)ring->num_slots);
  if (!ring->batches) return PP_ERR_MEMORY;
  memset(ring->batches, 0, sizeof(*ring->batches) * (size_t)ring->num_slots);
  for (int32_t i = 0; i < ring->num_slots; i++) {
    ring->batches[i].failed = calloc((size_t)batch_size, sizeof(int32_t));
    if (!ring->batches[i].failed) {
      pp_ring_fini(ring);
      return PP_ERR_MEMORY;
    }
    prepare(ring, &ring->batches[i], NULL);
  }
  atomic_init(&ring->tickets, 0);
  return PP_OK;
}

void pp_ring_fini(pp_ring *ring) {
  for (int32_t i = 0; ring->batches && i < ring->num_slots; i++) free(ring->batches[i].failed);
  free(ring->batches);
  ring->batches = NULL;
}

pp_batch *pp_ring_offer_locked(pp_ring *ring, void *memory) {
  pp_batch *batch = &ring->batches[ring->offered++ % ring->num_slots];
  prepare(ring, batch, memory);
  return batch;
}

int32_t pp_ring_append_locked(pp_ring *ring, int32_t count) {
  int32_t place = (int32_t)(ring->open % ring->num_slots) * ring->batch_size + ring->open_rows;
  ring->open_rows += count;
  return place;
}

int32_t pp_ring_claim(pp_ring *ring, int32_t *count) {
  int64_t ticket = atomic_load_explicit(&ring->tickets, memory_order_relaxed);
  int64_t sequence;
  int32_t row, left;

  if (*count == 1) {
    ticket = atomic_fetch_add_explicit(&ring->tickets, 1, memory_order_acq_rel);
    sequence = ticket / ring->batch_size;
    row = (int32_t)(ticket - sequence * ring->batch_size);
  } else {
    // a run must not extend into the next block
    do {
      sequence = ticket / ring->batch_size;
      row = (int32_t)(ticket - sequence * ring->batch_size);
      left = ring->batch_size - row;
      if (*count > left) *count = left;
    } while (!atomic_compare_exchange_weak_explicit(&ring->tickets, &ticket, ticket + *count,
                                                    memory_order_acq_rel, memory_order_relaxed));
  }
  return (int32_t)(sequence % ring->num_slots) * ring->batch_size + row;
}

bool pp_ring_cut_locked(pp_ring *ring, int32_t rows) {
  int64_t first = ring->received * ring->batch_size, ticket = first + rows;
  // Every row of the block is claimed before it is counted as written, so if as many are claimed as
  // the caller has seen written, none is being written. Acquire and release, as in claims: the next
  // claim sees the memory of the block that was offered last.
  return atomic_compare_exchange_strong_explicit(&ring->tickets, &ticket, first + ring->batch_size,
                                                 memory_order_acq_rel, memory_order_relaxed);
}

void pp_ring_withdraw_locked(pp_ring *ring) {
  ring->offered--;
}

pp_batch *pp_ring_at(const pp_ring *ring, int32_t place, int32_t *row) {
  int32_t slot = place / ring->batch_size;
  *row = place - slot * ring->batch_size;
  return &ring->batches[slot];
}

void pp_batch_fail(pp_batch *batch, int32_t env_id) {
  int32_t at = atomic_fetch_add_explicit(&batch->num_failed, 1, memory_order_relaxed);
  batch->failed[at] = env_id;
}

bool pp_batch_finish(pp_batch *batch, int32_t count) {
  // This writes done and then reads target; the caller that sets a target writes it and then reads
  // done. Sequential consistency: one of the two sees that enough rows are written. They may be
  // more than the target, if the caller waits for fewer than the block has.
  int32_t done = atomic_fetch_add_explicit(&batch->done, count, memory_order_seq_cst) + count;
  return done >= atomic_load_explicit(&batch->target, memory_order_seq_cst);
}

void pp_batch_set_target(pp_batch *batch, int32_t rows) {
  atomic_store_explicit(&batch->target, rows, memory_order_seq_cst);
}

int32_t pp_batch_written(const pp_batch *batch) {
  // includes acquire: the rows are visible once done counts them
  return atomic_load_explicit(&batch->done, memory_order_seq_cst);
}

pp_batch *pp_ring_close_locked(pp_ring *ring) {
  pp_batch *batch = &ring->batches[ring->received % ring->num_slots];
  if (ring->is_ordered && ring->open == ring->received && ring->open_rows > 0) {
    pp_batch_set_target(batch, ring->open_rows);
    ring->open++;
    ring->open_rows = 0;
  }
  return batch;
}

bool pp_batch_is_complete(pp_batch *batch) {
  // includes acquire: the rows are visible once done counts them
  return atomic_load_explicit(&batch->done, memory_order_seq_cst) ==
         atomic_load_explicit(&batch->target, memory_order_seq_cst);
}

int64_t pp_ring_unclaimed(const pp_ring *ring) {
  // relaxed: a hint
  return (ring->received + 1) * ring->batch_size -
         atomic_load_explicit(&ring->tickets, memory_order_relaxed);
}

int32_t pp_batch_missing(const pp_batch *batch) {
  // relaxed: a hint
  return atomic_load_explicit(&batch->target, memory_order_relaxed) -
         atomic_load_explicit(&batch->done, memory_order_relaxed);
}

void *pp_ring_held(const pp_ring *ring, int32_t i) {
  return ring->batches[(ring->received + i) % ring->num_slots].memory;
}

void pp_ring_remove_locked(pp_ring *ring) {
  ring->received++;
}

pp_batch *pp_ring_take_locked(pp_ring *ring, void *fresh) {
  ring->received++;
  return pp_ring_offer_locked(ring, fresh);
}
