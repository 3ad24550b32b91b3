/* Idle: large objects that threads use one at a time and then leave for the next. */
#include "base/idle.h"

#include <stddef.h>

/* The slot where this thread looks first; 0: not chosen yet. */
static _Thread_local unsigned own_slot;
/* Every thread adds 1, once. Relaxed: the numbers must only be different. */
static _Atomic unsigned threads_seen;

static unsigned first_slot(void) {
  if (!own_slot) own_slot = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed) + 1;
  return own_slot;
}

void *pp_idle_take(pp_idle *all) {
  unsigned first = first_slot();
  for (unsigned i = 0; i < PP_IDLE_SLOTS; i++) {
    pp_idle_slot *slot = &all->slots[(first + i) % PP_IDLE_SLOTS];
    // An exchange would take the cache line from other threads, so empty slots are skipped by a
    // load. Relaxed: the exchange decides.
    if (!atomic_load_explicit(&slot->object, memory_order_relaxed)) continue;
    void *found = atomic_exchange_explicit(&slot->object, NULL, memory_order_acquire);
    if (found) return found;
  }
  return NULL;
}

bool pp_idle_put_back(pp_idle *all, void *object) {
  unsigned first = first_slot();
  for (unsigned i = 0; i < PP_IDLE_SLOTS; i++) {
    pp_idle_slot *slot = &all->slots[(first + i) % PP_IDLE_SLOTS];
    void *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&slot->object, &none, object, memory_order_release,
                                                memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}
