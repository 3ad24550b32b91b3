/* Leftover: the unstepped part of a chunk that takes far longer than expected. Any thread may take
 * environments from it. */
#include "leftover.h"

enum { BITS = 20, MASK = (1 << BITS) - 1 };

/* environments taken so far */
static int32_t taken_of(uint64_t state) {
  return (int32_t)(state & MASK);
}

/* environments in all */
static int32_t total_of(uint64_t state) {
  return (int32_t)(state >> BITS & MASK);
}

void pp_leftover_put(pp_leftover *leftover, const pp_entry *entries, int32_t count, int32_t done) {
  uint64_t round = atomic_load_explicit(&leftover->state, memory_order_relaxed) >> 2 * BITS;
  uint64_t total = 0;
  for (int32_t i = 0; i < count; i++) {
    atomic_store_explicit(&leftover->entries[i], entries[i], memory_order_relaxed);
    total += (uint64_t)PP_ENTRY_LENGTH(entries[i]);
  }
  atomic_store_explicit(&leftover->state, (round + 1) << 2 * BITS | total << BITS | (uint64_t)done,
                        memory_order_release);
}

/* returns an entry for one environment, the one at this index among those of all entries */
static pp_entry find(const pp_leftover *leftover, int32_t at) {
  for (int32_t i = 0; i < PP_MAX_CHUNK; i++) {
    pp_entry entry = atomic_load_explicit(&leftover->entries[i], memory_order_relaxed);
    int32_t length = PP_ENTRY_LENGTH(entry);
    if (at < length) return PP_ENTRY(PP_ENTRY_PLACE(entry) + at, PP_ENTRY_ENV(entry) + at, 1);
    at -= length;
  }
  // reached only if the leftover is being replaced
  return 0;
}

bool pp_leftover_take(pp_leftover *leftover, pp_entry *out) {
  // acquire: makes visible what the owner wrote before it opened the leftover
  uint64_t state = atomic_load_explicit(&leftover->state, memory_order_acquire);
  do {
    if (taken_of(state) >= total_of(state)) return false;
    *out = find(leftover, taken_of(state));
  } while (!atomic_compare_exchange_weak_explicit(&leftover->state, &state, state + 1,
                                                  memory_order_acq_rel, memory_order_acquire));
  return true;
}
