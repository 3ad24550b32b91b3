/* Burial: what the creator does for a worker process that has died. */
#include <string.h>

#include "error.h"
#include "remote.h"
#include "row.h"

static int is_over(const pp_desk *desk) {
  int32_t state = atomic_load_explicit(&desk->state, memory_order_acquire);
  return state == PP_DESK_DONE || state == PP_DESK_FAILED;
}

/* the place of the row that an environment in flight has, -1: none */
static int32_t place_of(const pp_pool *pool, int32_t env_id) {
  if (pool->ring.is_ordered) return pool->remote->envs[env_id].place;
  return pp_board_claimed(&pool->remote->board, env_id);
}

/* writes the row of an environment that will never write it, and says that it is there */
static void settle_locked(pp_pool *pool, int32_t env_id, int32_t how) {
  pp_remote *remote = pool->remote;
  const pp_layout *layout = &pool->layout;
  pp_desk *desk = &remote->board.desks[env_id];
  int32_t place = place_of(pool, env_id), row;
  char *memory;

  if (place < 0) place = pp_board_seize(&remote->board, env_id, pool->ring.received);
  if (place < 0) {
    pp_remote_break(pool, NULL, "no row is free");
    return;
  }
  desk->place = place;
  remote->envs[env_id].is_settled = 1;
  memory = pp_ring_at(&pool->ring, place, &row)->memory;
  pp_row_blank(layout, memory, row, env_id);
  if (how == PP_BURY_REPEAT) {
    pp_board_recall(&remote->board, memory, row, env_id, 0);
    if (layout->final_fields >= 0) pp_board_recall(&remote->board, memory, row, env_id, 1);
    *(uint8_t *)pp_layout_at(layout, memory, layout->truncated, row) = 1;
    *(int32_t *)pp_layout_at(layout, memory, layout->elapsed_step, row) =
        pp_board_elapsed(&remote->board, env_id);
  }
  // release: the row is written
  atomic_store_explicit(&desk->state, how == PP_BURY_REPEAT ? PP_DESK_DONE : PP_DESK_FAILED,
                        memory_order_release);
}

static int is_step(int32_t asked) {
  return asked == PP_ASKED_STEP || asked == PP_ASKED_ACTION;
}

/* leaves an environment to the worker that comes; the row that it has stays its own */
static void requeue_locked(pp_pool *pool, int32_t lane, int32_t env_id, int32_t asked) {
  pp_board *board = &pool->remote->board;
  pp_entry entry = PP_ENTRY(place_of(pool, env_id), env_id, 1);
  board->desks[env_id].asked = asked;
  board->desks[env_id].order = pool->remote->envs[env_id].order;
  pp_remote_push_locked(pool, lane, &entry, 1);
}

/* The worker may have died between marking a row and counting it: counts anew, for each slot, the
 * rows that are this lane's. All environments with a row not yet received are in flight. */
static void recount_locked(pp_pool *pool, int32_t lane) {
  pp_remote *remote = pool->remote;
  const pp_remote_lane *own = &remote->lanes[lane];
  memset(remote->counts, 0, sizeof(*remote->counts) * (size_t)pool->ring.capacity);
  for (int32_t i = own->first; i < own->first + own->count; i++) {
    int32_t place;
    if (!pool->flying[i] || !is_over(&remote->board.desks[i])) continue;
    place = place_of(pool, i);
    if (place >= 0) remote->counts[place / pool->ring.batch_size]++;
  }
  for (int32_t slot = 0; slot < pool->ring.capacity; slot++) {
    pp_board_recount(&remote->board, lane, slot, remote->counts[slot]);
  }
}

static int check_burial(const pp_pool *pool, int32_t lane, int32_t how, const int32_t *settled,
                        pp_error *error) {
  int status = pp_remote_check_lane(pool, lane, error);
  if (status < 0) return status;
  if (how < PP_BURY_FAIL || how > PP_BURY_REQUEUE) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "how=%d: choose a pp_burial", how);
  }
  if (!settled) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "settled is null: give room for all of the lane's");
  }
  if (how != PP_BURY_FAIL && !pool->remote->board.shape.keeps_last) {
    return pp_error_set(error, PP_ERR_STATE,
                        "this pool does not keep what was shown last: make it with keeps_last=1");
  }
  return PP_OK;
}

int32_t pp_pool_bury(pp_pool *pool, int32_t lane, int32_t how, int32_t *settled, pp_error *error) {
  int32_t status = check_burial(pool, lane, how, settled, error), count = 0;
  pp_remote_lane *own;
  if (status < 0) return status;
  own = &pool->remote->lanes[lane];
  pthread_mutex_lock(&pool->lock);
  pp_board_clear(&pool->remote->board, lane);
  own->is_dead = how == PP_BURY_FAIL;
  for (int32_t i = own->first; i < own->first + own->count; i++) {
    if (!pool->flying[i]) continue;
    if (is_over(&pool->remote->board.desks[i]) && place_of(pool, i) >= 0) continue;
    if (how != PP_BURY_FAIL && !is_step(pool->fleet.asked[i])) {
      // as it was asked for, of the environment that comes: nothing of the dead one is in it
      requeue_locked(pool, lane, i, pool->fleet.asked[i]);
      continue;
    }
    settled[count++] = i;
    if (how == PP_BURY_REQUEUE) {
      requeue_locked(pool, lane, i, PP_ASKED_RESTART);
    } else {
      settle_locked(pool, i, how);
    }
  }
  recount_locked(pool, lane);
  pthread_mutex_unlock(&pool->lock);
  // whether or not a block became complete, who waits for an answer must hear of it
  pp_board_wake_caller(&pool->remote->board);
  return count;
}
