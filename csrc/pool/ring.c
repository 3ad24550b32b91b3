/* Ring: the blocks of results that are being filled, in the order in which the caller receives
 * them. */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "pp_env.h"

static void prepare(pp_ring *ring, pp_ring_slot *slot, void *memory) {
  int32_t batch = pp_rollout_find(&ring->rollout, memory);
  slot->memory = batch < 0 ? memory : ring->rollout.memory;
  slot->layout = batch < 0 ? ring->layout : &ring->rollout.layout;
  slot->first_row = batch < 0 ? 0 : batch * ring->batch_size;
  atomic_store_explicit(&slot->target, ring->is_ordered ? INT32_MAX : ring->batch_size,
                        memory_order_relaxed);
}

int32_t pp_ring_capacity(int32_t num_envs, int32_t batch_size) {
  // Unordered: C blocks, for N environments and batches of B rows. Each environment in flight has
  // at most one row that is not received. Rows are claimed in order: until the oldest block is cut,
  // all of its B rows are claimed before any row after it. So at most N - B <= (C - 1) * B later
  // rows are claimed, and these lie in the C - 1 blocks after the oldest. No claim reaches a block
  // that is not offered yet, nor the one that is offered for a cut and withdrawn when the cut
  // fails. Ordered: one block is open while another is being received.
  return (num_envs - 1) / batch_size + 1 + (batch_size == num_envs);
}

int pp_ring_init(pp_ring *ring, const pp_layout *layout, int32_t num_envs, int32_t batch_size) {
  memset(ring, 0, sizeof(*ring));
  ring->layout = layout;
  ring->batch_size = batch_size;
  ring->is_ordered = batch_size == num_envs;
  ring->capacity = pp_ring_capacity(num_envs, batch_size);
  ring->num_slots = ring->capacity + !ring->is_ordered;
  ring->slots = aligned_alloc(64, sizeof(*ring->slots) * (size_t)ring->num_slots);
  if (!ring->slots) return PP_ERR_MEMORY;
  memset(ring->slots, 0, sizeof(*ring->slots) * (size_t)ring->num_slots);
  for (int32_t i = 0; i < ring->num_slots; i++) prepare(ring, &ring->slots[i], NULL);
  return PP_OK;
}

void pp_ring_fini(pp_ring *ring) {
  free(ring->slots);
  ring->slots = NULL;
}

pp_ring_slot *pp_ring_offer_locked(pp_ring *ring, void *memory) {
  pp_ring_slot *slot = &ring->slots[ring->offered++ % ring->num_slots];
  prepare(ring, slot, memory);
  return slot;
}

int32_t pp_ring_append_locked(pp_ring *ring, int32_t count) {
  int32_t place = (int32_t)(ring->filling % ring->num_slots) * ring->batch_size + ring->filled_rows;
  ring->filled_rows += count;
  return place;
}

void pp_ring_withdraw_locked(pp_ring *ring) {
  ring->offered--;
}

pp_ring_slot *pp_ring_at(const pp_ring *ring, int32_t place, int32_t *row) {
  int32_t index = place / ring->batch_size;
  *row = ring->slots[index].first_row + place - index * ring->batch_size;
  return &ring->slots[index];
}

void pp_ring_slot_set_target(pp_ring_slot *slot, int32_t rows) {
  atomic_store_explicit(&slot->target, rows, memory_order_seq_cst);
}

pp_ring_slot *pp_ring_close_locked(pp_ring *ring) {
  pp_ring_slot *slot = &ring->slots[ring->received % ring->num_slots];
  if (ring->is_ordered && ring->filling == ring->received && ring->filled_rows > 0) {
    pp_ring_slot_set_target(slot, ring->filled_rows);
    ring->filling++;
    ring->filled_rows = 0;
  }
  return slot;
}

void *pp_ring_held(const pp_ring *ring, int32_t i) {
  return ring->slots[(ring->received + i) % ring->num_slots].memory;
}

void pp_ring_remove_locked(pp_ring *ring) {
  ring->received++;
}

pp_ring_slot *pp_ring_take_locked(pp_ring *ring, void *fresh) {
  ring->received++;
  return pp_ring_offer_locked(ring, fresh);
}
