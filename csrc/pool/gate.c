/* Gate: an eventcount. Threads and worker processes wait at it: they spin briefly, then sleep. */
#include "gate.h"

#include <pthread.h>

#include "os/os.h"

/* an atomic with a lock excludes only threads of its own process */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "gates can't be shared");

/* Written by workers as they sleep and wake, read by threads that want to spin. Relaxed: a stale
 * count costs some microseconds of spinning, and nothing else depends on it. */
static _Atomic int32_t awake_workers;
static pthread_once_t reset_once = PTHREAD_ONCE_INIT;

/* a forked child has none of its parent's workers */
static void reset_workers(void) {
  atomic_store_explicit(&awake_workers, 0, memory_order_relaxed);
}

/* a failure is ignored: a child then spins less than it might */
static void register_reset(void) {
  pthread_atfork(NULL, NULL, reset_workers);
}

void pp_gate_init(pp_gate *gate, bool is_shared) {
  atomic_init(&gate->epoch, 0);
  atomic_init(&gate->sleepers, 0);
  atomic_init(&gate->waits, 0);
  atomic_init(&gate->wakes, 0);
  gate->is_shared = is_shared;
}

uint32_t pp_gate_enter(pp_gate *gate) {
  uint32_t epoch = atomic_load_explicit(&gate->epoch, memory_order_acquire);
  atomic_fetch_add_explicit(&gate->sleepers, 1, memory_order_seq_cst);
  return epoch;
}

void pp_gate_sleep(pp_gate *gate, uint32_t epoch, int64_t timeout) {
  atomic_fetch_add_explicit(&gate->waits, 1, memory_order_relaxed);
  if (gate->is_shared) {
    pp_os_wait_shared(&gate->epoch, epoch, timeout);
  } else {
    pp_os_wait(&gate->epoch, epoch, timeout);
  }
}

void pp_gate_leave(pp_gate *gate) {
  atomic_fetch_sub_explicit(&gate->sleepers, 1, memory_order_relaxed);
}

void pp_gate_forget(pp_gate *gate, int32_t count) {
  atomic_fetch_sub_explicit(&gate->sleepers, count, memory_order_relaxed);
}

void pp_gate_wake(pp_gate *gate, int32_t count) {
  if (atomic_load_explicit(&gate->sleepers, memory_order_seq_cst) <= 0) return;
  atomic_fetch_add_explicit(&gate->epoch, 1, memory_order_release);
  atomic_fetch_add_explicit(&gate->wakes, 1, memory_order_relaxed);
  if (gate->is_shared) {
    pp_os_wake_shared(&gate->epoch, count);
  } else {
    pp_os_wake(&gate->epoch, count);
  }
}

bool pp_spin(bool (*may_spin)(void *), bool (*is_done)(void *), void *context, int64_t end) {
  while (may_spin(context)) {
    for (int32_t i = 0; i < 32; i++) {
      if (is_done(context)) return true;
      pp_os_relax();
    }
    if (pp_os_now() >= end) break;
  }
  return false;
}

void pp_spin_awake(int32_t change) {
  pthread_once(&reset_once, register_reset);
  atomic_fetch_add_explicit(&awake_workers, change, memory_order_relaxed);
}

bool pp_spin_allowed(int32_t cores) {
  return atomic_load_explicit(&awake_workers, memory_order_relaxed) + 1 <= cores;
}
