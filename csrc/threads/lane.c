/* Lane: an action queue, the environments it owns and the threads that serve it. */
#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "thread.h"

_Static_assert(_Alignof(pp_thread) == PP_EXCHANGED_BYTES, "threads share no line with the next");

int pp_lane_init(pp_lane *lane, const pp_stepper *stepper, int32_t first, int32_t end,
                 int32_t num_threads, bool is_helped) {
  size_t size;
  memset(lane, 0, sizeof(*lane));
  lane->stepper = stepper;
  lane->first_env = first;
  lane->end_env = end;
  pp_gate_init(&lane->gate, 0);
  lane->num_threads = num_threads;
  size = sizeof(*lane->workers) * (size_t)num_threads;
  lane->workers = aligned_alloc(PP_EXCHANGED_BYTES, size);
  if (!lane->workers) return PP_ERR_MEMORY;
  memset(lane->workers, 0, size);
  lane->num_workers = num_threads - is_helped;
  for (int32_t i = 0; i < num_threads; i++) {
    pp_thread *worker = &lane->workers[i];
    worker->lane = lane;
    worker->state.recorder = &worker->recorder;
    if (pp_step_thread_init(&worker->state, stepper->natives->fleet->num_players) < 0) {
      return PP_ERR_MEMORY;
    }
    // the first shard is the caller's, if it helps, and its stand-in's
    worker->state.home = i < lane->num_workers ? i + is_helped : 0;
  }
  if (pp_idset_init(&lane->named, first, end - first) < 0) return PP_ERR_MEMORY;
  return pp_queue_init(&lane->queue, first, end - first, num_threads);
}

int pp_lane_start(pp_lane *lane, int32_t count) {
  for (; lane->num_started < count; lane->num_started++) {
    pp_thread *worker = &lane->workers[lane->num_started];
    int status;
    // counted here, as the thread may take long to start and must be counted in the meantime
    pp_spin_awake(1);
    atomic_fetch_add_explicit(&lane->num_running, 1, memory_order_seq_cst);
    status = pp_os_thread_start(&worker->thread, pp_thread_run, worker, "pp-worker");
    if (status < 0) {
      pp_spin_awake(-1);
      atomic_fetch_sub_explicit(&lane->num_running, 1, memory_order_seq_cst);
      return status;
    }
  }
  return PP_OK;
}

void pp_lane_stop(pp_lane *lane) {
  if (atomic_exchange_explicit(&lane->is_closing, true, memory_order_seq_cst)) return;
  pp_gate_wake(&lane->gate, INT32_MAX);
}

void pp_lane_leave(pp_lane *lane) {
  atomic_fetch_sub_explicit(&lane->num_running, 1, memory_order_seq_cst);
  pp_gate_wake(&lane->gate, INT32_MAX);
}

bool pp_lane_has_ended(const pp_lane *lane) {
  return !atomic_load_explicit(&lane->num_running, memory_order_seq_cst);
}

bool pp_lane_wait(pp_lane *lane, int64_t end) {
  while (!pp_lane_has_ended(lane)) {
    int64_t left = end == INT64_MAX ? -1 : end - pp_os_now();
    uint32_t epoch;
    if (left <= 0 && end != INT64_MAX) return false;
    epoch = pp_gate_enter(&lane->gate);
    if (!pp_lane_has_ended(lane)) pp_gate_sleep(&lane->gate, epoch, left);
    pp_gate_leave(&lane->gate);
  }
  return true;
}

void pp_lane_join(pp_lane *lane) {
  while (lane->num_started > 0) pthread_join(lane->workers[--lane->num_started].thread, NULL);
}

void pp_lane_fini(pp_lane *lane) {
  for (int32_t i = 0; lane->workers && i < lane->num_threads; i++) {
    pp_step_thread_fini(&lane->workers[i].state);
  }
  free(lane->workers);
  lane->workers = NULL;
  pp_idset_fini(&lane->named);
  pp_queue_fini(&lane->queue);
}

int32_t pp_lane_step(pp_lane *lane, pp_step_thread *self, int32_t count, int64_t deadline) {
  int32_t stepped = pp_stepper_run(lane->stepper, self, count, deadline), total = 0;
  if (!self->is_cut) return stepped;
  for (int32_t i = 0; i < count; i++) total += PP_ENTRY_LENGTH(self->entries[i]);
  if (stepped == total) return stepped;
  pp_leftover_put(self->leftover, self->entries, count, stepped);
  pp_queue_announce(&lane->queue);
  pp_gate_wake(&lane->gate, total - stepped);
  return stepped;
}

/* takes one environment of another thread's leftover; returns the number of entries */
static int32_t take_leftover(pp_lane *lane, pp_entry *out) {
  for (int32_t i = 0; i < lane->num_threads; i++) {
    if (pp_leftover_take(lane->workers[i].state.leftover, out)) return 1;
  }
  return 0;
}

/* Takes a chunk, and returns its number of entries. The thread's own leftover comes first, as it
 * must be empty before the next chunk can become one. The caller's leftover comes before the queue:
 * the caller may be away for long, and the queue may never become empty. */
static int32_t take(pp_lane *lane, pp_step_thread *self, int32_t max_envs) {
  int32_t count;
  if (pp_leftover_take(self->leftover, self->entries)) return 1;
  if (lane->caller && pp_leftover_take(lane->caller->leftover, self->entries)) return 1;
  count = pp_queue_take(&lane->queue, self->home, &lane->cost, max_envs, self->entries);
  return count ? count : take_leftover(lane, self->entries);
}

/* returns the kind of the span (pp_span_kind) that shows a chunk in a trace */
static int32_t kind_of(const pp_lane *lane, pp_entry first, int32_t count) {
  const pp_fleet *fleet = lane->stepper->natives->fleet;
  int32_t env_id = PP_ENTRY_ENV(first);
  return count == 1 && PP_ENTRY_LENGTH(first) == 1 &&
                 (fleet->command[env_id] != PP_COMMAND_STEP || fleet->phase[env_id] != PP_RUNNING)
             ? PP_SPAN_RESET
             : PP_SPAN_WORK;
}

int32_t pp_lane_work(pp_lane *lane, pp_step_thread *self, int32_t max_envs) {
  int32_t taken = take(lane, self, max_envs), count, kind = -1;
  int64_t start, chunks = atomic_load_explicit(&self->chunks, memory_order_relaxed);

  if (!taken) return 0;
  if (pp_recorder_begin(self->recorder)) kind = kind_of(lane, self->entries[0], taken);
  // reading the clock is expensive: once for each chunk
  start = self->ended ? self->ended : pp_os_now();
  count = pp_lane_step(lane, self, taken, start + PP_CHUNK_CUT_NS);
  self->ended = pp_os_now();
  if (kind >= 0) {
    pp_span span = {start, self->ended, kind, PP_ENTRY_ENV(self->entries[0]), count, 0};
    pp_recorder_work(self->recorder, &span);
  }
  pp_cost_learn(&lane->cost, self->ended - start, count, chunks);
  // there is one writer, so the addition need not be atomic
  atomic_store_explicit(&self->chunks, chunks + 1, memory_order_relaxed);
  return count;
}

void pp_lane_wake(pp_lane *lane, int32_t queued, int32_t spare) {
  int64_t wanted = pp_cost_threads(&lane->cost, queued) - spare;
  if (wanted > lane->num_threads) wanted = lane->num_threads;
  if (wanted > 0) pp_gate_wake(&lane->gate, (int32_t)wanted);
}
