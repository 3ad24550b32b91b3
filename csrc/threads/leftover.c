/* Rest: what is left of a chunk that takes far longer than expected; any thread may take of it. */
#include "leftover.h"

enum { BITS = 20, MASK = (1 << BITS) - 1 };

static int32_t next_of(uint64_t state) {
  return (int32_t)(state & MASK);
}

static int32_t total_of(uint64_t state) {
  return (int32_t)(state >> BITS & MASK);
}

void pp_leftover_open(pp_leftover *rest, const pp_entry *entries, int32_t count, int32_t done) {
  uint64_t round = atomic_load_explicit(&rest->state, memory_order_relaxed) >> 2 * BITS, total = 0;
  for (int32_t i = 0; i < count; i++) {
    atomic_store_explicit(&rest->entries[i], entries[i], memory_order_relaxed);
    total += (uint64_t)PP_ENTRY_LENGTH(entries[i]);
  }
  atomic_store_explicit(&rest->state, (round + 1) << 2 * BITS | total << BITS | (uint64_t)done,
                        memory_order_release);
}

/* the environment at a place among those of the entries */
static pp_entry find(const pp_leftover *rest, int32_t at) {
  for (int32_t i = 0; i < PP_GRAIN_ROWS; i++) {
    pp_entry entry = atomic_load_explicit(&rest->entries[i], memory_order_relaxed);
    int32_t length = PP_ENTRY_LENGTH(entry);
    if (at < length) return PP_ENTRY(PP_ENTRY_PLACE(entry) + at, PP_ENTRY_ENV(entry) + at, 1);
    at -= length;
  }
  // only in a rest that is being replaced
  return 0;
}

int pp_leftover_take(pp_leftover *rest, pp_entry *out) {
  // acquire: what the owner wrote before it opened the rest
  uint64_t state = atomic_load_explicit(&rest->state, memory_order_acquire);
  do {
    if (next_of(state) >= total_of(state)) return 0;
    *out = find(rest, next_of(state));
  } while (!atomic_compare_exchange_weak_explicit(&rest->state, &state, state + 1,
                                                  memory_order_acq_rel, memory_order_acquire));
  return 1;
}
