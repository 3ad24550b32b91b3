/* Rows: how rows of the blocks in shared memory are claimed, counted and cut. */
#include "rows.h"

#include "mailbox.h"
#include "os/os.h"

/* ---------------------------------------------------------------------------------- parent -- */

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

int32_t pp_board_row_owner(const pp_board *board, int64_t sequence, int32_t row) {
  const pp_board_shape *shape = &board->shape;
  int64_t place = sequence % shape->capacity * shape->batch_size + row;
  // relaxed: the row was claimed before it was counted, and the counts were loaded with acquire
  uint64_t word = atomic_load_explicit(&board->rows[place], memory_order_relaxed);
  return (uint32_t)(word >> 32) == (uint32_t)sequence ? (int32_t)((uint32_t)word - 1) : -1;
}

void pp_board_set_rows_done(pp_board *board, int32_t lane, int32_t slot, int32_t count) {
  // publishes the rows that the parent wrote instead of the worker
  atomic_store_explicit(rows_done_of(board, slot, lane), count, memory_order_seq_cst);
}

/* ---------------------------------------------------------------------------------- worker -- */

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
    pp_mailbox_answer_probe(mailbox, atomic_load_explicit(&mailbox->probe, memory_order_seq_cst));
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
  int32_t target, own;

  // The count has one writer, so the addition need not be atomic. The store publishes the rows.
  // Sequentially consistent: the worker that counts the last row sees the counts of all others.
  own = atomic_load_explicit(done, memory_order_relaxed) + count;
  atomic_store_explicit(done, own, memory_order_seq_cst);
  PP_TEST_DIE(counted);
  target = atomic_load_explicit(&board->slots[slot].target, memory_order_seq_cst);
  if (own >= target || pp_board_rows_done(board, slot) >= target) pp_board_wake_caller(board);
}
