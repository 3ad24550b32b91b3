/* Collecting: what the creator takes over from its worker processes once a batch is complete. */
#include "error.h"
#include "os.h"
#include "remote.h"
#include "row.h"
#include "spill.h"

/* --------------------------------------------------------------------------------- waiting -- */

int pp_remote_is_complete(const pp_pool *pool, pp_batch *batch) {
  // the target is the creator's own copy, which whoever waits has set: relaxed
  return pp_board_done(&pool->remote->board, pp_remote_slot_of(pool, batch)) ==
         atomic_load_explicit(&batch->target, memory_order_relaxed);
}

/* 1: everybody who is in flight is of a lane that has nothing left to do */
static int is_idle_locked(pp_pool *pool) {
  const pp_remote *remote = pool->remote;
  int is_idle = 1;
  for (int32_t l = 0; l < remote->num_lanes; l++) {
    const pp_remote_lane *lane = &remote->lanes[l];
    int32_t env_id = lane->first;
    while (env_id < lane->first + lane->count && !pool->flying[env_id]) env_id++;
    // all are asked, whatever the first of them says
    if (env_id < lane->first + lane->count) is_idle &= pp_remote_is_idle_locked(pool, l);
  }
  return is_idle;
}

int pp_remote_look(pp_pool *pool, pp_batch *batch, pp_error *error) {
  const pp_remote *remote = pool->remote;
  int32_t target = atomic_load_explicit(&batch->target, memory_order_relaxed);
  int is_idle;
  for (int32_t l = 0; l < remote->num_lanes; l++) {
    int32_t done = pp_board_done_by(&remote->board, pp_remote_slot_of(pool, batch), l);
    if (done >= 0 && done <= remote->lanes[l].count) continue;
    return pp_remote_break(pool, error, "lane %d: %d rows of %d environments", l, done,
                           remote->lanes[l].count);
  }
  pthread_mutex_lock(&pool->lock);
  is_idle = is_idle_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  // in this order: who is idle has counted its rows
  if (!is_idle || pp_remote_is_complete(pool, batch)) return 0;
  return pp_remote_break(pool, error, "%d rows of %d are there, and nobody works on the others",
                         pp_board_done(&remote->board, pp_remote_slot_of(pool, batch)), target);
}

/* ------------------------------------------------------------------------------------ rows -- */

static int is_flying(const pp_pool *pool, int32_t env_id) {
  return env_id >= 0 && env_id < pool->fleet.num_envs && pool->flying[env_id];
}

/* whose a row of the batch is that is received next; -1: nobody's who is in flight. said: what the
 * row itself says */
static int32_t owner_of(const pp_pool *pool, const pp_batch *batch, int32_t row, int32_t said) {
  const pp_remote *remote = pool->remote;
  int32_t owner;
  if (pool->ring.is_ordered) {
    return remote->owners[pp_remote_slot_of(pool, batch) * pool->ring.batch_size + row];
  }
  owner = pp_board_owner(&remote->board, pool->ring.received, row);
  if (is_flying(pool, owner)) return owner;
  return is_flying(pool, said) ? said : -1;
}

/* Somebody has to be taken for a row that names nobody: one whose turn is over, if there is such,
 * else any. As many are in flight as there are rows. */
static int32_t guess_owner(const pp_pool *pool) {
  int32_t guess = -1;
  for (int32_t i = 0; i < pool->fleet.num_envs; i++) {
    int32_t state;
    if (!pool->flying[i]) continue;
    state = atomic_load_explicit(&pool->remote->board.desks[i].state, memory_order_acquire);
    if (state == PP_DESK_DONE || state == PP_DESK_FAILED) return i;
    guess = i;
  }
  return guess;
}

int pp_remote_hear(pp_pool *pool, int32_t lane, const pp_message *from, pp_message *message) {
  pp_remote_lane *own = &pool->remote->lanes[lane];
  const volatile pp_message *seen = from;
  int64_t known = atomic_load_explicit(&own->replies_size, memory_order_relaxed);
  int64_t reserve = pool->remote->board.shape.reply_reserve;

  *message = (pp_message){seen->offset, seen->size};
  if (!message->size) {
    message->offset = 0;
    return 1;
  }
  if (message->size < 0 || message->size > reserve || message->offset < 0 ||
      message->offset > reserve - message->size) {
    return 0;
  }
  if (message->offset + message->size > known) {
    known = pp_os_shared_size(own->spill);
    atomic_store_explicit(&own->replies_size, known, memory_order_relaxed);
  }
  return message->offset + message->size <= known;
}

/* fails an environment for what was found in the books; its row is zeroed like that of any other */
static void fail(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                 const char *what) {
  pp_error *error = &pool->fleet.errors[env_id];
  pp_row_blank(&pool->layout, batch->memory, row, env_id);
  pool->remote->envs[env_id].reply = (pp_message){0, 0};
  pp_error_set(error, PP_ERR_ENV,
               "%s: look for code in worker processes that writes beyond its arrays", what);
  error->env_id = env_id;
}

/* what is wrong with a row, null: nothing; notes its reply. said: whom it names */
static const char *judge(pp_pool *pool, int32_t env_id, int32_t said, int32_t state) {
  pp_remote_env *env = &pool->remote->envs[env_id];
  const pp_message *reply = &pool->remote->board.desks[env_id].reply;

  if (said != env_id) return "its row names another environment";
  if (state != PP_DESK_DONE && state != PP_DESK_FAILED) {
    return "its row was counted before its turn was over";
  }
  if (env->is_settled) {
    env->reply = (pp_message){0, -1};
    return NULL;
  }
  if (pp_remote_hear(pool, pp_remote_lane_of(pool, env_id), reply, &env->reply)) return NULL;
  return "its reply lies outside of its worker's memory";
}

/* Takes the row of an environment as its worker, or a burial, has left it. 1: it failed */
static int32_t accept(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                      int32_t said) {
  const pp_desk *desk = &pool->remote->board.desks[env_id];
  int32_t state = atomic_load_explicit(&desk->state, memory_order_acquire);
  const char *wrong = judge(pool, env_id, said, state);

  if (wrong) {
    fail(pool, batch, row, env_id, wrong);
  } else if (state == PP_DESK_FAILED) {
    // the reply says why, or the death
    pool->fleet.errors[env_id].text[0] = '\0';
  }
  return wrong || state == PP_DESK_FAILED;
}

/* books an environment of the batch as received; 1: it failed */
static int32_t collect_one(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                           int32_t said) {
  pp_remote *remote = pool->remote;
  int32_t has_failed = accept(pool, batch, row, env_id, said);
  if (remote->envs[env_id].order.size) {
    // it was for this turn
    pp_remote_leave(pool, &remote->envs[env_id].order, NULL, 0, NULL);
  }
  if (remote->envs[env_id].reply.size) remote->replied[remote->num_replied++] = env_id;
  return has_failed;
}

int32_t pp_remote_collect_locked(pp_pool *pool, pp_batch *batch, int32_t rows) {
  const volatile int32_t *ids = pp_layout_at(&pool->layout, batch->memory, pool->layout.env_id, 0);
  int32_t failed = 0, unknown = 0, *taken = pool->remote->taken;

  pool->remote->num_replied = 0;
  for (int32_t row = 0; row < rows; row++) {
    int32_t said = ids[row];
    taken[row] = owner_of(pool, batch, row, said);
    unknown += taken[row] < 0;
    if (taken[row] < 0) continue;
    pool->flying[taken[row]] = 0;
    if (collect_one(pool, batch, row, taken[row], said)) pool->failed[failed++] = taken[row];
  }
  for (int32_t row = 0; unknown && row < rows; row++) {
    if (taken[row] >= 0) continue;
    taken[row] = guess_owner(pool);
    pool->flying[taken[row]] = 0;
    if (collect_one(pool, batch, row, taken[row], -1)) pool->failed[failed++] = taken[row];
  }
  return failed;
}

/* --------------------------------------------------------------------------------- replies -- */

const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count) {
  if (count) *count = pool->remote ? pool->remote->num_replied : 0;
  return pool->remote ? pool->remote->replied : NULL;
}

const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size) {
  const pp_message none = {0, 0};
  int is_there = pool->remote && env_id >= 0 && env_id < pool->fleet.num_envs;
  pp_message reply = is_there ? pool->remote->envs[env_id].reply : none;
  if (size) *size = reply.size;
  if (reply.size <= 0) return NULL;
  return pool->remote->lanes[pp_remote_lane_of(pool, env_id)].replies + reply.offset;
}
