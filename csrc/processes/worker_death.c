/* Worker death: how the parent completes the turns of a worker process that has died. */
#include "worker_death.h"

#include <string.h>

#include "lanes.h"
#include "pool/error.h"
#include "pool/row.h"
#include "rows.h"

/* --------------------------------------------------------------------- repair of the board -- */

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

/* ----------------------------------------------------------------------------------- turns -- */

static bool is_turn_over(const pp_board_env *env) {
  int32_t state = atomic_load_explicit(&env->state, memory_order_acquire);
  return state == PP_ENV_DONE || state == PP_ENV_FAILED;
}

/* Returns the place of the row of an environment in flight, -1: it has none yet. */
static int32_t place_of(const pp_pool *pool, int32_t env_id) {
  if (pool->ring.is_ordered) return pool->processes->envs[env_id].place;
  return pp_board_find_claim(&pool->processes->board, env_id, pool->ring.received);
}

/* Writes the row of an environment instead of its dead worker, and marks its turn as done. */
static void write_row_locked(pp_pool *pool, int32_t env_id, int32_t how) {
  pp_processes *processes = pool->processes;
  const pp_layout *layout = &pool->layout;
  pp_board_env *env = &processes->board.envs[env_id];
  const double no_reward[PP_MAX_PLAYERS] = {0};
  int32_t place = place_of(pool, env_id), row;
  pp_row values = {env_id, pp_board_elapsed(&processes->board, env_id), no_reward,
                   .truncated = true};
  char *memory;

  if (place < 0) place = pp_board_claim_for_dead(&processes->board, env_id, pool->ring.received);
  if (place < 0) {
    pp_processes_break(pool, NULL, "no row is free");
    return;
  }
  env->place = place;
  processes->envs[env_id].is_written_by_parent = true;
  memory = pp_ring_at(&pool->ring, place, &row)->memory;
  pp_row_blank(layout, memory, row, env_id);
  if (how == PP_DEATH_REPEAT) {
    pp_board_repeat_row(&processes->board, layout, memory, row, env_id, false);
    if (layout->final_fields >= 0) {
      pp_board_repeat_row(&processes->board, layout, memory, row, env_id, true);
    }
    pp_row_put(layout, memory, row, &values);
  }
  // release: publishes the row
  atomic_store_explicit(&env->state, how == PP_DEATH_REPEAT ? PP_ENV_DONE : PP_ENV_FAILED,
                        memory_order_release);
}

/* whether the rows of steps show the last rows, which the pool must have saved, and resets wait */
static bool goes_on(int32_t how) {
  return how == PP_DEATH_REPEAT || how == PP_DEATH_REQUEUE;
}

static bool is_step(int32_t command) {
  return command == PP_COMMAND_STEP || command == PP_COMMAND_STEP_PAYLOAD;
}

/* Queues an environment again, for the lane's next worker. If it has claimed a row, it keeps it. */
static void requeue_locked(pp_pool *pool, int32_t lane, int32_t env_id, int32_t command) {
  pp_board *board = &pool->processes->board;
  pp_entry entry = PP_ENTRY(place_of(pool, env_id), env_id, 1);
  board->envs[env_id].command = command;
  board->envs[env_id].payload = pool->processes->envs[env_id].payload;
  pp_processes_push_locked(pool, lane, &entry, 1);
}

/* Recomputes the lane's number of written rows in each slot from the states of its environments:
 * the worker may have died after it marked a row as done and before it counted it. Every
 * environment whose row is not yet received is in flight, so none is missed. */
static void recount_locked(pp_pool *pool, int32_t lane) {
  pp_processes *processes = pool->processes;
  const pp_process_lane *worker = &processes->lanes[lane];
  memset(processes->slot_counts, 0, sizeof(*processes->slot_counts) * (size_t)pool->ring.num_slots);
  for (int32_t i = worker->first; i < worker->first + worker->count; i++) {
    int32_t place;
    if (!pool->is_in_flight[i] || !is_turn_over(&processes->board.envs[i])) continue;
    place = place_of(pool, i);
    if (place >= 0) processes->slot_counts[place / pool->ring.batch_size]++;
  }
  for (int32_t slot = 0; slot < pool->ring.num_slots; slot++) {
    pp_board_set_rows_done(&processes->board, lane, slot, processes->slot_counts[slot]);
  }
}

static int check_death(const pp_pool *pool, int32_t lane, int32_t how, const int32_t *affected,
                       pp_error *error) {
  int status = pp_processes_check_lane(pool, lane, error);
  if (status < 0) return status;
  if (how < PP_DEATH_FAIL || how > PP_DEATH_REPLACE) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "how=%d: choose a pp_on_death", how);
  }
  if (!affected) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "affected is null: give room for all environments of the lane");
  }
  if (goes_on(how) && !pool->processes->board.shape.saves_rows) {
    return pp_error_set(error, PP_ERR_STATE,
                        "this pool does not save rows: make it with saves_rows=1");
  }
  return PP_OK;
}

int32_t pp_pool_worker_died(pp_pool *pool, int32_t lane, int32_t how, int32_t *affected,
                            pp_error *error) {
  int32_t status = check_death(pool, lane, how, affected, error), count = 0;
  pp_process_lane *worker;
  if (status < 0) return status;
  worker = &pool->processes->lanes[lane];
  pthread_mutex_lock(&pool->lock);
  pp_board_clear_mailbox(&pool->processes->board, lane);
  pool->processes->num_dead += (how == PP_DEATH_FAIL) - worker->is_dead;
  worker->is_dead = how == PP_DEATH_FAIL;
  for (int32_t i = worker->first; i < worker->first + worker->count; i++) {
    if (!pool->is_in_flight[i]) continue;
    if (is_turn_over(&pool->processes->board.envs[i]) && place_of(pool, i) >= 0) continue;
    if (goes_on(how) && !is_step(pool->fleet.command[i])) {
      // a reset shows nothing of the dead worker's environment, so the next worker can do it
      requeue_locked(pool, lane, i, pool->fleet.command[i]);
      continue;
    }
    affected[count++] = i;
    if (how == PP_DEATH_REQUEUE) {
      requeue_locked(pool, lane, i, PP_COMMAND_RESTART);
    } else {
      write_row_locked(pool, i, how);
    }
  }
  recount_locked(pool, lane);
  pthread_mutex_unlock(&pool->lock);
  // even if no block became complete: another thread may wait for this worker's answer
  pp_board_wake_caller(&pool->processes->board);
  return count;
}
