/* Board: the books that a pool and its worker processes share, in memory that all of them map. */
#include "board.h"

#include <stddef.h>
#include <string.h>

#include "os/os.h"
#include "reply_heap.h"

enum { LINE = 64 };

/* Of all that a worker must lay out as its creator does. PROTOCOL is raised by hand when the same
 * tables come to mean something else. */
enum { PROTOCOL = 2 };

static const int64_t facts[] = {PROTOCOL,
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
                                offsetof(pp_board_env, kept),
                                offsetof(pp_board_env, payload),
                                offsetof(pp_board_env, reply),
                                sizeof(pp_mailbox),
                                offsetof(pp_mailbox, tail),
                                offsetof(pp_mailbox, request),
                                offsetof(pp_mailbox, reply),
                                offsetof(pp_mailbox, current),
                                offsetof(pp_mailbox, probe),
                                sizeof(pp_slot),
                                PP_ENTRY(1, 2, 3)};

/* FNV-1a over the facts' words */
static uint64_t magic(void) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
    sum = (sum ^ (uint64_t)facts[i]) * 0x100000001b3;
  }
  return sum;
}

/* -------------------------------------------------------------------------------- tables -- */

/* offsets of the tables */
typedef struct tables {
  int64_t mailboxes, entries, envs, slots, done, rows, actions, last, size;
} tables;

static int64_t after(int64_t *end, int64_t bytes) {
  int64_t at = *end;
  *end = (at + bytes + LINE - 1) / LINE * LINE;
  return at;
}

static int64_t field_bytes(const pp_layout *layout) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < layout->num_fields; i++) bytes += layout->columns[i].row_bytes;
  return bytes;
}

/* each environment of a lane is queued once at most; a lane has as many as any other, or one more
 */
static uint64_t box_of(const pp_board_shape *shape) {
  uint64_t box = 16, most = (uint64_t)((shape->num_envs - 1) / shape->num_lanes + 1);
  while (box < most) box *= 2;
  return box;
}

static tables lay_out(const pp_board_shape *shape, const pp_layout *layout) {
  int64_t lanes = shape->num_lanes, envs = shape->num_envs, end = 0;
  int64_t rows = shape->is_ordered ? 0 : (int64_t)shape->capacity * shape->batch_size;
  int64_t last_bytes = shape->keeps_last ? field_bytes(layout) : 0;
  tables t;

  after(&end, (int64_t)sizeof(pp_board_head));
  t.mailboxes = after(&end, lanes * (int64_t)sizeof(pp_mailbox));
  t.entries = after(&end, lanes * (int64_t)(box_of(shape) * sizeof(uint64_t)));
  t.envs = after(&end, envs * (int64_t)sizeof(pp_board_env));
  t.slots = after(&end, shape->capacity * (int64_t)sizeof(pp_slot));
  t.done = after(&end, shape->capacity * lanes * (int64_t)sizeof(int32_t));
  t.rows = after(&end, rows * (int64_t)sizeof(uint64_t));
  t.actions = after(&end, envs * shape->action_bytes);
  t.last = after(&end, envs * 2 * last_bytes);
  t.size = end;
  return t;
}

static void point(pp_board *board, char *base, const pp_board_shape *shape,
                  const pp_layout *layout) {
  tables t = lay_out(shape, layout);
  board->shape = *shape;
  board->layout = *layout;
  board->box = box_of(shape);
  board->last_bytes = shape->keeps_last ? field_bytes(layout) : 0;
  board->base = base;
  board->head = (pp_board_head *)base;
  board->mailboxes = (pp_mailbox *)(base + t.mailboxes);
  board->entries = (_Atomic uint64_t *)(base + t.entries);
  board->envs = (pp_board_env *)(base + t.envs);
  board->slots = (pp_slot *)(base + t.slots);
  board->done = (_Atomic int32_t *)(base + t.done);
  board->rows = (_Atomic uint64_t *)(base + t.rows);
  board->actions = base + t.actions;
  board->last = base + t.last;
}

int64_t pp_board_size(const pp_board_shape *shape, const pp_layout *layout) {
  return lay_out(shape, layout).size;
}

void pp_board_init(pp_board *board, void *base, const pp_board_shape *shape,
                   const pp_layout *layout) {
  point(board, base, shape, layout);
  board->head->size = pp_board_size(shape, layout);
  board->head->shape = *shape;
  board->head->layout = *layout;
  pp_gate_init(&board->head->caller, 1);
  atomic_init(&board->head->first_free, 0);
  atomic_init(&board->head->sent_at, 0);
  atomic_init(&board->head->sent_from, -1);
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    pp_gate_init(&board->mailboxes[lane].gate, 1);
    atomic_init(&board->mailboxes[lane].current, -1);
    atomic_init(&board->mailboxes[lane].cpu, -1);
  }
  // last: a worker that sees it sees all the rest
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
  point(board, base, &shape, &layout);
  return PP_OK;
}

void pp_board_lane_envs(const pp_board *board, int32_t lane, int32_t *first, int32_t *count) {
  const pp_board_shape *shape = &board->shape;
  *first = (int32_t)((int64_t)shape->num_envs * lane / shape->num_lanes);
  *count = (int32_t)((int64_t)shape->num_envs * (lane + 1) / shape->num_lanes) - *first;
}

/* one of the two copies of what an environment showed last */
static char *copy_of(const pp_board *board, int32_t env_id, int32_t copy) {
  return board->last + board->last_bytes * (2 * (int64_t)env_id + copy);
}

/* which copy that is: 0 or 1, whatever was written there */
static int32_t kept_of(const pp_board_env *env) {
  return atomic_load_explicit(&env->kept, memory_order_acquire) & 1;
}

int32_t pp_board_elapsed(const pp_board *board, int32_t env_id) {
  const pp_board_env *env = &board->envs[env_id];
  return env->elapsed[kept_of(env)];
}

void pp_board_save_last(pp_board *board, char *memory, int32_t row, int32_t env_id,
                        int32_t elapsed) {
  const pp_layout *layout = &board->layout;
  pp_board_env *env = &board->envs[env_id];
  int32_t next = !kept_of(env);
  char *to = copy_of(board, env_id, next);
  for (int32_t i = 0; board->last_bytes && i < layout->num_fields; i++) {
    int64_t bytes = layout->columns[i].row_bytes;
    memcpy(to, pp_layout_at(layout, memory, i, row), (size_t)bytes);
    PP_TEST_DIE(half_kept);
    to += bytes;
  }
  env->elapsed[next] = elapsed;
  atomic_store_explicit(&env->kept, next, memory_order_release);
}

void pp_board_repeat_last(const pp_board *board, char *memory, int32_t row, int32_t env_id,
                          int32_t is_final) {
  const pp_layout *layout = &board->layout;
  int32_t first = is_final ? layout->final_fields : 0;
  const char *from = copy_of(board, env_id, kept_of(&board->envs[env_id]));
  // a pool that keeps nothing has nothing to show
  for (int32_t i = 0; board->last_bytes && i < layout->num_fields; i++) {
    int64_t bytes = layout->columns[i].row_bytes;
    memcpy(pp_layout_at(layout, memory, first + i, row), from, (size_t)bytes);
    from += bytes;
  }
}

/* ------------------------------------------------------------------------------- creator -- */

/* where a lane counts the rows of a slot */
static _Atomic int32_t *count_of(const pp_board *board, int32_t slot, int32_t lane) {
  return board->done + (int64_t)slot * board->shape.num_lanes + lane;
}

void pp_board_prepare(pp_board *board, int64_t sequence, int64_t memory) {
  const pp_board_shape *shape = &board->shape;
  int32_t slot = (int32_t)(sequence % shape->capacity);
  int64_t first = (int64_t)slot * shape->batch_size;

  board->slots[slot].memory = memory;
  // relaxed: nobody counts in a slot of which no row is given out or claimed
  for (int32_t lane = 0; lane < shape->num_lanes; lane++) {
    atomic_store_explicit(count_of(board, slot, lane), 0, memory_order_relaxed);
  }
  atomic_store_explicit(&board->slots[slot].target,
                        shape->is_ordered ? INT32_MAX : shape->batch_size, memory_order_seq_cst);
  if (shape->is_ordered) return;
  for (int32_t row = 0; row < shape->batch_size; row++) {
    atomic_store_explicit(&board->rows[first + row], (uint64_t)(uint32_t)sequence << 32,
                          memory_order_release);
  }
}

void pp_board_close(pp_board *board, int32_t slot, int32_t rows) {
  atomic_store_explicit(&board->slots[slot].target, rows, memory_order_seq_cst);
}

int32_t pp_board_done_by(const pp_board *board, int32_t slot, int32_t lane) {
  return atomic_load_explicit(count_of(board, slot, lane), memory_order_seq_cst);
}

int32_t pp_board_done(const pp_board *board, int32_t slot) {
  // unsigned: nobody knows what may stand there
  uint32_t total = 0;
  for (int32_t lane = 0; lane < board->shape.num_lanes; lane++) {
    total += (uint32_t)pp_board_done_by(board, slot, lane);
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
  uint64_t box = board->box;
  _Atomic uint64_t *to = board->entries + (uint64_t)lane * box;
  uint64_t tail = atomic_load_explicit(&mailbox->tail, memory_order_relaxed);

  for (int32_t i = 0; i < count; i++) {
    pp_board_env *env = &board->envs[PP_ENTRY_ENV(entries[i])];
    env->place = PP_ENTRY_PLACE(entries[i]);
    env->reply.size = 0;
    // relaxed: published by tail
    atomic_store_explicit(&env->state, PP_ENV_QUEUED, memory_order_relaxed);
    atomic_store_explicit(&to[(tail + (uint64_t)i) & (box - 1)], entries[i], memory_order_relaxed);
  }
  atomic_store_explicit(&mailbox->is_awake, 1, memory_order_relaxed);
  atomic_store_explicit(&mailbox->tail, tail + (uint64_t)count, memory_order_seq_cst);
}

void pp_board_wake(pp_board *board, int32_t lane) {
  pp_gate_wake(&board->mailboxes[lane].gate, 1);
}

void pp_board_probe(pp_board *board, int32_t lane, uint32_t probe, int32_t is_new) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  if (is_new) atomic_store_explicit(&mailbox->probe, probe, memory_order_seq_cst);
  // release, as every wake moves it
  atomic_fetch_add_explicit(&mailbox->gate.epoch, 1, memory_order_release);
  pp_os_wake_shared(&mailbox->gate.epoch, 1);
}

int pp_board_is_idle(const pp_board *board, int32_t lane, uint32_t probe) {
  return atomic_load_explicit(&board->mailboxes[lane].idle, memory_order_acquire) == probe;
}

void pp_board_wake_caller(pp_board *board) {
  pp_gate_wake(&board->head->caller, INT32_MAX);
}

void pp_board_recount(pp_board *board, int32_t lane, int32_t slot, int32_t done) {
  // publishes the rows that the creator wrote in the worker's place
  atomic_store_explicit(count_of(board, slot, lane), done, memory_order_seq_cst);
}

void pp_board_clear(pp_board *board, int32_t lane) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  uint32_t request = atomic_load_explicit(&mailbox->request, memory_order_relaxed);
  // orders matter to nobody: the dead read nothing, and the system stands between this and who
  // comes
  atomic_store_explicit(&mailbox->head, atomic_load_explicit(&mailbox->tail, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&mailbox->current, -1, memory_order_relaxed);
  atomic_store_explicit(&mailbox->is_awake, 0, memory_order_relaxed);
  if (atomic_load_explicit(&mailbox->answered, memory_order_relaxed) != request) {
    // it may have died while it wrote the reply
    mailbox->reply = (pp_message){0, -1};
    // publishes the reply to the thread that waits for it
    atomic_store_explicit(&mailbox->answered, request, memory_order_seq_cst);
  }
  // it may have died asleep
  pp_gate_forget(&mailbox->gate,
                 atomic_load_explicit(&mailbox->gate.sleepers, memory_order_relaxed));
}

/* 1: the row of this place is an environment's. Relaxed: its worker is dead, or the row is counted
 */
static int is_owned(const pp_board *board, int32_t place, int32_t env_id) {
  uint64_t word = atomic_load_explicit(&board->rows[place], memory_order_relaxed);
  return (uint32_t)word == (uint32_t)env_id + 1;
}

int32_t pp_board_claimed(const pp_board *board, int32_t env_id) {
  const pp_board_shape *shape = &board->shape;
  int32_t noted = *(const volatile int32_t *)&board->envs[env_id].place;
  int32_t places = shape->capacity * shape->batch_size;

  if (noted >= 0 && noted < places && is_owned(board, noted, env_id)) return noted;
  // It may have died between the claim and the note of it. An environment in flight has no other
  // row of its name: that of its last result was readied anew when the result was received.
  for (int32_t place = 0; place < places; place++) {
    if (is_owned(board, place, env_id)) return place;
  }
  return -1;
}

int32_t pp_board_owner(const pp_board *board, int64_t sequence, int32_t row) {
  const pp_board_shape *shape = &board->shape;
  int64_t place = sequence % shape->capacity * shape->batch_size + row;
  // relaxed: it was claimed before it was counted, and the counts were acquired
  uint64_t word = atomic_load_explicit(&board->rows[place], memory_order_relaxed);
  return (uint32_t)(word >> 32) == (uint32_t)sequence ? (int32_t)((uint32_t)word - 1) : -1;
}

int32_t pp_board_claim_for(pp_board *board, int32_t env_id, int64_t sequence) {
  const pp_board_shape *shape = &board->shape;
  int64_t first = sequence * shape->batch_size;
  for (int64_t i = 0; i < (int64_t)shape->capacity * shape->batch_size; i++) {
    int64_t at = (first + i) / shape->batch_size;
    int32_t place = (int32_t)((first + i) % ((int64_t)shape->capacity * shape->batch_size));
    uint64_t word = (uint64_t)(uint32_t)at << 32;
    // strong: a free row must not be passed by. Acquire and release, as claims of workers are, who
    // learn of a block's memory from the claims before their own
    if (atomic_compare_exchange_strong_explicit(&board->rows[place], &word,
                                                word | ((uint32_t)env_id + 1), memory_order_acq_rel,
                                                memory_order_relaxed)) {
      return place;
    }
  }
  return -1;
}

int32_t pp_board_awake(const pp_board *board) {
  int32_t awake = 0;
  for (int32_t lane = 0; lane < board->shape.num_lanes; lane++) {
    awake += atomic_load_explicit(&board->mailboxes[lane].is_awake, memory_order_relaxed) != 0;
  }
  return awake;
}

/* -------------------------------------------------------------------------------- worker -- */

int pp_mailbox_has_turns(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->tail, memory_order_seq_cst) !=
         atomic_load_explicit(&mailbox->head, memory_order_relaxed);
}

int pp_mailbox_has_request(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->request, memory_order_seq_cst) !=
         atomic_load_explicit(&mailbox->answered, memory_order_relaxed);
}

int pp_mailbox_is_closing(const pp_mailbox *mailbox) {
  return atomic_load_explicit(&mailbox->is_closing, memory_order_seq_cst);
}

int pp_mailbox_has_any(const pp_mailbox *mailbox) {
  return pp_mailbox_has_turns(mailbox) || pp_mailbox_is_closing(mailbox) ||
         pp_mailbox_has_request(mailbox);
}

/* answers a question of the creator's that was read before the look for work, of which there was
 * none */
static void tell_idle(pp_mailbox *mailbox, uint32_t probe) {
  if (atomic_load_explicit(&mailbox->idle, memory_order_relaxed) == probe) return;
  // release: all rows are counted
  atomic_store_explicit(&mailbox->idle, probe, memory_order_release);
}

int32_t pp_board_take(pp_board *board, int32_t lane, pp_entry *entries, int32_t room) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  // before tail
  uint32_t probe = atomic_load_explicit(&mailbox->probe, memory_order_seq_cst);
  uint64_t box = board->box;
  const _Atomic uint64_t *from = board->entries + (uint64_t)lane * box;
  uint64_t head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
  // part of the last look before going to sleep
  uint64_t tail = atomic_load_explicit(&mailbox->tail, memory_order_seq_cst);
  int32_t count = tail - head < (uint64_t)room ? (int32_t)(tail - head) : room;

  for (int32_t i = 0; i < count; i++) {
    // relaxed, both: tail has published the entry, and only a burial looks at this state
    entries[i] =
        atomic_load_explicit(&from[(head + (uint64_t)i) & (box - 1)], memory_order_relaxed);
    atomic_store_explicit(&board->envs[PP_ENTRY_ENV(entries[i])].state, PP_ENV_RUNNING,
                          memory_order_relaxed);
    PP_TEST_DIE(running);
  }
  if (!count && !pp_mailbox_has_request(mailbox)) tell_idle(mailbox, probe);
  atomic_store_explicit(&mailbox->head, head + (uint64_t)count, memory_order_release);
  PP_TEST_DIE(taken);
  return count;
}

/* the hint only grows */
static void raise_first_free(pp_board *board, int64_t seen, int64_t value) {
  while (seen < value &&
         !atomic_compare_exchange_weak_explicit(&board->head->first_free, &seen, value,
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

/* Tries to claim the row of a ticket: 1: claimed, 0: somebody else has it, -1: the ticket is of the
 * past. */
static int32_t try_row(pp_board *board, int32_t lane, int64_t ticket, int32_t env_id) {
  pp_mailbox *mailbox = &board->mailboxes[lane];
  const pp_board_shape *shape = &board->shape;
  _Atomic uint64_t *row = &board->rows[ticket % ((int64_t)shape->capacity * shape->batch_size)];
  uint32_t sequence = (uint32_t)(ticket / shape->batch_size);
  uint64_t free = (uint64_t)sequence << 32, word = free;

  while (!atomic_compare_exchange_weak_explicit(row, &word, free | (uint32_t)(env_id + 1),
                                                memory_order_acq_rel, memory_order_acquire)) {
    int32_t ahead = (int32_t)((uint32_t)(word >> 32) - sequence);
    if (ahead > 0) return -1;
    if (ahead == 0 && word != free) return 0;
    // Behind: it is being readied, as there is a row for all that are in flight. If somebody has
    // written over the rows' words it never is, and the creator must not wait for this worker
    tell_idle(mailbox, atomic_load_explicit(&mailbox->probe, memory_order_seq_cst));
    pp_os_relax();
    word = free;
  }
  return 1;
}

int32_t pp_board_claim(pp_board *board, int32_t lane, int32_t env_id) {
  const pp_board_shape *shape = &board->shape;
  pp_board_env *env = &board->envs[env_id];
  int64_t seen = atomic_load_explicit(&board->head->first_free, memory_order_relaxed);
  int64_t ticket = seen;

  for (int32_t got = 0; (got = try_row(board, lane, ticket, env_id)) != 1;) {
    ticket++;
    if (got == 0) continue;
    // of the past: others have raised the hint, unless they died before they could
    seen = atomic_load_explicit(&board->head->first_free, memory_order_relaxed);
    if (seen > ticket) ticket = seen;
  }
  PP_TEST_DIE(won);
  env->place = (int32_t)(ticket % ((int64_t)shape->capacity * shape->batch_size));
  PP_TEST_DIE(noted);
  raise_first_free(board, seen, ticket + 1);
  PP_TEST_DIE(hinted);
  return env->place;
}

void pp_board_count(pp_board *board, int32_t lane, int32_t slot, int32_t count) {
  _Atomic int32_t *done = count_of(board, slot, lane);
  int32_t target;

  // One writer: no need for a locked addition. It publishes the rows; then who counts last sees all
  // the others' counts
  atomic_store_explicit(done, atomic_load_explicit(done, memory_order_relaxed) + count,
                        memory_order_seq_cst);
  PP_TEST_DIE(counted);
  target = atomic_load_explicit(&board->slots[slot].target, memory_order_seq_cst);
  if (pp_board_done(board, slot) == target) pp_board_wake_caller(board);
}
