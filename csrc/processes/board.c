/* Board: the tables that a pool and its worker processes share, in memory that all of them map. */
#include "board.h"

#include <stddef.h>
#include <string.h>

#include "os/os.h"
#include "reply_heap.h"

enum { LINE = 64 }; /* bytes of a cache line */

/* Raised by hand when the meaning of the tables changes, but not their layout. */
enum { PROTOCOL = 3 };

/* all that determines the layout of the tables: a worker and its parent must agree on it */
static const int64_t layout_facts[] = {PROTOCOL,
                                       PP_REPLY_HEAP_RESERVE,
                                       PP_ENV_ABI,
                                       sizeof(pp_board_head),
                                       offsetof(pp_board_head, shape),
                                       offsetof(pp_board_head, layout),
                                       offsetof(pp_board_head, caller),
                                       offsetof(pp_board_head, first_free),
                                       sizeof(pp_board_shape),
                                       offsetof(pp_board_shape, action_bytes),
                                       offsetof(pp_board_shape, reply_reserve),
                                       sizeof(pp_layout),
                                       offsetof(pp_layout, size),
                                       sizeof(pp_column),
                                       offsetof(pp_column, offset),
                                       sizeof(pp_gate),
                                       sizeof(pp_message),
                                       sizeof(pp_board_env),
                                       offsetof(pp_board_env, saved_copy),
                                       offsetof(pp_board_env, payload),
                                       offsetof(pp_board_env, reply),
                                       sizeof(pp_mailbox),
                                       offsetof(pp_mailbox, tail),
                                       offsetof(pp_mailbox, request),
                                       offsetof(pp_mailbox, reply),
                                       offsetof(pp_mailbox, current_env),
                                       offsetof(pp_mailbox, probe),
                                       sizeof(pp_slot),
                                       PP_ENTRY(1, 2, 3)};

/* the FNV-1a hash of layout_facts */
static uint64_t magic(void) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < sizeof(layout_facts) / sizeof(*layout_facts); i++) {
    sum = (sum ^ (uint64_t)layout_facts[i]) * 0x100000001b3;
  }
  return sum;
}

/* -------------------------------------------------------------------------------- tables -- */

typedef struct table_offsets {
  int64_t mailboxes, entries, envs, slots, rows_done, rows, actions, saved, size;
} table_offsets;

/* appends a table of so many bytes and returns its offset */
static int64_t append(int64_t *end, int64_t bytes) {
  int64_t at = *end;
  *end = (at + bytes + LINE - 1) / LINE * LINE;
  return at;
}

static int64_t field_bytes(const pp_layout *layout) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < layout->num_fields; i++) bytes += layout->columns[i].row_bytes;
  return bytes;
}

/* Returns the entries of a mailbox. An environment is queued at most once, and no lane has more
 * environments than this quotient, rounded up. */
static uint64_t mailbox_size_of(const pp_board_shape *shape) {
  uint64_t mailbox_size = 16, most = (uint64_t)((shape->num_envs - 1) / shape->num_lanes + 1);
  while (mailbox_size < most) mailbox_size *= 2;
  return mailbox_size;
}

static table_offsets compute_offsets(const pp_board_shape *shape, const pp_layout *layout) {
  int64_t lanes = shape->num_lanes, envs = shape->num_envs, end = 0;
  int64_t rows = shape->is_ordered ? 0 : (int64_t)shape->capacity * shape->batch_size;
  int64_t saved_bytes = shape->saves_rows ? field_bytes(layout) : 0;
  table_offsets t;

  append(&end, (int64_t)sizeof(pp_board_head));
  t.mailboxes = append(&end, lanes * (int64_t)sizeof(pp_mailbox));
  t.entries = append(&end, lanes * (int64_t)(mailbox_size_of(shape) * sizeof(uint64_t)));
  t.envs = append(&end, envs * (int64_t)sizeof(pp_board_env));
  t.slots = append(&end, shape->capacity * (int64_t)sizeof(pp_slot));
  t.rows_done = append(&end, shape->capacity * lanes * (int64_t)sizeof(int32_t));
  t.rows = append(&end, rows * (int64_t)sizeof(uint64_t));
  t.actions = append(&end, envs * shape->action_bytes);
  t.saved = append(&end, envs * 2 * saved_bytes);
  t.size = end;
  return t;
}

static void set_pointers(pp_board *board, char *base, const pp_board_shape *shape,
                         const pp_layout *layout) {
  table_offsets t = compute_offsets(shape, layout);
  board->shape = *shape;
  board->layout = *layout;
  board->mailbox_size = mailbox_size_of(shape);
  board->saved_bytes = shape->saves_rows ? field_bytes(layout) : 0;
  board->base = base;
  board->head = (pp_board_head *)base;
  board->mailboxes = (pp_mailbox *)(base + t.mailboxes);
  board->entries = (_Atomic uint64_t *)(base + t.entries);
  board->envs = (pp_board_env *)(base + t.envs);
  board->slots = (pp_slot *)(base + t.slots);
  board->rows_done = (_Atomic int32_t *)(base + t.rows_done);
  board->rows = (_Atomic uint64_t *)(base + t.rows);
  board->actions = base + t.actions;
  board->saved = base + t.saved;
}

int64_t pp_board_size(const pp_board_shape *shape, const pp_layout *layout) {
  return compute_offsets(shape, layout).size;
}

void pp_board_init(pp_board *board, void *base, const pp_board_shape *shape,
                   const pp_layout *layout) {
  set_pointers(board, base, shape, layout);
  board->head->size = pp_board_size(shape, layout);
  board->head->shape = *shape;
  board->head->layout = *layout;
  pp_gate_init(&board->head->caller, 1);
  atomic_init(&board->head->first_free, 0);
  atomic_init(&board->head->sent_at, 0);
  atomic_init(&board->head->sent_from, -1);
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    pp_gate_init(&board->mailboxes[lane].gate, 1);
    atomic_init(&board->mailboxes[lane].current_env, -1);
    atomic_init(&board->mailboxes[lane].cpu, -1);
  }
  // last, so that a worker that sees it sees all the rest
  board->head->magic = magic();
}

int pp_board_attach(pp_board *board, void *base, int64_t bytes) {
  const pp_board_head *head = base;
  pp_board_shape shape;
  pp_layout layout;
  if (bytes < (int64_t)sizeof(*head) || head->magic != magic()) return PP_ERR_ABI;
  shape = head->shape;
  layout = head->layout;
  if (shape.num_lanes < 1 || shape.num_lanes > shape.num_envs || shape.num_envs > PP_MAX_ENVS ||
      shape.batch_size < 1 || shape.reply_reserve < 1 ||
      shape.reply_reserve > PP_REPLY_HEAP_RESERVE || layout.num_fields < 0 ||
      layout.count > PP_MAX_COLUMNS || head->size > bytes ||
      head->size != pp_board_size(&shape, &layout)) {
    return PP_ERR_ABI;
  }
  set_pointers(board, base, &shape, &layout);
  return PP_OK;
}

void pp_board_lane_envs(const pp_board *board, int32_t lane, int32_t *first, int32_t *count) {
  const pp_board_shape *shape = &board->shape;
  *first = (int32_t)((int64_t)shape->num_envs * lane / shape->num_lanes);
  *count = (int32_t)((int64_t)shape->num_envs * (lane + 1) / shape->num_lanes) - *first;
}

/* one of the two copies of the fields of an environment's last row */
static char *saved_fields_at(const pp_board *board, int32_t env_id, int32_t copy) {
  return board->saved + board->saved_bytes * (2 * (int64_t)env_id + copy);
}

/* Returns which copy is valid: 0 or 1, even if the word was overwritten. */
static int32_t saved_copy_of(const pp_board_env *env) {
  return atomic_load_explicit(&env->saved_copy, memory_order_acquire) & 1;
}

int32_t pp_board_elapsed(const pp_board *board, int32_t env_id) {
  const pp_board_env *env = &board->envs[env_id];
  return env->elapsed[saved_copy_of(env)];
}

void pp_board_save_row(pp_board *board, char *memory, int32_t row, int32_t env_id,
                       int32_t elapsed) {
  const pp_layout *layout = &board->layout;
  pp_board_env *env = &board->envs[env_id];
  int32_t next = !saved_copy_of(env);
  char *to = saved_fields_at(board, env_id, next);
  for (int32_t i = 0; board->saved_bytes && i < layout->num_fields; i++) {
    int64_t bytes = layout->columns[i].row_bytes;
    memcpy(to, pp_layout_at(layout, memory, i, row), (size_t)bytes);
    PP_TEST_DIE(half_saved);
    to += bytes;
  }
  env->elapsed[next] = elapsed;
  atomic_store_explicit(&env->saved_copy, next, memory_order_release);
}

void pp_board_repeat_row(const pp_board *board, char *memory, int32_t row, int32_t env_id,
                         bool is_final) {
  const pp_layout *layout = &board->layout;
  int32_t first = is_final ? layout->final_fields : 0;
  const char *from = saved_fields_at(board, env_id, saved_copy_of(&board->envs[env_id]));
  for (int32_t i = 0; board->saved_bytes && i < layout->num_fields; i++) {
    int64_t bytes = layout->columns[i].row_bytes;
    memcpy(pp_layout_at(layout, memory, first + i, row), from, (size_t)bytes);
    from += bytes;
  }
}

/* --------------------------------------------------------------------------------- parent -- */

/* the number of rows of a slot that a lane's worker has written */
static _Atomic int32_t *rows_done_of(const pp_board *board, int32_t slot, int32_t lane) {
  return board->rows_done + (int64_t)slot * board->shape.num_lanes + lane;
}

void pp_board_prepare_slot(pp_board *board, int64_t sequence, int64_t memory) {
  const pp_board_shape *shape = &board->shape;
  int32_t slot = (int32_t)(sequence % shape->capacity);
  int64_t first = (int64_t)slot * shape->batch_size;

  board->slots[slot].memory = memory;
  // relaxed: no worker counts rows of a slot before one of them is assigned or claimed
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    atomic_store_explicit(rows_done_of(board, slot, lane), 0, memory_order_relaxed);
  }
  atomic_store_explicit(&board->slots[slot].target,
                        shape->is_ordered ? INT32_MAX : shape->batch_size, memory_order_seq_cst);
  if (shape->is_ordered) return;
  for (int32_t row = 0; row < shape->batch_size; row++) {
    atomic_store_explicit(&board->rows[first + row], (uint64_t)(uint32_t)sequence << 32,
                          memory_order_release);
  }
}

void pp_board_set_target(pp_board *board, int32_t slot, int32_t rows) {
  atomic_store_explicit(&board->slots[slot].target, rows, memory_order_seq_cst);
}

bool pp_board_cut(pp_board *board, int64_t sequence, int32_t rows) {
  const pp_board_shape *shape = &board->shape;
  uint64_t word = (uint64_t)(uint32_t)sequence << 32;
  // Rows are claimed one after another, so while this row is free, no more than the written ones
  // are claimed. Acquire and release, as in claims: a worker that goes on to the next block has
  // seen what the parent has prepared.
  return atomic_compare_exchange_strong_explicit(
      &board->rows[sequence % shape->capacity * shape->batch_size + rows], &word, word | PP_ROW_CUT,
      memory_order_acq_rel, memory_order_relaxed);
}

int32_t pp_board_lane_rows_done(const pp_board *board, int32_t slot, int32_t lane) {
  return atomic_load_explicit(rows_done_of(board, slot, lane), memory_order_seq_cst);
}

int32_t pp_board_rows_done(const pp_board *board, int32_t slot) {
  // unsigned, as overwritten counts may overflow
  uint32_t total = 0;
  for (int32_t lane = 0; lane < board->shape.num_lanes; lane++) {
    total += (uint32_t)pp_board_lane_rows_done(board, slot, lane);
  }
  return (int32_t)total;
}

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

void pp_board_wake_caller(pp_board *board) {
  pp_gate_wake(&board->head->caller, INT32_MAX);
}

void pp_board_set_rows_done(pp_board *board, int32_t lane, int32_t slot, int32_t count) {
  // publishes the rows that the parent wrote instead of the worker
  atomic_store_explicit(rows_done_of(board, slot, lane), count, memory_order_seq_cst);
}

void pp_board_clear_mailbox(pp_board *board, int32_t lane) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  uint32_t request = atomic_load_explicit(&mailbox->request, memory_order_relaxed);
  // relaxed: the dead worker reads nothing, and starting the next one orders these stores before
  // its loads
  atomic_store_explicit(&mailbox->head, atomic_load_explicit(&mailbox->tail, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&mailbox->current_env, -1, memory_order_relaxed);
  atomic_store_explicit(&mailbox->is_awake, 0, memory_order_relaxed);
  if (atomic_load_explicit(&mailbox->answered, memory_order_relaxed) != request) {
    // the worker may have died while it wrote the reply
    mailbox->reply = (pp_message){0, -1};
    // publishes the reply to the thread that waits for the answer
    atomic_store_explicit(&mailbox->answered, request, memory_order_seq_cst);
  }
  // the worker may have died asleep
  pp_gate_forget(&mailbox->gate,
                 atomic_load_explicit(&mailbox->gate.sleepers, memory_order_relaxed));
}

/* Returns whether an environment owns the row of this place. Relaxed: its worker is dead, or the
 * row was counted before. */
static bool is_owned(const pp_board *board, int32_t place, int32_t env_id) {
  uint64_t word = atomic_load_explicit(&board->rows[place], memory_order_relaxed);
  return (uint32_t)word == (uint32_t)env_id + 1;
}

/* Returns how many places there are in the slots that hold a block. One slot does not: that of the
 * block before the one that is received next. */
static int64_t num_held(const pp_board *board) {
  return (int64_t)(board->shape.capacity - 1) * board->shape.batch_size;
}

/* Returns the place of the i-th row, counted from the first one of the block of this sequence. */
static int32_t place_after(const pp_board *board, int64_t sequence, int64_t i) {
  const pp_board_shape *shape = &board->shape;
  return (int32_t)((sequence * shape->batch_size + i) %
                   ((int64_t)shape->capacity * shape->batch_size));
}

int32_t pp_board_find_claim(const pp_board *board, int32_t env_id, int64_t sequence) {
  const pp_board_shape *shape = &board->shape;
  int32_t noted = *(const volatile int32_t *)&board->envs[env_id].place;
  int32_t places = shape->capacity * shape->batch_size;
  int32_t empty = place_after(board, sequence, num_held(board));

  if (noted >= 0 && noted < places && (noted < empty || noted >= empty + shape->batch_size) &&
      is_owned(board, noted, env_id)) {
    return noted;
  }
  // The worker may have died after it claimed a row and before it wrote its place. An environment
  // in flight owns no other row: the row of its last result is in the slot without a block, or was
  // prepared anew.
  for (int64_t i = 0; i < num_held(board); i++) {
    int32_t place = place_after(board, sequence, i);
    if (is_owned(board, place, env_id)) return place;
  }
  return -1;
}

int32_t pp_board_row_owner(const pp_board *board, int64_t sequence, int32_t row) {
  const pp_board_shape *shape = &board->shape;
  int64_t place = sequence % shape->capacity * shape->batch_size + row;
  // relaxed: the row was claimed before it was counted, and the counts were loaded with acquire
  uint64_t word = atomic_load_explicit(&board->rows[place], memory_order_relaxed);
  return (uint32_t)(word >> 32) == (uint32_t)sequence ? (int32_t)((uint32_t)word - 1) : -1;
}

int32_t pp_board_claim_for_dead(pp_board *board, int32_t env_id, int64_t sequence) {
  const pp_board_shape *shape = &board->shape;
  int64_t first = sequence * shape->batch_size;
  for (int64_t i = 0; i < num_held(board); i++) {
    int64_t at = (first + i) / shape->batch_size;
    int32_t place = place_after(board, sequence, i);
    uint64_t word = (uint64_t)(uint32_t)at << 32;
    // strong: a spurious failure would skip a free row. Acquire and release, as in the claims of
    // workers, which learn the address of a block from the claims before their own
    if (atomic_compare_exchange_strong_explicit(&board->rows[place], &word,
                                                word | ((uint32_t)env_id + 1), memory_order_acq_rel,
                                                memory_order_relaxed)) {
      return place;
    }
  }
  return -1;
}

int32_t pp_board_num_awake(const pp_board *board) {
  int32_t awake = 0;
  for (int32_t lane = 0; lane < board->shape.num_lanes; lane++) {
    awake += atomic_load_explicit(&board->mailboxes[lane].is_awake, memory_order_relaxed) != 0;
  }
  return awake;
}

/* --------------------------------------------------------------------------------- worker -- */

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

/* Answers "nothing left to do" to a probe. The worker must have read the probe before it looked for
 * work and found none. */
static void answer_probe(pp_mailbox *mailbox, uint32_t probe) {
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
  if (!count && !pp_mailbox_has_request(mailbox)) answer_probe(mailbox, probe);
  atomic_store_explicit(&mailbox->head, head + (uint64_t)count, memory_order_release);
  PP_TEST_DIE(taken);
  return count;
}

/* Raises the hint, which never decreases. */
static void raise_first_free(pp_board *board, int64_t seen, int64_t value) {
  while (seen < value &&
         !atomic_compare_exchange_weak_explicit(&board->head->first_free, &seen, value,
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

/* how an attempt to claim the row of a ticket ended */
typedef enum claim_result {
  CLAIMED,
  OWNED_BY_OTHER,
  BLOCK_IS_CUT,
  TICKET_IN_PAST /* the row belongs to a later block by now */
} claim_result;

/* Tries to claim the row of a ticket. Tickets number all rows of all blocks. */
static claim_result try_claim(pp_board *board, int32_t lane, int64_t ticket, int32_t env_id) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  const pp_board_shape *shape = &board->shape;
  _Atomic uint64_t *row = &board->rows[ticket % ((int64_t)shape->capacity * shape->batch_size)];
  uint32_t sequence = (uint32_t)(ticket / shape->batch_size);
  uint64_t free = (uint64_t)sequence << 32, word = free;

  while (!atomic_compare_exchange_weak_explicit(row, &word, free | (uint32_t)(env_id + 1),
                                                memory_order_acq_rel, memory_order_acquire)) {
    int32_t ahead = (int32_t)((uint32_t)(word >> 32) - sequence);
    if (ahead > 0) return TICKET_IN_PAST;
    if (ahead == 0 && word != free) {
      return (uint32_t)word == PP_ROW_CUT ? BLOCK_IS_CUT : OWNED_BY_OTHER;
    }
    // The row still belongs to an earlier block. The ring has a row for each environment in flight,
    // so the parent is about to prepare it. If the rows' words were overwritten, it will never be
    // ready, and the parent must not wait for this worker.
    answer_probe(mailbox, atomic_load_explicit(&mailbox->probe, memory_order_seq_cst));
    pp_os_relax();
    word = free;
  }
  return CLAIMED;
}

int32_t pp_board_claim(pp_board *board, int32_t lane, int32_t env_id) {
  const pp_board_shape *shape = &board->shape;
  pp_board_env *env = &board->envs[env_id];
  int64_t seen = atomic_load_explicit(&board->head->first_free, memory_order_relaxed);
  int64_t ticket = seen;

  for (claim_result result; (result = try_claim(board, lane, ticket, env_id)) != CLAIMED;) {
    ticket =
        result == BLOCK_IS_CUT ? (ticket / shape->batch_size + 1) * shape->batch_size : ticket + 1;
    if (result != TICKET_IN_PAST) continue;
    // other workers have raised the hint by now, unless they died before
    seen = atomic_load_explicit(&board->head->first_free, memory_order_relaxed);
    if (seen > ticket) ticket = seen;
  }
  PP_TEST_DIE(claimed);
  env->place = (int32_t)(ticket % ((int64_t)shape->capacity * shape->batch_size));
  PP_TEST_DIE(placed);
  raise_first_free(board, seen, ticket + 1);
  PP_TEST_DIE(hinted);
  return env->place;
}

void pp_board_add_rows_done(pp_board *board, int32_t lane, int32_t slot, int32_t count) {
  _Atomic int32_t *done = rows_done_of(board, slot, lane);
  int32_t target;

  // The count has one writer, so the addition need not be atomic. The store publishes the rows.
  // Sequentially consistent: the worker that counts the last row sees the counts of all others.
  atomic_store_explicit(done, atomic_load_explicit(done, memory_order_relaxed) + count,
                        memory_order_seq_cst);
  PP_TEST_DIE(counted);
  target = atomic_load_explicit(&board->slots[slot].target, memory_order_seq_cst);
  if (pp_board_rows_done(board, slot) >= target) pp_board_wake_caller(board);
}
