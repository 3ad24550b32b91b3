/* Collecting: what the parent takes over from its worker processes once a batch is complete. */
#include "os/os.h"
#include "pool/error.h"
#include "pool/row.h"
#include "processes.h"
#include "reply_heap.h"

/* --------------------------------------------------------------------------------- waiting -- */

bool pp_processes_is_complete(const pp_pool *pool, pp_batch *batch) {
  // the target is the parent's own copy, set by the thread that waits: relaxed
  return pp_board_done(&pool->processes->board, pp_processes_slot_of(pool, batch)) ==
         atomic_load_explicit(&batch->target, memory_order_relaxed);
}

/* whether all environments in flight belong to lanes that have nothing left to do */
static int is_idle_locked(pp_pool *pool) {
  const pp_processes *processes = pool->processes;
  int is_idle = 1;
  for (int32_t l = 0; l < processes->num_lanes; l++) {
    const pp_process_lane *lane = &processes->lanes[l];
    int32_t env_id = lane->first;
    while (env_id < lane->first + lane->count && !pool->is_in_flight[env_id]) env_id++;
    // all lanes are probed, whatever the first of them answers
    if (env_id < lane->first + lane->count) is_idle &= pp_processes_is_idle_locked(pool, l);
  }
  return is_idle;
}

int pp_processes_check_progress(pp_pool *pool, pp_batch *batch, pp_error *error) {
  const pp_processes *processes = pool->processes;
  int32_t target = atomic_load_explicit(&batch->target, memory_order_relaxed);
  int is_idle;
  for (int32_t l = 0; l < processes->num_lanes; l++) {
    int32_t done = pp_board_done_by(&processes->board, pp_processes_slot_of(pool, batch), l);
    if (done >= 0 && done <= processes->lanes[l].count) continue;
    return pp_processes_break(pool, error, "lane %d: %d rows of %d environments", l, done,
                              processes->lanes[l].count);
  }
  pthread_mutex_lock(&pool->lock);
  is_idle = is_idle_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  // in this order: an idle worker has counted its rows
  if (!is_idle || pp_processes_is_complete(pool, batch)) return 0;
  return pp_processes_break(
      pool, error, "%d rows of %d are there, and no worker works on the others",
      pp_board_done(&processes->board, pp_processes_slot_of(pool, batch)), target);
}

/* ------------------------------------------------------------------------------------ rows -- */

static int is_flying(const pp_pool *pool, int32_t env_id) {
  return env_id >= 0 && env_id < pool->fleet.num_envs && pool->is_in_flight[env_id];
}

/* the owner of a row of the batch that is received next; -1: no environment in flight. said: the id
 * in the row itself */
static int32_t owner_of(const pp_pool *pool, const pp_batch *batch, int32_t row, int32_t said) {
  const pp_processes *processes = pool->processes;
  int32_t owner;
  if (pool->ring.is_ordered) {
    return processes->owners[pp_processes_slot_of(pool, batch) * pool->ring.batch_size + row];
  }
  owner = pp_board_owner(&processes->board, pool->ring.received, row);
  if (is_flying(pool, owner)) return owner;
  return is_flying(pool, said) ? said : -1;
}

/* A row without an owner must be taken from some environment in flight, as there are as many of
 * them as rows: one whose turn is over, if possible. */
static int32_t guess_owner(const pp_pool *pool) {
  int32_t guess = -1;
  for (int32_t i = 0; i < pool->fleet.num_envs; i++) {
    int32_t state;
    if (!pool->is_in_flight[i]) continue;
    state = atomic_load_explicit(&pool->processes->board.envs[i].state, memory_order_acquire);
    if (state == PP_ENV_DONE || state == PP_ENV_FAILED) return i;
    guess = i;
  }
  return guess;
}

int pp_processes_read_message(pp_pool *pool, int32_t lane, const pp_message *from,
                              pp_message *message) {
  pp_process_lane *own = &pool->processes->lanes[lane];
  const volatile pp_message *seen = from;
  int64_t known = atomic_load_explicit(&own->replies_size, memory_order_relaxed);
  int64_t reserve = pool->processes->board.shape.reply_reserve;

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
    known = pp_os_shared_size(own->reply_fd);
    atomic_store_explicit(&own->replies_size, known, memory_order_relaxed);
  }
  return message->offset + message->size <= known;
}

/* fails an environment whose record on the board is invalid; its row is zeroed as for any failure
 */
static void fail(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                 const char *what) {
  pp_error *error = &pool->fleet.errors[env_id];
  pp_row_blank(&pool->layout, batch->memory, row, env_id);
  pool->processes->envs[env_id].reply = (pp_message){0, 0};
  pp_error_set(error, PP_ERR_ENV,
               "%s: look for code in worker processes that writes beyond its arrays", what);
  error->env_id = env_id;
}

/* checks a row, and takes its reply. Returns what is wrong, null: nothing. said: the id in the row
 */
static const char *check_row(pp_pool *pool, int32_t env_id, int32_t said, int32_t state) {
  pp_process_env *env = &pool->processes->envs[env_id];
  const pp_message *reply = &pool->processes->board.envs[env_id].reply;

  if (said != env_id) return "its row names another environment";
  if (state != PP_ENV_DONE && state != PP_ENV_FAILED) {
    return "its row was counted before its turn was over";
  }
  if (env->is_written_by_parent) {
    env->reply = (pp_message){0, -1};
    return NULL;
  }
  if (pp_processes_read_message(pool, pp_processes_lane_of(pool, env_id), reply, &env->reply))
    return NULL;
  return "its reply lies outside of its worker's memory";
}

/* Takes the row of an environment as its worker has left it, or the parent after a death. Returns
 * whether the environment failed */
static int32_t accept(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                      int32_t said) {
  const pp_board_env *env = &pool->processes->board.envs[env_id];
  int32_t state = atomic_load_explicit(&env->state, memory_order_acquire);
  const char *wrong = check_row(pool, env_id, said, state);

  if (wrong) {
    fail(pool, batch, row, env_id, wrong);
  } else if (state == PP_ENV_FAILED) {
    // the reply says why, or the report of the death
    pool->fleet.errors[env_id].text[0] = '\0';
  }
  return wrong || state == PP_ENV_FAILED;
}

/* records an environment of the batch as received; returns whether it failed */
static int32_t collect_one(pp_pool *pool, const pp_batch *batch, int32_t row, int32_t env_id,
                           int32_t said) {
  pp_processes *processes = pool->processes;
  int32_t has_failed = accept(pool, batch, row, env_id, said);
  if (processes->envs[env_id].payload.size) {
    // it was for this turn alone
    pp_processes_write_message(pool, &processes->envs[env_id].payload, NULL, 0, NULL);
  }
  if (processes->envs[env_id].reply.size) processes->replied[processes->num_replied++] = env_id;
  return has_failed;
}

int32_t pp_processes_collect_locked(pp_pool *pool, pp_batch *batch, int32_t rows) {
  const volatile int32_t *ids = pp_layout_at(&pool->layout, batch->memory, pool->layout.env_id, 0);
  int32_t failed = 0, unknown = 0, *taken = pool->processes->taken;

  pool->processes->num_replied = 0;
  for (int32_t row = 0; row < rows; row++) {
    int32_t said = ids[row];
    taken[row] = owner_of(pool, batch, row, said);
    unknown += taken[row] < 0;
    if (taken[row] < 0) continue;
    pool->is_in_flight[taken[row]] = 0;
    if (collect_one(pool, batch, row, taken[row], said)) pool->failed[failed++] = taken[row];
  }
  for (int32_t row = 0; unknown && row < rows; row++) {
    if (taken[row] >= 0) continue;
    taken[row] = guess_owner(pool);
    pool->is_in_flight[taken[row]] = 0;
    if (collect_one(pool, batch, row, taken[row], -1)) pool->failed[failed++] = taken[row];
  }
  return failed;
}

/* --------------------------------------------------------------------------------- replies -- */

const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count) {
  if (count) *count = pool->processes ? pool->processes->num_replied : 0;
  return pool->processes ? pool->processes->replied : NULL;
}

const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size) {
  const pp_message none = {0, 0};
  int is_there = pool->processes && env_id >= 0 && env_id < pool->fleet.num_envs;
  pp_message reply = is_there ? pool->processes->envs[env_id].reply : none;
  if (size) *size = reply.size;
  if (reply.size <= 0) return NULL;
  return pool->processes->lanes[pp_processes_lane_of(pool, env_id)].replies + reply.offset;
}
