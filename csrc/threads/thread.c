/* Worker: the life of a thread that serves one lane. */
#include "lane.h"
#include "os/os.h"

/* pushes: how many there were before the queue was found empty */
static int has_reason_to_wake(pp_lane *lane, uint64_t pushes) {
  return pp_queue_pushes(&lane->queue) != pushes ||
         atomic_load_explicit(&lane->is_closing, memory_order_seq_cst);
}

/* 1: work came while spinning */
static int spin(pp_lane *lane, uint64_t pushes) {
  int64_t end = pp_os_now() + PP_SPIN_NS;
  while (pp_spin_allowed(lane->cores)) {
    for (int32_t i = 0; i < 32; i++) {
      if (has_reason_to_wake(lane, pushes)) return 1;
      pp_os_relax();
    }
    if (pp_os_now() >= end) break;
  }
  return 0;
}

static void wait_for_work(pp_lane *lane, uint64_t pushes) {
  uint32_t epoch;
  if (spin(lane, pushes)) return;
  pp_spin_awake(-1);
  epoch = pp_gate_enter(&lane->gate);
  if (!has_reason_to_wake(lane, pushes)) pp_gate_sleep(&lane->gate, epoch, -1);
  pp_gate_leave(&lane->gate);
  pp_spin_awake(1);
}

void *pp_thread_run(void *argument) {
  pp_thread *worker = argument;
  pp_lane *lane = worker->lane;

  if (worker->cpus && pp_os_thread_bind(worker->cpus, worker->num_cpus) < 0) {
    atomic_store_explicit(&worker->was_refused, 1, memory_order_relaxed);
  }
  while (!atomic_load_explicit(&lane->is_closing, memory_order_relaxed)) {
    uint64_t pushes = pp_queue_pushes(&lane->queue);
    if (pp_lane_work(lane, &worker->scratch, PP_GRAIN_ROWS)) continue;
    worker->scratch.ended = 0;
    wait_for_work(lane, pushes);
  }
  pp_spin_awake(-1);
  return NULL;
}
