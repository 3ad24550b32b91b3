/* Worker wait: how a worker process waits for its next turns. It spins as long as that takes no
 * core from another thread, then sleeps. */
#include "worker_wait.h"

#include "mailbox.h"
#include "os/os.h"
#include "os/topology.h"

/* after this many waits in a row longer than a spin, a worker spins only on a spare core */
enum { MAX_LONG_WAITS = 2 };

/* Returns how many cores are left if each awake worker and the caller have one; -2 if two or more
 * are missing. It does not look at all of many workers, each of which has a cache line. */
static int32_t spare_cores(const pp_board *board) {
  int32_t cores = board->shape.cores;
  return cores - pp_board_num_awake(board, cores + 1) - 1;
}

/* Returns whether this is the core from which the caller sent. When the caller is woken, the system
 * continues it there. */
static bool is_callers_core(const pp_board *board) {
  return pp_os_current_cpu() == atomic_load_explicit(&board->head->sent_from, memory_order_relaxed);
}

/* Returns whether another worker has turns that it has not yet taken: the system may have put it on
 * this core. */
static bool others_have_turns(const pp_board *board, int32_t lane) {
  for (int32_t other = 0; other < board->shape.num_lanes; other++) {
    if (other != lane && pp_mailbox_has_turns(&board->mailboxes[other])) return true;
  }
  return false;
}

typedef struct waiter {
  const pp_wait_history *history;
  const pp_board *board;
  int32_t lane;
} waiter;

/* Returns whether a spin takes no core from another thread. If there is a spare core, the system
 * can wake the caller there. If there is none, every awake worker must have a core, and another
 * worker must give up the caller's. */
static bool may_spin(void *context) {
  const waiter *it = context;
  int32_t spare = spare_cores(it->board);
  if (spare <= 0 &&
      (spare < -1 || it->history->long_waits >= MAX_LONG_WAITS || is_callers_core(it->board))) {
    return false;
  }
  if (others_have_turns(it->board, it->lane)) pp_os_yield();
  return true;
}

static bool has_work(void *context) {
  const waiter *it = context;
  return pp_mailbox_has_any(&it->board->mailboxes[it->lane]);
}

/* Moves this worker off a core that it shares with another one. The system wakes workers where they
 * slept, so two workers that once shared a core would stay there and run one after the other, while
 * other cores are idle. The one with the higher lane leaves. */
static void spread_out(const pp_board *board, int32_t own) {
  const pp_board_shape *shape = &board->shape;
  int32_t here = pp_os_current_cpu(), cpus[PP_MAX_CPUS], count = 0;
  bool must_leave = false;

  if (shape->num_lanes > shape->cores || shape->num_lanes > PP_MAX_CPUS) return;
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    int32_t cpu = atomic_load_explicit(&board->mailboxes[lane].cpu, memory_order_relaxed);
    if (lane == own) continue;
    cpus[count++] = cpu;
    must_leave |= cpu == here && lane < own;
  }
  if (must_leave) pp_os_thread_avoid(cpus, count);
}

/* Sleeps until there is work. If the caller sleeps because no core was left for it, and this worker
 * gives up the core on which the caller would continue, it wakes the caller. The caller then spins
 * there until the other workers are done, so that the last of them need not wake it. */
static void sleep_until_work(pp_board *board, int32_t lane, int64_t timeout) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  uint32_t epoch;
  atomic_store_explicit(&mailbox->is_awake, 0, memory_order_relaxed);
  if (spare_cores(board) == 0 && pp_board_num_awake(board, 1) > 0 && is_callers_core(board)) {
    pp_board_wake_caller(board);
  }
  atomic_store_explicit(&mailbox->cpu, pp_os_current_cpu(), memory_order_relaxed);
  epoch = pp_gate_enter(&mailbox->gate);
  PP_TEST_DIE(asleep);
  if (!pp_mailbox_has_any(mailbox)) pp_gate_sleep(&mailbox->gate, epoch, timeout);
  pp_gate_leave(&mailbox->gate);
  spread_out(board, lane);
  atomic_store_explicit(&mailbox->is_awake, 1, memory_order_relaxed);
}

void pp_worker_wait(pp_wait_history *history, pp_board *board, int32_t lane, int64_t timeout) {
  const pp_mailbox *mailbox = &board->mailboxes[lane];
  waiter it = {history, board, lane};
  int64_t start;
  uint64_t sent;

  if (pp_mailbox_has_any(mailbox)) return;
  start = pp_os_now();
  if (!pp_spin(may_spin, has_work, &it, start + (timeout < PP_SPIN_NS ? timeout : PP_SPIN_NS))) {
    sleep_until_work(board, lane, timeout);
  }
  if (!pp_mailbox_has_turns(mailbox)) return;
  sent = (uint64_t)atomic_load_explicit(&board->head->sent_at, memory_order_relaxed);
  // unsigned, as the difference of overwritten times may overflow
  if ((int64_t)(sent - (uint64_t)start) <= PP_SPIN_NS) {
    history->long_waits = 0;
  } else if (history->long_waits < MAX_LONG_WAITS) {
    history->long_waits++;
  }
}
