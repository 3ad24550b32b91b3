/* Worker death: how the parent finishes the turns of a worker process that has died. */
#include <string.h>

#include "pool/error.h"
#include "pool/row.h"
#include "processes.h"

static int is_over(const pp_board_env *env) {
  int32_t state = atomic_load_explicit(&env->state, memory_order_acquire);
  return state == PP_ENV_DONE || state == PP_ENV_FAILED;
}

/* the place of the row that an environment in flight has, -1: none */
static int32_t place_of(const pp_pool *pool, int32_t env_id) {
  if (pool->ring.is_ordered) return pool->processes->envs[env_id].place;
  return pp_board_claimed(&pool->processes->board, env_id);
}

/* writes the row of an environment in place of its dead worker, and marks the turn as done */
static void write_row_locked(pp_pool *pool, int32_t env_id, int32_t how) {
  pp_processes *processes = pool->processes;
  const pp_layout *layout = &pool->layout;
  pp_board_env *env = &processes->board.envs[env_id];
  const double no_reward[PP_MAX_PLAYERS] = {0};
  int32_t place = place_of(pool, env_id), row;
  pp_row values = {env_id, pp_board_elapsed(&processes->board, env_id), no_reward,
                   .truncated = true};
  char *memory;

  if (place < 0) place = pp_board_claim_for(&processes->board, env_id, pool->ring.received);
  if (place < 0) {
    pp_processes_break(pool, NULL, "no row is free");
    return;
  }
  env->place = place;
  processes->envs[env_id].is_written_by_parent = 1;
  memory = pp_ring_at(&pool->ring, place, &row)->memory;
  pp_row_blank(layout, memory, row, env_id);
  if (how == PP_DEATH_REPEAT) {
    pp_board_repeat_last(&processes->board, memory, row, env_id, 0);
    if (layout->final_fields >= 0) pp_board_repeat_last(&processes->board, memory, row, env_id, 1);
    pp_row_put(layout, memory, row, &values);
  }
  // release: the row is written
  atomic_store_explicit(&env->state, how == PP_DEATH_REPEAT ? PP_ENV_DONE : PP_ENV_FAILED,
                        memory_order_release);
}

static int is_step(int32_t command) {
  return command == PP_COMMAND_STEP || command == PP_COMMAND_ACTION;
}

/* queues an environment for the next worker; it keeps the row that it has claimed */
static void requeue_locked(pp_pool *pool, int32_t lane, int32_t env_id, int32_t command) {
  pp_board *board = &pool->processes->board;
  pp_entry entry = PP_ENTRY(place_of(pool, env_id), env_id, 1);
  board->envs[env_id].command = command;
  board->envs[env_id].payload = pool->processes->envs[env_id].payload;
  pp_processes_push_locked(pool, lane, &entry, 1);
}

/* The worker may have died between marking a row and counting it: counts anew, for each slot, the
 * rows that are this lane's. All environments with a row not yet received are in flight. */
static void recount_locked(pp_pool *pool, int32_t lane) {
  pp_processes *processes = pool->processes;
  const pp_process_lane *own = &processes->lanes[lane];
  memset(processes->counts, 0, sizeof(*processes->counts) * (size_t)pool->ring.capacity);
  for (int32_t i = own->first; i < own->first + own->count; i++) {
    int32_t place;
    if (!pool->is_in_flight[i] || !is_over(&processes->board.envs[i])) continue;
    place = place_of(pool, i);
    if (place >= 0) processes->counts[place / pool->ring.batch_size]++;
  }
  for (int32_t slot = 0; slot < pool->ring.capacity; slot++) {
    pp_board_recount(&processes->board, lane, slot, processes->counts[slot]);
  }
}

static int check_burial(const pp_pool *pool, int32_t lane, int32_t how, const int32_t *affected,
                        pp_error *error) {
  int status = pp_processes_check_lane(pool, lane, error);
  if (status < 0) return status;
  if (how < PP_DEATH_FAIL || how > PP_DEATH_REQUEUE) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "how=%d: choose a pp_on_death", how);
  }
  if (!affected) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "settled is null: give room for all of the lane's");
  }
  if (how != PP_DEATH_FAIL && !pool->processes->board.shape.keeps_last) {
    return pp_error_set(error, PP_ERR_STATE,
                        "this pool does not save the last rows: make it with keeps_last=1");
  }
  return PP_OK;
}

int32_t pp_pool_worker_died(pp_pool *pool, int32_t lane, int32_t how, int32_t *affected,
                            pp_error *error) {
  int32_t status = check_burial(pool, lane, how, affected, error), count = 0;
  pp_process_lane *own;
  if (status < 0) return status;
  own = &pool->processes->lanes[lane];
  pthread_mutex_lock(&pool->lock);
  pp_board_clear(&pool->processes->board, lane);
  own->is_dead = how == PP_DEATH_FAIL;
  for (int32_t i = own->first; i < own->first + own->count; i++) {
    if (!pool->is_in_flight[i]) continue;
    if (is_over(&pool->processes->board.envs[i]) && place_of(pool, i) >= 0) continue;
    if (how != PP_DEATH_FAIL && !is_step(pool->fleet.command[i])) {
      // a reset needs nothing of the dead environment: the next worker does it
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
  // even if no block became complete: a thread may be waiting for an answer
  pp_board_wake_caller(&pool->processes->board);
  return count;
}
