/* Remote: the creator's side of a pool whose lanes are worker processes. */
#include "remote.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "os.h"
#include "row.h"
#include "spill.h"

/* ---------------------------------------------------------------------------------- blocks -- */

/* An arena outlives its pool while anybody holds a batch. These are found by address, as whoever
 * frees a batch has nothing else. */
typedef struct holding {
  pp_arena arena;
  int64_t users; /* the pool, and each block that is out */
  struct holding *next;
} holding;

static pthread_mutex_t holdings_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static holding *holdings;            /* guarded by the lock */
static _Atomic int32_t num_holdings; /* relaxed: zero while nobody can have such a block */

/* A forked child has no business with them: what it frees is only its own view of a block. And the
 * lock may have been another thread's. */
static void forget_holdings(void) {
  pthread_mutex_init(&holdings_lock, NULL);
  holdings = NULL;
  atomic_store_explicit(&num_holdings, 0, memory_order_relaxed);
}

static void register_forget(void) {
  pthread_atfork(NULL, NULL, forget_holdings);
}

static void let_go_locked(holding *it) {
  holding **link = &holdings;
  if (--it->users) return;
  while (*link != it) link = &(*link)->next;
  *link = it->next;
  atomic_fetch_sub_explicit(&num_holdings, 1, memory_order_relaxed);
  pp_arena_fini(&it->arena);
  free(it);
}

static pp_arena *make_arena(int64_t first_size, int *status) {
  holding *it = calloc(1, sizeof(*it));
  pthread_once(&forget_once, register_forget);
  *status = it ? pp_arena_init(&it->arena, first_size, 0) : PP_ERR_MEMORY;
  if (*status < 0) {
    free(it);
    return NULL;
  }
  it->users = 1;
  pthread_mutex_lock(&holdings_lock);
  it->next = holdings;
  holdings = it;
  atomic_fetch_add_explicit(&num_holdings, 1, memory_order_relaxed);
  pthread_mutex_unlock(&holdings_lock);
  return &it->arena;
}

void *pp_remote_block_alloc(pp_pool *pool) {
  holding *it = (holding *)pool->remote->arena;
  int64_t offset = pp_arena_alloc(&it->arena, pool->layout.size);
  if (offset < 0) return NULL;
  pthread_mutex_lock(&holdings_lock);
  it->users++;
  pthread_mutex_unlock(&holdings_lock);
  return pp_arena_at(&it->arena, offset);
}

int pp_remote_block_free(void *memory, int64_t size) {
  holding *it;
  if (!atomic_load_explicit(&num_holdings, memory_order_relaxed)) return 0;
  pthread_mutex_lock(&holdings_lock);
  for (it = holdings; it; it = it->next) {
    int64_t offset = (char *)memory - it->arena.base;
    if (offset < 0 || offset >= it->arena.reserve) continue;
    pp_arena_free(&it->arena, offset, size);
    let_go_locked(it);
    break;
  }
  pthread_mutex_unlock(&holdings_lock);
  return it != NULL;
}

/* ------------------------------------------------------------------------- making, ending -- */

static int open_lanes(pp_remote *remote) {
  for (int32_t i = 0; i < remote->num_lanes; i++) remote->lanes[i].spill = -1;
  for (int32_t i = 0; i < remote->num_lanes; i++) {
    pp_remote_lane *lane = &remote->lanes[i];
    pp_board_share(&remote->board, i, &lane->first, &lane->count);
    lane->spill = pp_os_shared_create(0, "parallel_pool replies");
    if (lane->spill < 0) return lane->spill;
    lane->replies = pp_os_shared_map(lane->spill, PP_SPILL_RESERVE);
    if (!lane->replies) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

int pp_remote_init(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                   int32_t keeps_last, pp_error *error) {
  pp_board_shape shape = {.num_envs = options->num_envs,
                          .num_lanes = num_lanes,
                          .batch_size = options->batch_size,
                          .capacity = pool->ring.capacity,
                          .is_ordered = pool->ring.is_ordered,
                          .cores = pool->topology.cores,
                          .action_bytes = pool->fleet.action_bytes,
                          .keeps_last = keeps_last};
  pp_remote *remote = calloc(1, sizeof(*remote));
  int status = PP_ERR_MEMORY;

  pool->remote = remote;
  if (remote) {
    remote->lanes = calloc((size_t)num_lanes, sizeof(*remote->lanes));
    remote->orders = calloc((size_t)(options->num_envs + num_lanes), sizeof(*remote->orders));
    remote->replied = calloc((size_t)options->num_envs, sizeof(*remote->replied));
    remote->is_queued = calloc((size_t)num_lanes, sizeof(*remote->is_queued));
    if (remote->lanes && remote->orders && remote->replied && remote->is_queued) {
      remote->arena = make_arena(pp_board_size(&shape, &pool->layout), &status);
    }
  }
  if (status >= 0) {
    pp_board_init(&remote->board, remote->arena->base, &shape, &pool->layout);
    remote->num_lanes = num_lanes;
    pool->ring.board = &remote->board;
    pool->fleet.actions = remote->board.actions;
    status = open_lanes(remote);
  }
  if (status >= 0) return PP_OK;
  // there may be no board, whose gate the pool's closing would look for
  pp_remote_fini(pool);
  return pp_error_set(error, status, "no shared memory for num_envs=%d in %d worker processes",
                      options->num_envs, num_lanes);
}

void pp_remote_fini(pp_pool *pool) {
  pp_remote *remote = pool->remote;
  if (!remote) return;
  for (int32_t i = 0; i < remote->num_lanes; i++) {
    if (remote->lanes[i].replies) pp_os_shared_unmap(remote->lanes[i].replies, PP_SPILL_RESERVE);
    if (remote->lanes[i].spill >= 0) close(remote->lanes[i].spill);
  }
  // the arena's, not the fleet's
  pool->fleet.actions = NULL;
  pool->ring.board = NULL;
  if (remote->arena) {
    pthread_mutex_lock(&holdings_lock);
    let_go_locked((holding *)remote->arena);
    pthread_mutex_unlock(&holdings_lock);
  }
  free(remote->lanes);
  free(remote->orders);
  free(remote->replied);
  free(remote->is_queued);
  free(remote);
  pool->remote = NULL;
}

void pp_remote_close(pp_pool *pool) {
  pp_board *board = &pool->remote->board;
  for (int32_t i = 0; i < pool->remote->num_lanes; i++) {
    atomic_store_explicit(&board->posts[i].is_closing, 1, memory_order_seq_cst);
    pp_board_wake(board, i);
  }
}

/* --------------------------------------------------------------------------------- sending -- */

int32_t pp_pool_lane_of(const pp_pool *pool, int32_t env_id) {
  // what pp_board_share gives each lane, the other way round
  const pp_remote *remote = pool->remote;
  int32_t lane = (int32_t)((int64_t)env_id * remote->num_lanes / pool->fleet.num_envs);
  while (env_id >= remote->lanes[lane].first + remote->lanes[lane].count) lane++;
  return lane;
}

int pp_remote_check_locked(const pp_pool *pool, const int32_t *env_ids, int32_t count,
                           pp_error *error) {
  const pp_remote *remote = pool->remote;
  int32_t dead = 0;
  for (int32_t i = 0; i < remote->num_lanes; i++) dead += remote->lanes[i].is_dead;
  for (int32_t i = 0; dead && i < count; i++) {
    int32_t env_id = env_ids ? env_ids[i] : i;
    if (!remote->lanes[pp_pool_lane_of(pool, env_id)].is_dead) continue;
    pp_error_set(error, PP_ERR_STATE,
                 "the worker process of environment %d has died: make a new pool, or make it with "
                 "on_error='restart'",
                 env_id);
    if (error) error->env_id = env_id;
    return PP_ERR_STATE;
  }
  return PP_OK;
}

/* The system puts who is woken on the core that it slept on, if that is idle, else nearby, where it
 * may meet another and stay with it. So those of the caller's own core come last: by then the other
 * cores are busy, and the caller is about to leave its own. */
static void wake_queued(pp_board *board, int32_t num_lanes, const uint8_t *is_queued) {
  int32_t here = pp_os_current_cpu();
  for (int32_t is_late = 0; is_late < 2; is_late++) {
    for (int32_t l = 0; l < num_lanes; l++) {
      int32_t cpu = atomic_load_explicit(&board->posts[l].cpu, memory_order_relaxed);
      if (is_queued[l] && (cpu == here) == is_late) pp_board_wake(board, l);
    }
  }
}

void pp_remote_queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place) {
  pp_board *board = &pool->remote->board;
  for (int32_t l = 0; l < pool->remote->num_lanes; l++) {
    const pp_remote_lane *lane = &pool->remote->lanes[l];
    int32_t end = lane->first + lane->count, queued = 0;
    int32_t from = env_ids ? 0 : lane->first, to = env_ids ? count : end;
    for (int32_t i = from; i < to; i++) {
      int32_t env_id = env_ids ? env_ids[i] : i;
      if (env_id < lane->first || env_id >= end) continue;
      board->desks[env_id].asked = pool->fleet.asked[env_id];
      pool->entries[queued++] = PP_ENTRY(place + i, env_id, 1);
    }
    pool->remote->is_queued[l] = queued > 0;
    if (queued) pp_board_push(board, l, pool->entries, queued);
  }
  wake_queued(board, pool->remote->num_lanes, pool->remote->is_queued);
}

/* puts bytes where a worker can read them, in place of what was there for the same reader */
static int leave_order(pp_pool *pool, int32_t reader, pp_message *order, const void *bytes,
                       int64_t size, pp_error *error) {
  pp_remote *remote = pool->remote;
  pp_message *held = &remote->orders[reader];
  int64_t offset;

  if (held->size) pp_arena_free(remote->arena, held->offset, held->size);
  *held = *order = (pp_message){0, 0};
  if (!size) return PP_OK;
  offset = pp_arena_alloc(remote->arena, size);
  if (offset < 0) {
    return pp_error_set(error, (int)offset, "no shared memory for a message of %lld bytes",
                        (long long)size);
  }
  memcpy(pp_arena_at(remote->arena, offset), bytes, (size_t)size);
  *held = *order = (pp_message){offset, size};
  return PP_OK;
}

int pp_pool_order(pp_pool *pool, int32_t env_id, const void *bytes, int64_t size, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  if (pool->flying[env_id]) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "environment %d is already in flight: receive its result before sending "
                          "to it again",
                          env_id);
  } else {
    status =
        leave_order(pool, env_id, &pool->remote->board.desks[env_id].order, bytes, size, error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* ------------------------------------------------------------------------------- receiving -- */

int32_t pp_remote_failed(const pp_pool *pool, const int32_t *env_ids, int32_t rows,
                         int32_t *failed) {
  int32_t count = 0;
  for (int32_t i = 0; i < rows; i++) {
    const pp_desk *desk = &pool->remote->board.desks[env_ids[i]];
    if (atomic_load_explicit(&desk->state, memory_order_acquire) == PP_DESK_FAILED) {
      failed[count++] = env_ids[i];
    }
  }
  return count;
}

void pp_remote_list_replies_locked(pp_pool *pool, const int32_t *env_ids, int32_t rows) {
  pp_remote *remote = pool->remote;
  remote->num_replied = 0;
  for (int32_t i = 0; i < rows; i++) {
    if (remote->board.desks[env_ids[i]].reply.size) {
      remote->replied[remote->num_replied++] = env_ids[i];
    }
  }
}

const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count) {
  *count = pool->remote->num_replied;
  return pool->remote->replied;
}

const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size) {
  const pp_message *reply = &pool->remote->board.desks[env_id].reply;
  *size = reply->size;
  if (reply->size <= 0) return NULL;
  return pool->remote->lanes[pp_pool_lane_of(pool, env_id)].replies + reply->offset;
}

/* -------------------------------------------------------------------------------- requests -- */

int pp_pool_request(pp_pool *pool, int32_t lane, const void *bytes, int64_t size, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_post *post;

  if (status < 0) return status;
  post = &pool->remote->board.posts[lane];
  pthread_mutex_lock(&pool->lock);
  if (pool->remote->lanes[lane].is_dead) {
    status = pp_error_set(error, PP_ERR_STATE, "worker process %d has died", lane);
  } else if (atomic_load_explicit(&post->request, memory_order_relaxed) !=
             atomic_load_explicit(&post->answered, memory_order_acquire)) {
    status =
        pp_error_set(error, PP_ERR_STATE, "worker process %d is asked something already", lane);
  } else {
    status = leave_order(pool, pool->fleet.num_envs + lane, &post->order, bytes, size, error);
  }
  if (status >= 0) {
    post->reply.size = 0;
    // publishes the order
    atomic_fetch_add_explicit(&post->request, 1, memory_order_seq_cst);
    pp_board_wake(&pool->remote->board, lane);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

static int is_answered(const pp_post *post) {
  return atomic_load_explicit(&post->answered, memory_order_seq_cst) ==
         atomic_load_explicit(&post->request, memory_order_relaxed);
}

int32_t pp_pool_answer(pp_pool *pool, int32_t lane, int64_t timeout, const void **bytes,
                       int64_t *size, pp_error *error) {
  const int64_t slice = 100000000;
  int status = pp_pool_check(pool, error);
  pp_gate *gate = &pool->remote->board.head->caller;
  const pp_post *post = &pool->remote->board.posts[lane];
  uint32_t epoch;

  if (status < 0) return status;
  epoch = pp_gate_enter(gate);
  if (!is_answered(post) && pp_pool_check(pool, NULL) >= 0) {
    pp_gate_sleep(gate, epoch, timeout >= 0 && timeout < slice ? timeout : slice);
  }
  pp_gate_leave(gate);
  if (!is_answered(post)) return pp_pool_check(pool, error);
  if (post->reply.size < 0) {
    return pp_error_set(error, PP_ERR_STATE, "worker process %d died before it answered", lane);
  }
  *bytes = pool->remote->lanes[lane].replies + post->reply.offset;
  *size = post->reply.size;
  return 1;
}

/* ------------------------------------------------------------------------------- questions -- */

int32_t pp_pool_memory(const pp_pool *pool) {
  return pool->remote->arena->fd;
}

int64_t pp_pool_reserve(const pp_pool *pool) {
  return pool->remote->arena->reserve;
}

int32_t pp_pool_spill(const pp_pool *pool, int32_t lane) {
  return pool->remote->lanes[lane].spill;
}

void pp_pool_lane_envs(const pp_pool *pool, int32_t lane, int32_t *first, int32_t *count) {
  *first = pool->remote->lanes[lane].first;
  *count = pool->remote->lanes[lane].count;
}

void pp_remote_stats(const pp_pool *pool, pp_stats *stats) {
  const pp_remote *remote = pool->remote;
  stats->num_lanes = stats->num_workers = remote->num_lanes;
  for (int32_t i = 0; i < remote->num_lanes; i++) {
    const pp_post *post = &remote->board.posts[i];
    stats->worker_waits += atomic_load_explicit(&post->gate.waits, memory_order_relaxed);
    stats->worker_wakes += atomic_load_explicit(&post->gate.wakes, memory_order_relaxed);
  }
}

int64_t pp_pool_taken_turns(const pp_pool *pool, int32_t lane) {
  return (int64_t)atomic_load_explicit(&pool->remote->board.posts[lane].head, memory_order_relaxed);
}

int64_t pp_pool_waiting_turns(const pp_pool *pool, int32_t lane) {
  const pp_post *post = &pool->remote->board.posts[lane];
  // relaxed, and head first: a hint, never negative
  uint64_t head = atomic_load_explicit(&post->head, memory_order_relaxed);
  return (int64_t)(atomic_load_explicit(&post->tail, memory_order_relaxed) - head);
}

int32_t pp_pool_current(const pp_pool *pool, int32_t lane) {
  return atomic_load_explicit(&pool->remote->board.posts[lane].current, memory_order_relaxed);
}

/* ---------------------------------------------------------------------------------- burial -- */

/* writes the row of an environment that will never write it, and says that it is there */
static void settle_locked(pp_pool *pool, int32_t env_id, int32_t how) {
  pp_board *board = &pool->remote->board;
  const pp_layout *layout = &pool->layout;
  pp_desk *desk = &board->desks[env_id];
  int32_t place = pp_board_claimed(board, env_id), row;
  char *memory;

  if (place < 0) place = pp_board_claim(board, env_id);
  desk->place = place;
  memory = pp_board_at(board, place, &row);
  pp_row_blank(layout, memory, row, env_id);
  desk->reply = (pp_message){0, -1};
  if (how == PP_BURY_REPEAT) {
    pp_board_recall(board, memory, row, env_id, 0);
    if (layout->final_fields >= 0) pp_board_recall(board, memory, row, env_id, 1);
    *(uint8_t *)pp_layout_at(layout, memory, layout->truncated, row) = 1;
    *(int32_t *)pp_layout_at(layout, memory, layout->elapsed_step, row) =
        pp_board_elapsed(board, env_id);
  }
  // release: the row is written
  atomic_store_explicit(&desk->state, how == PP_BURY_REPEAT ? PP_DESK_DONE : PP_DESK_FAILED,
                        memory_order_release);
}

/* asks the worker that comes to restart an environment; the row that it has stays its own */
static void requeue_locked(pp_pool *pool, int32_t lane, int32_t env_id) {
  pp_board *board = &pool->remote->board;
  pp_entry entry = PP_ENTRY(pp_board_claimed(board, env_id), env_id, 1);
  board->desks[env_id].asked = PP_ASKED_RESTART;
  pp_board_push(board, lane, &entry, 1);
}

/* The worker may have died between marking a row and counting it: counts anew, for each slot, the
 * rows that are this lane's. All environments with a row not yet received are in flight. */
static void recount_locked(pp_pool *pool, int32_t lane) {
  pp_board *board = &pool->remote->board;
  const pp_remote_lane *own = &pool->remote->lanes[lane];
  for (int32_t slot = 0; slot < pool->ring.capacity; slot++) {
    int32_t done = 0, failed = 0;
    for (int32_t i = own->first; i < own->first + own->count; i++) {
      const pp_desk *desk = &board->desks[i];
      int32_t state = atomic_load_explicit(&desk->state, memory_order_acquire);
      if (!pool->flying[i] || desk->place / pool->ring.batch_size != slot) continue;
      done += state == PP_DESK_DONE || state == PP_DESK_FAILED;
      failed += state == PP_DESK_FAILED;
    }
    pp_board_recount(board, lane, slot, done, failed);
  }
}

static int check_burial(const pp_pool *pool, int32_t lane, int32_t how, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status < 0) return status;
  if (lane < 0 || lane >= pool->remote->num_lanes) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "lane %d: choose 0 to %d", lane,
                        pool->remote->num_lanes - 1);
  }
  if (how < PP_BURY_FAIL || how > PP_BURY_REQUEUE) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "how=%d: choose a pp_burial", how);
  }
  if (how != PP_BURY_FAIL && !pool->remote->board.head->shape.keeps_last) {
    return pp_error_set(error, PP_ERR_STATE,
                        "this pool does not keep what was shown last: make it with keeps_last=1");
  }
  return PP_OK;
}

int32_t pp_pool_bury(pp_pool *pool, int32_t lane, int32_t how, int32_t *settled, pp_error *error) {
  int32_t status = check_burial(pool, lane, how, error), count = 0;
  const pp_remote_lane *own;
  if (status < 0) return status;
  own = &pool->remote->lanes[lane];
  pthread_mutex_lock(&pool->lock);
  pp_board_clear(&pool->remote->board, lane);
  pool->remote->lanes[lane].is_dead = how == PP_BURY_FAIL;
  for (int32_t i = own->first; i < own->first + own->count; i++) {
    int32_t state = atomic_load_explicit(&pool->remote->board.desks[i].state, memory_order_acquire);
    if (!pool->flying[i] || state == PP_DESK_DONE || state == PP_DESK_FAILED) continue;
    settled[count++] = i;
    if (how == PP_BURY_REQUEUE) {
      requeue_locked(pool, lane, i);
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
