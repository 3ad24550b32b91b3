/* Mailbox: how the parent gives turns to a worker process, and learns whether it has any left. */
#include "mailbox.h"

#include "os/os.h"

/* ---------------------------------------------------------------------------------- parent -- */

void pp_board_note_send(pp_board *board) {
  pp_board_head *head = board->head;
  atomic_store_explicit(&head->sent_at, pp_os_now(), memory_order_relaxed);
  atomic_store_explicit(&head->sent_from, pp_os_current_cpu(), memory_order_relaxed);
}

void pp_board_push(pp_board *board, int32_t lane, const pp_entry *entries, int32_t count) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  uint64_t mailbox_size = board->mailbox_size;
  _Atomic uint64_t *to = board->entries + (uint64_t)lane * mailbox_size;
  uint64_t tail = atomic_load_explicit(&mailbox->tail, memory_order_relaxed);

  for (int32_t i = 0; i < count; i++) {
    pp_board_env *env = &board->envs[PP_ENTRY_ENV(entries[i])];
    env->place = PP_ENTRY_PLACE(entries[i]);
    env->reply.size = 0;
    // relaxed, as tail publishes both
    atomic_store_explicit(&env->state, PP_ENV_QUEUED, memory_order_relaxed);
    atomic_store_explicit(&to[(tail + (uint64_t)i) & (mailbox_size - 1)], entries[i],
                          memory_order_relaxed);
  }
  atomic_store_explicit(&mailbox->is_awake, 1, memory_order_relaxed);
  atomic_store_explicit(&mailbox->tail, tail + (uint64_t)count, memory_order_seq_cst);
}

void pp_board_wake(pp_board *board, int32_t lane) {
  pp_gate_wake(&board->mailboxes[lane].gate, 1);
}

void pp_board_probe(pp_board *board, int32_t lane, uint32_t probe, bool is_new) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  if (is_new) atomic_store_explicit(&mailbox->probe, probe, memory_order_seq_cst);
  // release, as in every wake
  atomic_fetch_add_explicit(&mailbox->gate.epoch, 1, memory_order_release);
  pp_os_wake_shared(&mailbox->gate.epoch, 1);
}

bool pp_board_is_idle(const pp_board *board, int32_t lane, uint32_t probe) {
  return atomic_load_explicit(&board->mailboxes[lane].answered_probe, memory_order_acquire) ==
         probe;
}

int32_t pp_board_num_awake(const pp_board *board, int32_t limit) {
  int32_t awake = 0;
  for (int32_t lane = 0; lane < board->shape.num_lanes && awake < limit; lane++) {
    awake += atomic_load_explicit(&board->mailboxes[lane].is_awake, memory_order_relaxed) != 0;
  }
  return awake;
}

/* ---------------------------------------------------------------------------------- worker -- */

bool pp_mailbox_has_turns(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->tail, memory_order_seq_cst) !=
         atomic_load_explicit(&mailbox->head, memory_order_relaxed);
}

bool pp_mailbox_has_request(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->request, memory_order_seq_cst) !=
         atomic_load_explicit(&mailbox->answered, memory_order_relaxed);
}

bool pp_mailbox_is_closing(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->is_closing, memory_order_seq_cst);
}

bool pp_mailbox_has_any(const pp_mailbox *mailbox) {
  return pp_mailbox_has_turns(mailbox) || pp_mailbox_is_closing(mailbox) ||
         pp_mailbox_has_request(mailbox);
}

void pp_mailbox_answer_probe(pp_mailbox *mailbox, uint32_t probe) {
  if (atomic_load_explicit(&mailbox->answered_probe, memory_order_relaxed) == probe) return;
  // release: publishes the rows counted before
  atomic_store_explicit(&mailbox->answered_probe, probe, memory_order_release);
}

int32_t pp_board_take(pp_board *board, int32_t lane, pp_entry *entries, int32_t room) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  // read before tail, so that the answer covers all that was sent before the probe
  uint32_t probe = atomic_load_explicit(&mailbox->probe, memory_order_seq_cst);
  uint64_t mailbox_size = board->mailbox_size;
  const _Atomic uint64_t *from = board->entries + (uint64_t)lane * mailbox_size;
  uint64_t head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
  // sequentially consistent: this is also the last check before the worker sleeps
  uint64_t tail = atomic_load_explicit(&mailbox->tail, memory_order_seq_cst);
  int32_t count = tail - head < (uint64_t)room ? (int32_t)(tail - head) : room;

  for (int32_t i = 0; i < count; i++) {
    // both relaxed: tail has published the entry, and PP_ENV_RUNNING is read only after a death
    entries[i] = atomic_load_explicit(&from[(head + (uint64_t)i) & (mailbox_size - 1)],
                                      memory_order_relaxed);
    atomic_store_explicit(&board->envs[PP_ENTRY_ENV(entries[i])].state, PP_ENV_RUNNING,
                          memory_order_relaxed);
    PP_TEST_DIE(running);
  }
  if (!count && !pp_mailbox_has_request(mailbox)) pp_mailbox_answer_probe(mailbox, probe);
  atomic_store_explicit(&mailbox->head, head + (uint64_t)count, memory_order_release);
  PP_TEST_DIE(taken);
  return count;
}
