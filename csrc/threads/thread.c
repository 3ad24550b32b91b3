/* Thread: a worker thread, which serves one lane. */
#include "thread.h"

#include "os/os.h"

/* what the callbacks of pp_spin need */
typedef struct waiter {
  pp_lane *lane;
  uint64_t pushes; /* pushes of the queue, read before it was seen to be empty */
} waiter;

static bool has_reason_to_wake(void *context) {
  const waiter *it = context;
  return pp_queue_pushes(&it->lane->queue) != it->pushes ||
         atomic_load_explicit(&it->lane->is_closing, memory_order_seq_cst);
}

static bool may_spin(void *context) {
  pp_lane *lane = ((const waiter *)context)->lane;
  return pp_spin_allowed(atomic_load_explicit(&lane->spin_cores, memory_order_relaxed));
}

static void wait_for_work(pp_lane *lane, uint64_t pushes) {
  waiter it = {lane, pushes};
  uint32_t epoch;
  if (pp_spin(may_spin, has_reason_to_wake, &it, pp_os_now() + PP_SPIN_NS)) return;
  pp_spin_awake(-1);
  epoch = pp_gate_enter(&lane->gate);
  if (!has_reason_to_wake(&it)) pp_gate_sleep(&lane->gate, epoch, -1);
  pp_gate_leave(&lane->gate);
  pp_spin_awake(1);
}

void *pp_thread_run(void *argument) {
  pp_thread *thread = argument;
  pp_lane *lane = thread->lane;

  if (thread->cpus && pp_os_thread_bind(thread->cpus, thread->num_cpus) < 0) {
    atomic_store_explicit(&thread->was_refused, 1, memory_order_relaxed);
  }
  while (!atomic_load_explicit(&lane->is_closing, memory_order_relaxed)) {
    uint64_t pushes = pp_queue_pushes(&lane->queue);
    if (pp_lane_work(lane, &thread->state, PP_MAX_CHUNK)) continue;
    thread->state.ended = 0;
    pp_recorder_flush(&thread->recorder);
    wait_for_work(lane, pushes);
  }
  pp_recorder_flush(&thread->recorder);
  pp_spin_awake(-1);
  pp_lane_leave(lane);
  return NULL;
}
