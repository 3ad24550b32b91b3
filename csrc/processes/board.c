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
                                       sizeof(pp_board_slot),
                                       PP_ENTRY(1, 2, 3)};

/* the FNV-1a hash of layout_facts */
static uint64_t magic(void) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < sizeof(layout_facts) / sizeof(*layout_facts); i++) {
    sum = (sum ^ (uint64_t)layout_facts[i]) * 0x100000001b3;
  }
  return sum;
}

/* ---------------------------------------------------------------------------------- tables -- */

typedef struct table_offsets {
  int64_t mailboxes, entries, envs, slots, rows_done, rows, actions, saved, size;
} table_offsets;

/* appends a table of `bytes` bytes and returns its offset */
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
  t.slots = append(&end, shape->capacity * (int64_t)sizeof(pp_board_slot));
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
  board->slots = (pp_board_slot *)(base + t.slots);
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

/* -------------------------------------------------------------------- rows of environments -- */

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

void pp_board_copy_row(pp_board *board, int32_t from, int32_t to) {
  int32_t copy = saved_copy_of(&board->envs[from]), next = !saved_copy_of(&board->envs[to]);
  memcpy(saved_fields_at(board, to, next), saved_fields_at(board, from, copy),
         (size_t)board->saved_bytes);
  board->envs[to].elapsed[next] = board->envs[from].elapsed[copy];
  atomic_store_explicit(&board->envs[to].saved_copy, next, memory_order_release);
}

void pp_board_repeat_row(const pp_board *board, const pp_layout *layout, char *memory, int32_t row,
                         int32_t env_id, bool is_final) {
  int32_t first = is_final ? layout->final_fields : 0;
  const char *from = saved_fields_at(board, env_id, saved_copy_of(&board->envs[env_id]));
  for (int32_t i = 0; board->saved_bytes && i < layout->num_fields; i++) {
    int64_t bytes = layout->columns[i].row_bytes;
    memcpy(pp_layout_at(layout, memory, first + i, row), from, (size_t)bytes);
    from += bytes;
  }
}

void pp_board_wake_caller(pp_board *board) {
  pp_gate_wake(&board->head->caller, INT32_MAX);
}
