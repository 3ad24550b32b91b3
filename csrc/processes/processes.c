/* Processes: the parent's side of a pool whose lanes are worker processes. */
#include "processes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "pool/error.h"
#include "reply_heap.h"
#include "shared_arena.h"

/* -------------------------------------------------------------------------- init and fini -- */

enum {
  REPLY_SHARE = 4,           /* all reply files together may take 1/4 of the address space */
  MIN_REPLY_RESERVE = 65536, /* bytes of address space for a reply file, whatever the limits */
  KEPT_RESULTS = 3           /* blocks of results that an ordinary caller keeps */
};

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Splits the address space: writes the bytes for each reply file and for the arena (0: any). */
static void split_address_space(const pp_address_space *limits, int32_t num_lanes, int64_t *replies,
                                int64_t *reserve) {
  *replies = PP_REPLY_HEAP_RESERVE;
  *reserve = 0;
  if (limits->parent) *replies = smaller(*replies, limits->parent / REPLY_SHARE / num_lanes);
  if (limits->worker) *replies = smaller(*replies, limits->worker / REPLY_SHARE);
  *replies = *replies / MIN_REPLY_RESERVE * MIN_REPLY_RESERVE;
  if (*replies < MIN_REPLY_RESERVE) *replies = MIN_REPLY_RESERVE;

  if (limits->parent) *reserve = limits->parent - *replies * num_lanes;
  if (limits->worker) {
    int64_t for_arena = limits->worker - *replies;
    *reserve = limits->parent ? smaller(*reserve, for_arena) : for_arena;
  }
  // 0 would mean any number; can_hold_results refuses a reserve that is too small
  if ((limits->parent || limits->worker) && *reserve < 1) *reserve = 1;
}

static int open_lanes(pp_processes *processes) {
  int64_t reserve = processes->board.shape.reply_reserve;
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    processes->lanes[i].reply_fd = -1;
    processes->lanes[i].probed_at = -1;
  }
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    pp_process_lane *lane = &processes->lanes[i];
    pp_board_lane_envs(&processes->board, i, &lane->first, &lane->count);
    lane->reply_fd = pp_os_shared_create(0, "parallel_pool replies");
    if (lane->reply_fd < 0) return lane->reply_fd;
    // where sealing is refused, a worker that makes its file shorter kills the parent by SIGBUS
    pp_os_shared_seal(lane->reply_fd);
    lane->replies = pp_os_shared_map(lane->reply_fd, reserve);
    if (!lane->replies) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

static int alloc_tables(pp_processes *processes, const pp_board_shape *shape) {
  size_t envs = (size_t)shape->num_envs, lanes = (size_t)shape->num_lanes;
  size_t slots = (size_t)shape->capacity, rows = (size_t)shape->batch_size;
  processes->lanes = calloc(lanes, sizeof(*processes->lanes));
  processes->envs = calloc(envs, sizeof(*processes->envs));
  processes->owners = calloc(slots * rows, sizeof(*processes->owners));
  processes->is_queued = calloc(lanes, sizeof(*processes->is_queued));
  processes->slot_counts = calloc(slots, sizeof(*processes->slot_counts));
  processes->row_envs = calloc(rows, sizeof(*processes->row_envs));
  processes->replied = calloc(envs, sizeof(*processes->replied));
  return processes->lanes && processes->envs && processes->owners && processes->is_queued &&
                 processes->slot_counts && processes->row_envs && processes->replied
             ? PP_OK
             : PP_ERR_MEMORY;
}

/* Returns whether an arena with this reserve can hold the board and the results of an ordinary
 * loop. */
static bool can_hold_results(const pp_pool *pool, int64_t board, int64_t reserve) {
  // the blocks in the ring, the fresh one, and those that the caller keeps
  int64_t blocks = pool->ring.capacity + 1 + KEPT_RESULTS;
  return reserve > board && (reserve - board) / blocks >= pool->layout.size;
}

/* creates the arena, the board in it, and the lanes' reply files */
static int create_shared(pp_pool *pool, const pp_board_shape *shape, int64_t size,
                         int64_t reserve) {
  pp_processes *processes = pool->processes = calloc(1, sizeof(*processes));
  int status = processes ? alloc_tables(processes, shape) : PP_ERR_MEMORY;
  if (status < 0) return status;
  // checked first, as allocating the arena takes time during which signals are not handled
  if (!can_hold_results(pool, size, reserve ? reserve : pp_arena_max_reserve())) {
    return PP_ERR_MEMORY;
  }
  processes->arena = pp_shared_arena_create(size, reserve, &status);
  if (status < 0) return status;
  pp_os_shared_seal(processes->arena->fd);
  pp_board_init(&processes->board, processes->arena->base, shape, &pool->layout);
  processes->num_lanes = shape->num_lanes;
  pool->caller = &processes->board.head->caller;
  pool->fleet.actions = processes->board.actions;
  status = open_lanes(processes);
  if (status < 0) return status;
  // again, as the system may have refused the reserve and given less
  return can_hold_results(pool, size, processes->arena->reserve) ? PP_OK : PP_ERR_MEMORY;
}

int pp_processes_init(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                      bool saves_rows, const pp_address_space *limits, pp_error *error) {
  pp_board_shape shape = {.num_envs = options->num_envs,
                          .num_lanes = num_lanes,
                          .batch_size = options->batch_size,
                          .capacity = pool->ring.num_slots,
                          .is_ordered = pool->ring.is_ordered,
                          .cores = pool->topology.cores,
                          .action_bytes = pool->fleet.action_bytes,
                          .saves_rows = saves_rows};
  int64_t reserve, size = pp_board_size(&shape, &pool->layout);
  int status;
  split_address_space(limits, num_lanes, &shape.reply_reserve, &reserve);
  status = create_shared(pool, &shape, size, reserve);
  if (status >= 0) return PP_OK;
  return pp_error_set(error, status,
                      "no shared memory for num_envs=%d in %d worker processes (tables of %lld "
                      "bytes, results of %lld each): choose fewer of them, or raise the limits of "
                      "memory (ulimit -v) and files (ulimit -n)",
                      options->num_envs, num_lanes, (long long)size, (long long)pool->layout.size);
}

static bool stop(pp_pool *pool, int64_t end) {
  pp_processes *processes = pool->processes;
  for (int32_t i = 0; processes && i < processes->num_lanes; i++) {
    atomic_store_explicit(&processes->board.mailboxes[i].is_closing, 1, memory_order_seq_cst);
    pp_board_wake(&processes->board, i);
  }
  (void)end;
  return true;
}

static void fini(pp_pool *pool) {
  pp_processes *processes = pool->processes;
  if (!processes) return;
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    if (processes->lanes[i].replies) {
      pp_os_shared_unmap(processes->lanes[i].replies, processes->board.shape.reply_reserve);
    }
    if (processes->lanes[i].reply_fd >= 0) close(processes->lanes[i].reply_fd);
  }
  // the actions are in the arena, so the fleet must not free them
  pool->fleet.actions = NULL;
  pool->caller = &pool->gate;
  if (processes->arena) pp_shared_arena_release(processes->arena);
  free(processes->lanes);
  free(processes->envs);
  free(processes->owners);
  free(processes->is_queued);
  free(processes->slot_counts);
  free(processes->row_envs);
  free(processes->replied);
  free(processes);
  pool->processes = NULL;
}

/* --------------------------------------------------------------------------------- blocks -- */

static void *alloc(pp_pool *pool) {
  return pp_shared_arena_alloc(pool->processes->arena, pool->layout.size);
}

static bool is_block(const pp_pool *pool, const void *memory) {
  pp_arena *arena = pool->processes->arena;
  return pp_arena_contains(arena, (const char *)memory - arena->base, pool->layout.size);
}

int32_t pp_processes_slot_of(const pp_pool *pool, const pp_batch *batch) {
  return (int32_t)(batch - pool->ring.batches);
}

static void block_offered_locked(pp_pool *pool, const pp_batch *batch) {
  pp_board *board = &pool->processes->board;
  pp_board_prepare_slot(board, pool->ring.offered - 1, (char *)batch->memory - board->base);
}

static void target_set_locked(pp_pool *pool, const pp_batch *batch) {
  // relaxed: written by this thread. INT32_MAX if nothing was sent
  pp_board_set_target(&pool->processes->board, pp_processes_slot_of(pool, batch),
                      atomic_load_explicit(&batch->target, memory_order_relaxed));
}

static bool cut_locked(pp_pool *pool, int32_t rows) {
  return pp_board_cut(&pool->processes->board, pool->ring.received, rows);
}

/* --------------------------------------------------------------------------------- checks -- */

static int check_processes(const pp_pool *pool, pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status < 0 || pool->processes) return status;
  return pp_error_set(error, PP_ERR_STATE,
                      "this pool has no worker processes: its environments are stepped by threads");
}

int pp_processes_check_lane(const pp_pool *pool, int32_t lane, pp_error *error) {
  int status = check_processes(pool, error);
  if (status < 0 || (lane >= 0 && lane < pool->processes->num_lanes)) return status;
  return pp_error_set(error, PP_ERR_ARGUMENT, "lane %d: choose 0 to %d", lane,
                      pool->processes->num_lanes - 1);
}

int pp_processes_check_env(const pp_pool *pool, int32_t env_id, pp_error *error) {
  int status = check_processes(pool, error);
  if (status < 0 || (env_id >= 0 && env_id < pool->fleet.num_envs)) return status;
  return pp_error_set(error, PP_ERR_ARGUMENT, "env_id %d: choose 0 to %d", env_id,
                      pool->fleet.num_envs - 1);
}

/* the inverse of pp_board_lane_envs */
int32_t pp_processes_lane_of(const pp_pool *pool, int32_t env_id) {
  const pp_processes *processes = pool->processes;
  int32_t lane = (int32_t)((int64_t)env_id * processes->num_lanes / pool->fleet.num_envs);
  while (env_id >= processes->lanes[lane].first + processes->lanes[lane].count) lane++;
  return lane;
}

int32_t pp_pool_lane_of(const pp_pool *pool, int32_t env_id) {
  if (!pool->processes) return PP_ERR_STATE;
  if (env_id < 0 || env_id >= pool->fleet.num_envs) return PP_ERR_ARGUMENT;
  return pp_processes_lane_of(pool, env_id);
}

static int check_locked(const pp_pool *pool, const int32_t *env_ids, int32_t count,
                        pp_error *error) {
  const pp_processes *processes = pool->processes;
  int32_t dead = 0;
  for (int32_t i = 0; i < processes->num_lanes; i++) dead += processes->lanes[i].is_dead;
  for (int32_t i = 0; dead && i < count; i++) {
    int32_t env_id = env_ids ? env_ids[i] : i;
    if (!processes->lanes[pp_processes_lane_of(pool, env_id)].is_dead) continue;
    pp_error_set(error, PP_ERR_STATE,
                 "the worker process of environment %d has died: make a new pool, or make it with "
                 "on_error='restart'",
                 env_id);
    if (error) error->env_id = env_id;
    return PP_ERR_STATE;
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------- payloads -- */

int pp_processes_write_message(pp_pool *pool, pp_message *message, const void *bytes, int64_t size,
                               pp_error *error) {
  pp_arena *arena = pool->processes->arena;
  int64_t offset;

  if (size < 0 || (size && !bytes)) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%lld bytes at address %p: give bytes",
                        (long long)size, bytes);
  }
  if (message->size) pp_arena_free(arena, message->offset, message->size);
  *message = (pp_message){0, 0};
  if (!size) return PP_OK;
  offset = pp_arena_alloc(arena, size);
  if (offset < 0) {
    return pp_error_set(error, (int)offset, "no shared memory for a message of %lld bytes",
                        (long long)size);
  }
  memcpy(pp_arena_at(arena, offset), bytes, (size_t)size);
  *message = (pp_message){offset, size};
  return PP_OK;
}

int pp_pool_set_payload(pp_pool *pool, int32_t env_id, const void *bytes, int64_t size,
                        pp_error *error) {
  int status = pp_processes_check_env(pool, env_id, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  if (pool->is_in_flight[env_id]) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "environment %d is already in flight: receive its result before sending "
                          "to it again",
                          env_id);
  } else {
    status = pp_processes_write_message(pool, &pool->processes->envs[env_id].payload, bytes, size,
                                        error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

static void refuse_locked(pp_pool *pool, const int32_t *env_ids, int32_t count) {
  int32_t n = pool->fleet.num_envs;
  // with an invalid count the length of env_ids is unknown
  bool is_named = env_ids && count > 0 && count <= n;
  for (int32_t i = 0; i < (is_named ? count : n); i++) {
    int32_t env_id = is_named ? env_ids[i] : i;
    // the payload of an environment in flight belongs to an earlier send
    if (env_id < 0 || env_id >= n || pool->is_in_flight[env_id]) continue;
    pp_processes_write_message(pool, &pool->processes->envs[env_id].payload, NULL, 0, NULL);
  }
}

/* --------------------------------------------------------------------------------- sending -- */

/* Wakes the workers for which entries were queued. The system puts a woken worker on the core on
 * which it slept, if that core is idle; else on a core nearby, which it may then share with another
 * worker for long. So the workers that slept on the caller's core are woken last: by then the other
 * cores are busy, and the caller is about to leave its own. */
static void wake_queued(pp_board *board, int32_t num_lanes, const bool *is_queued) {
  int32_t here = atomic_load_explicit(&board->head->sent_from, memory_order_relaxed);
  for (int32_t is_late = 0; is_late < 2; is_late++) {
    for (int32_t l = 0; l < num_lanes; l++) {
      int32_t cpu = atomic_load_explicit(&board->mailboxes[l].cpu, memory_order_relaxed);
      if (is_queued[l] && (cpu == here) == is_late) pp_board_wake(board, l);
    }
  }
}

/* Records that an environment is sent, for a row of the ring, or -1 if it will claim one. Returns
 * its entry. */
static pp_entry send_one(pp_pool *pool, int32_t env_id, int32_t place) {
  pp_processes *processes = pool->processes;
  pp_process_env *env = &processes->envs[env_id];
  pp_board_env *shared = &processes->board.envs[env_id];
  env->place = place;
  env->is_written_by_parent = false;
  env->reply = (pp_message){0, 0};
  if (place >= 0) processes->owners[place] = env_id;
  shared->command = pool->fleet.command[env_id];
  shared->payload = env->payload;
  return PP_ENTRY(place, env_id, 1);
}

void pp_processes_push_locked(pp_pool *pool, int32_t lane, const pp_entry *entries, int32_t count) {
  pp_processes *processes = pool->processes;
  processes->lanes[lane].num_sent++;
  pp_board_push(&processes->board, lane, entries, count);
}

static void queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                         bool caller_helps) {
  pp_processes *processes = pool->processes;
  (void)caller_helps;
  pp_board_note_send(&processes->board);
  for (int32_t l = 0; l < processes->num_lanes; l++) {
    const pp_process_lane *lane = &processes->lanes[l];
    int32_t end = lane->first + lane->count, queued = 0;
    int32_t from = env_ids ? 0 : lane->first, to = env_ids ? count : end;
    for (int32_t i = from; i < to; i++) {
      int32_t env_id = env_ids ? env_ids[i] : i;
      if (env_id < lane->first || env_id >= end) continue;
      pool->entries[queued++] = send_one(pool, env_id, pool->ring.is_ordered ? place + i : -1);
    }
    processes->is_queued[l] = queued > 0;
    if (queued) pp_processes_push_locked(pool, l, pool->entries, queued);
  }
  wake_queued(&processes->board, processes->num_lanes, processes->is_queued);
}

/* -------------------------------------------------------------------------------- queries -- */

static int32_t spin_cores(const pp_pool *pool) {
  // each awake worker process takes a core
  return pool->topology.cores - pp_board_num_awake(&pool->processes->board);
}

/* the parent learns from mailboxes what worker processes do (pp_pool_current_env) */
static int32_t stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room) {
  (void)pool;
  (void)env_ids;
  (void)counts;
  (void)room;
  return 0;
}

static void stats(const pp_pool *pool, pp_stats *out) {
  const pp_processes *processes = pool->processes;
  // unsigned, as overwritten counts may overflow
  uint64_t waits = 0, wakes = 0;
  for (int32_t i = 0; i < processes->num_lanes; i++) {
    const pp_mailbox *mailbox = &processes->board.mailboxes[i];
    waits += (uint64_t)atomic_load_explicit(&mailbox->gate.waits, memory_order_relaxed);
    wakes += (uint64_t)atomic_load_explicit(&mailbox->gate.wakes, memory_order_relaxed);
  }
  out->worker_waits = (int64_t)waits;
  out->worker_wakes = (int64_t)wakes;
  out->num_lanes = out->num_workers = processes->num_lanes;
}

int32_t pp_pool_memory_fd(const pp_pool *pool) {
  return pool->processes ? pool->processes->arena->fd : PP_ERR_STATE;
}

int64_t pp_pool_reserve(const pp_pool *pool) {
  return pool->processes ? pool->processes->arena->reserve : PP_ERR_STATE;
}

static bool has_lane(const pp_pool *pool, int32_t lane) {
  return pool->processes && lane >= 0 && lane < pool->processes->num_lanes;
}

int32_t pp_pool_reply_fd(const pp_pool *pool, int32_t lane) {
  return has_lane(pool, lane) ? pool->processes->lanes[lane].reply_fd : PP_ERR_ARGUMENT;
}

void pp_pool_lane_envs(const pp_pool *pool, int32_t lane, int32_t *first, int32_t *count) {
  if (first) *first = has_lane(pool, lane) ? pool->processes->lanes[lane].first : 0;
  if (count) *count = has_lane(pool, lane) ? pool->processes->lanes[lane].count : 0;
}

int64_t pp_pool_taken_turns(const pp_pool *pool, int32_t lane) {
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  return (int64_t)atomic_load_explicit(&pool->processes->board.mailboxes[lane].head,
                                       memory_order_relaxed);
}

int64_t pp_pool_delivered_steps(const pp_pool *pool, int32_t env_id) {
  if (!pool->processes || env_id < 0 || env_id >= pool->fleet.num_envs) return PP_ERR_ARGUMENT;
  return pool->processes->board.envs[env_id].steps;
}

int64_t pp_pool_waiting_turns(const pp_pool *pool, int32_t lane) {
  const pp_mailbox *mailbox;
  uint64_t head, waiting;
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  mailbox = &pool->processes->board.mailboxes[lane];
  // relaxed, as the result is a hint; head before tail, so that the difference is not negative
  head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
  waiting = atomic_load_explicit(&mailbox->tail, memory_order_relaxed) - head;
  return waiting < (uint64_t)pool->processes->lanes[lane].count
             ? (int64_t)waiting
             : pool->processes->lanes[lane].count;
}

int32_t pp_pool_current_env(const pp_pool *pool, int32_t lane) {
  const pp_process_lane *worker;
  int32_t env_id;
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  worker = &pool->processes->lanes[lane];
  env_id = atomic_load_explicit(&pool->processes->board.mailboxes[lane].current_env,
                                memory_order_relaxed);
  return env_id >= worker->first && env_id < worker->first + worker->count ? env_id : -1;
}

int32_t pp_pool_command(pp_pool *pool, int32_t env_id) {
  int32_t command = -1;
  if (pp_processes_check_env(pool, env_id, NULL) < 0) return command;
  pthread_mutex_lock(&pool->lock);
  if (pool->is_in_flight[env_id]) command = pool->fleet.command[env_id];
  pthread_mutex_unlock(&pool->lock);
  return command;
}

/* ------------------------------------------------------------------- idle and broken pools -- */

bool pp_processes_is_idle_locked(pp_pool *pool, int32_t lane) {
  pp_process_lane *worker = &pool->processes->lanes[lane];
  bool is_new = worker->probed_at != worker->num_sent;
  if (worker->is_dead) return true;
  if (is_new) {
    worker->probed_at = worker->num_sent;
    worker->probe++;
  } else if (pp_board_is_idle(&pool->processes->board, lane, worker->probe)) {
    return true;
  }
  // each time, as the worker may have been about to sleep when it was last woken
  pp_board_probe(&pool->processes->board, lane, worker->probe, is_new);
  return false;
}

int pp_processes_break(pp_pool *pool, pp_error *error, const char *format, ...) {
  char found[PP_ERROR_TEXT / 2];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(found, sizeof(found), format, arguments);
  va_end(arguments);
  atomic_store_explicit(&pool->is_broken, 1, memory_order_relaxed);
  return pp_error_set(error, PP_ERR_BROKEN,
                      "a worker process has written over the pool's memory (%s): close this pool "
                      "and make a new one",
                      found);
}

static const char not_local[] =
    "the state, generators and options of environments in worker processes are out of reach here: "
    "send a payload with a reset, or a request to their worker";

/* --------------------------------------------------------------------------------- traces -- */

static int32_t num_tracks(const pp_pool *pool) {
  return pool->processes->num_lanes;
}

static pp_track *alloc_track(pp_pool *pool) {
  pp_arena *arena = pool->processes->arena;
  int64_t offset = pp_arena_alloc(arena, (int64_t)pp_track_size(PP_TRACK_WORKER));
  return offset < 0 ? NULL : pp_arena_at(arena, offset);
}

/* a worker records steps before it publishes their rows */
static bool is_recording(const pp_pool *pool) {
  (void)pool;
  return false;
}

static void set_track(pp_pool *pool, int32_t i, pp_track *track) {
  pp_processes *processes = pool->processes;
  int64_t offset = track ? (char *)track - processes->arena->base : 0;
  atomic_store_explicit(&processes->board.mailboxes[i].track, offset, memory_order_release);
}

const pp_lane_ops pp_processes_ops = {.why_not_local = not_local,
                                      .check_locked = check_locked,
                                      .refuse_locked = refuse_locked,
                                      .queue_locked = queue_locked,
                                      .alloc = alloc,
                                      .is_block = is_block,
                                      .block_offered_locked = block_offered_locked,
                                      .target_set_locked = target_set_locked,
                                      .cut_locked = cut_locked,
                                      .is_complete = pp_processes_is_complete,
                                      .count_written = pp_processes_count_written,
                                      .check_progress = pp_processes_check_progress,
                                      .collect_locked = pp_processes_collect_locked,
                                      .spin_cores = spin_cores,
                                      .stats = stats,
                                      .stepping = stepping,
                                      .num_tracks = num_tracks,
                                      .alloc_track = alloc_track,
                                      .set_track = set_track,
                                      .is_recording = is_recording,
                                      .stop = stop,
                                      .fini = fini};
