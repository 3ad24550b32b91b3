/* Claims: how threads claim rows of the ring's blocks, and count those that they have written. */
#include "claims.h"

#include <stdlib.h>
#include <string.h>

#include "pp_env.h"

static pp_claims_slot *counts_of(const pp_claims *claims, const pp_ring_slot *slot) {
  return &claims->slots[slot - claims->ring->slots];
}

int pp_claims_init(pp_claims *claims, const pp_ring *ring) {
  size_t size = sizeof(*claims->slots) * (size_t)ring->num_slots;
  claims->ring = ring;
  atomic_init(&claims->tickets, 0);
  claims->slots = aligned_alloc(64, size);
  if (!claims->slots) return PP_ERR_MEMORY;
  memset(claims->slots, 0, size);
  for (int32_t i = 0; i < ring->num_slots; i++) {
    claims->slots[i].failed = calloc((size_t)ring->batch_size, sizeof(int32_t));
    if (!claims->slots[i].failed) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

void pp_claims_fini(pp_claims *claims) {
  for (int32_t i = 0; claims->slots && i < claims->ring->num_slots; i++) {
    free(claims->slots[i].failed);
  }
  free(claims->slots);
  claims->slots = NULL;
}

void pp_claims_prepare_locked(pp_claims *claims, const pp_ring_slot *slot) {
  pp_claims_slot *counts = counts_of(claims, slot);
  // relaxed: no thread counts rows of the block before one of them is sent or claimed
  atomic_store_explicit(&counts->done, 0, memory_order_relaxed);
  atomic_store_explicit(&counts->num_failed, 0, memory_order_relaxed);
}

int32_t pp_claims_take(pp_claims *claims, int32_t *count) {
  const pp_ring *ring = claims->ring;
  int64_t ticket = atomic_load_explicit(&claims->tickets, memory_order_relaxed);
  int64_t sequence;
  int32_t row, left;

  if (*count == 1) {
    ticket = atomic_fetch_add_explicit(&claims->tickets, 1, memory_order_acq_rel);
    sequence = ticket / ring->batch_size;
    row = (int32_t)(ticket - sequence * ring->batch_size);
  } else {
    // a run must not extend into the next block
    do {
      sequence = ticket / ring->batch_size;
      row = (int32_t)(ticket - sequence * ring->batch_size);
      left = ring->batch_size - row;
      if (*count > left) *count = left;
    } while (!atomic_compare_exchange_weak_explicit(&claims->tickets, &ticket, ticket + *count,
                                                    memory_order_acq_rel, memory_order_relaxed));
  }
  return (int32_t)(sequence % ring->num_slots) * ring->batch_size + row;
}

bool pp_claims_cut_locked(pp_claims *claims, int32_t rows) {
  const pp_ring *ring = claims->ring;
  int64_t first = ring->received * ring->batch_size, ticket = first + rows;
  // Every row of the block is claimed before it is counted as written, so if as many are claimed as
  // the caller has seen written, none is being written. Acquire and release, as in claims: the next
  // claim sees the memory of the block that was offered last.
  return atomic_compare_exchange_strong_explicit(&claims->tickets, &ticket,
                                                 first + ring->batch_size, memory_order_acq_rel,
                                                 memory_order_relaxed);
}

int64_t pp_claims_left(const pp_claims *claims) {
  // relaxed: a hint
  return (claims->ring->received + 1) * claims->ring->batch_size -
         atomic_load_explicit(&claims->tickets, memory_order_relaxed);
}

void pp_claims_fail(pp_claims *claims, const pp_ring_slot *slot, int32_t env_id) {
  pp_claims_slot *counts = counts_of(claims, slot);
  int32_t at = atomic_fetch_add_explicit(&counts->num_failed, 1, memory_order_relaxed);
  counts->failed[at] = env_id;
}

bool pp_claims_finish(pp_claims *claims, const pp_ring_slot *slot, int32_t count) {
  // This writes done and then reads target; the caller that sets a target writes it and then reads
  // done. Sequential consistency: one of the two sees that enough rows are written. They may be
  // more than the target, if the caller waits for fewer than the block has.
  int32_t done =
      atomic_fetch_add_explicit(&counts_of(claims, slot)->done, count, memory_order_seq_cst) +
      count;
  return done >= atomic_load_explicit(&slot->target, memory_order_seq_cst);
}

int32_t pp_claims_written(const pp_claims *claims, const pp_ring_slot *slot) {
  // includes acquire: the rows are visible once done counts them
  return atomic_load_explicit(&counts_of(claims, slot)->done, memory_order_seq_cst);
}

bool pp_claims_are_complete(const pp_claims *claims, const pp_ring_slot *slot) {
  return pp_claims_written(claims, slot) ==
         atomic_load_explicit(&slot->target, memory_order_seq_cst);
}

int32_t pp_claims_missing(const pp_claims *claims, const pp_ring_slot *slot) {
  // relaxed: a hint
  return atomic_load_explicit(&slot->target, memory_order_relaxed) -
         atomic_load_explicit(&counts_of(claims, slot)->done, memory_order_relaxed);
}

const int32_t *pp_claims_failed(const pp_claims *claims, const pp_ring_slot *slot, int32_t *count) {
  const pp_claims_slot *counts = counts_of(claims, slot);
  // relaxed: the caller has seen all rows of the block counted
  *count = atomic_load_explicit(&counts->num_failed, memory_order_relaxed);
  return counts->failed;
}
