/* Lanes: the parent's side of a pool whose lanes are worker processes. */
#include "lanes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counted_heap.h"
#include "mailbox.h"
#include "os/os.h"
#include "pool/error.h"
#include "pool/ids.h"
#include "rows.h"

/* -------------------------------------------------------------------------- init and fini -- */

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
  pool->caller = &pool->gate;
  if (processes->heap) pp_counted_heap_release(processes->heap);
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
  return pp_counted_heap_alloc(pool->processes->heap, pool->layout.size);
}

static bool is_block(const pp_pool *pool, const void *memory) {
  pp_shared_heap *heap = pool->processes->heap;
  return pp_shared_heap_contains(heap, (const char *)memory - heap->base, pool->layout.size);
}

static void block_offered_locked(pp_pool *pool, const pp_ring_slot *slot) {
  pp_board *board = &pool->processes->board;
  pp_board_prepare_slot(board, pool->ring.offered - 1, (char *)slot->memory - board->base);
}

static void target_set_locked(pp_pool *pool, const pp_ring_slot *slot) {
  // relaxed: written by this thread. INT32_MAX if nothing was sent
  pp_board_set_target(&pool->processes->board, pp_ring_index(&pool->ring, slot),
                      atomic_load_explicit(&slot->target, memory_order_relaxed));
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

static int check_locked(const pp_pool *pool, const int32_t *env_ids, int32_t count,
                        pp_error *error) {
  const pp_processes *processes = pool->processes;
  for (int32_t i = 0; processes->num_dead && i < count; i++) {
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

/* Actions are records of bytes, which the worker reads: they are copied as they are. */
static int store_actions_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                                const void *actions, int32_t dtype, pp_error *error) {
  const pp_board *board = &pool->processes->board;
  int64_t bytes = board->shape.action_bytes;
  int32_t own = pool->fleet.config.action.dtype;

  if (dtype == PP_ACTION_IN_PAYLOAD) return PP_OK;
  if (dtype != own) {
    return pp_error_set(error, PP_ERR_TYPE,
                        "actions of dtype %d: the environments of this pool take dtype %d: send "
                        "that dtype",
                        dtype, own);
  }
  if (!actions) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "actions are null: give one for each environment");
  }
  for (int32_t i = 0, run; i < count; i += run) {
    int32_t first = env_ids ? env_ids[i] : 0;
    run = env_ids ? pp_ids_run(env_ids + i, count - i) : count;
    memcpy(board->actions + bytes * first, (const char *)actions + bytes * i,
           (size_t)(bytes * run));
  }
  return PP_OK;
}

/* Returns PP_ERR_STATE, for calls that need the environments themselves. */
static int refuse_local(pp_error *error) {
  return pp_error_set(error, PP_ERR_STATE,
                      "the state, generators and options of environments in worker processes are "
                      "out of reach here: send a payload with a reset, or a request to their "
                      "worker");
}

static int store_reset_locked(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const uint32_t *seed_words, const int32_t *seed_sizes,
                              const pp_value *options, pp_error *error) {
  (void)pool;
  (void)env_ids;
  (void)count;
  (void)seed_words;
  (void)seed_sizes;
  (void)options;
  return refuse_local(error);
}

static struct pp_natives *natives(const pp_pool *pool, pp_error *error) {
  (void)pool;
  refuse_local(error);
  return NULL;
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
      if (!is_queued[l]) continue;
      int32_t cpu = atomic_load_explicit(&board->mailboxes[l].cpu, memory_order_relaxed);
      if ((cpu == here) == is_late) pp_board_wake(board, l);
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

/* queue_locked for one environment, without looking at the lanes of others */
static void queue_one_locked(pp_pool *pool, int32_t env_id, int32_t place) {
  int32_t lane = pp_processes_lane_of(pool, env_id);
  pp_entry entry = send_one(pool, env_id, pool->ring.is_ordered ? place : -1);
  pp_processes_push_locked(pool, lane, &entry, 1);
  pp_board_wake(&pool->processes->board, lane);
}

static void queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                         bool caller_helps) {
  pp_processes *processes = pool->processes;
  (void)caller_helps;
  pp_board_note_send(&processes->board);
  if (count == 1) {
    queue_one_locked(pool, env_ids ? env_ids[0] : 0, place);
    return;
  }
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
  int32_t cores = pool->topology.cores;
  return cores - pp_board_num_awake(&pool->processes->board, cores + 1);
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

/* --------------------------------------------------------------------------------- traces -- */

static int32_t num_tracks(const pp_pool *pool) {
  return pool->processes->num_lanes;
}

static pp_track *alloc_track(pp_pool *pool) {
  pp_shared_heap *heap = pool->processes->heap;
  int64_t offset = pp_shared_heap_alloc(heap, (int64_t)pp_track_size(PP_TRACK_WORKER));
  return offset < 0 ? NULL : pp_shared_heap_at(heap, offset);
}

static void set_track(pp_pool *pool, int32_t i, pp_track *track) {
  pp_processes *processes = pool->processes;
  int64_t offset = track ? (char *)track - processes->heap->base : 0;
  atomic_store_explicit(&processes->board.mailboxes[i].track, offset, memory_order_release);
}

const pp_lane_ops pp_processes_ops = {.check_locked = check_locked,
                                      .store_actions_locked = store_actions_locked,
                                      .store_reset_locked = store_reset_locked,
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
                                      .natives = natives,
                                      .spin_cores = spin_cores,
                                      .stats = stats,
                                      .stepping = stepping,
                                      .track_capacity = PP_TRACK_WORKER,
                                      .num_tracks = num_tracks,
                                      .alloc_track = alloc_track,
                                      .set_track = set_track,
                                      .stop = stop,
                                      .fini = fini};
