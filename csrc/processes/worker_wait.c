/* Worker wait: how a worker process waits for turns and requests. It spins as long as that takes no
 * core from another thread, then sleeps. */
#include "worker_wait.h"

#include "os/os.h"
#include "os/topology.h"

/* so many waits in a row that were longer than a spin, and the next one is taken to be, too */
enum { MOST_LONG_WAITS = 2 };

/* cores that are left when all awake workers and the caller have theirs */
static int32_t spare_cores(const pp_board *board) {
  return board->shape.cores - pp_board_awake(board) - 1;
}

/* 1: this is the core that the caller sent from, where the system lets it go on once it is woken */
static int is_callers_core(const pp_board *board) {
  return pp_os_current_cpu() == atomic_load_explicit(&board->head->sent_from, memory_order_relaxed);
}

/* 1: another worker has not yet begun what it was sent; perhaps the system has put it on this core
 */
static int is_awaited(const pp_board *board, int32_t lane) {
  for (int32_t other = 0; other < board->shape.num_lanes; other++) {
    if (other != lane && pp_mailbox_has_turns(&board->mailboxes[other])) return 1;
  }
  return 0;
}

typedef struct waiter {
  const pp_wait_history *history;
  const pp_board *board;
  int32_t lane;
} waiter;

/* Whether a spin takes no core from another thread. Either a core is free, even if the system wakes
 * the caller on any of them; or all others that are awake have a core, and another worker makes
 * room for the caller. */
static bool may_spin(void *context) {
  const waiter *it = context;
  int32_t spare = spare_cores(it->board);
  if (spare <= 0 &&
      (spare < -1 || it->history->long_waits >= MOST_LONG_WAITS || is_callers_core(it->board))) {
    return false;
  }
  if (is_awaited(it->board, it->lane)) pp_os_yield();
  return true;
}

static bool has_reason(void *context) {
  const waiter *it = context;
  return pp_mailbox_has_any(&it->board->mailboxes[it->lane]);
}

/* The system wakes workers where they slept. Two that once met on a core would stay there, one
 * after the other, while others are idle: whoever finds a worker before it on its core leaves. */
static void spread_out(const pp_board *board, int32_t own) {
  const pp_board_shape *shape = &board->shape;
  int32_t here = pp_os_current_cpu(), is_met = 0, taken[PP_MAX_CPUS], count = 0;

  if (shape->num_lanes > shape->cores || shape->num_lanes > PP_MAX_CPUS) return;
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    int32_t cpu = atomic_load_explicit(&board->mailboxes[lane].cpu, memory_order_relaxed);
    if (lane == own) continue;
    taken[count++] = cpu;
    is_met |= cpu == here && lane < own;
  }
  if (is_met) pp_os_thread_avoid(taken, count);
}

/* Sleeps until there is a reason. Whoever gives up the core that the caller was short of wakes it,
 * if this is where it would go on: it spins there until the others are done, instead of being woken
 * by the last of them. */
static void sleep_for_reason(pp_board *board, int32_t lane, int64_t timeout) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  uint32_t epoch;
  atomic_store_explicit(&mailbox->is_awake, 0, memory_order_relaxed);
  if (spare_cores(board) == 0 && pp_board_awake(board) > 0 && is_callers_core(board)) {
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
  if (!pp_spin(may_spin, has_reason, &it, start + (timeout < PP_SPIN_NS ? timeout : PP_SPIN_NS))) {
    sleep_for_reason(board, lane, timeout);
  }
  if (!pp_mailbox_has_turns(mailbox)) return;
  sent = (uint64_t)atomic_load_explicit(&board->head->sent_at, memory_order_relaxed);
  // unsigned: nobody knows what may stand there
  if ((int64_t)(sent - (uint64_t)start) <= PP_SPIN_NS) {
    history->long_waits = 0;
  } else if (history->long_waits < MOST_LONG_WAITS) {
    history->long_waits++;
  }
}
