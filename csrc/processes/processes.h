/* Processes: the parent's side of a pool whose lanes are worker processes. */
#ifndef PP_PROCESSES_PROCESSES_H
#define PP_PROCESSES_PROCESSES_H

#include "arena.h"
#include "board.h"
#include "pool/pool.h"

/* Everything here is in the parent's private memory. Workers may overwrite the board and the reply
 * files, so the parent compares what it reads there with this before it uses it as an index or an
 * address. */

/* the parent's record of a lane and its worker process */
typedef struct pp_process_lane {
  int32_t first; /* its environments */
  int32_t count;
  int32_t reply_fd; /* descriptor of its reply file, -1: none */
  char *replies;    /* the same, mapped */
  int32_t is_dead;  /* under the pool's lock: nothing can be sent to it */
  /* a lower bound of the file's size, which can't shrink (pp_os_shared_seal). Relaxed: it only
   * grows, and a thread that sees an old value asks the system */
  _Atomic int64_t replies_size;
  pp_message request; /* its last request, in the arena */
  /* Under the pool's lock: how often turns or requests were sent to it; the value of num_sent at
   * the last new probe (-1: none), and the number of that probe */
  int64_t num_sent;
  int64_t probed_at;
  uint32_t probe;
} pp_process_lane;

/* the parent's record of an environment */
typedef struct pp_process_env {
  int32_t place;                /* ordered: the row that it was sent for */
  int32_t is_written_by_parent; /* 1: the parent wrote the row, because the worker has died */
  pp_message payload; /* of its next turn or the one in flight, in the arena; size 0: none */
  pp_message reply;   /* of its last turn, within the spill; size -1: is_settled */
} pp_process_env;

typedef struct pp_processes {
  pp_board board;
  pp_arena *arena; /* lives as long as the pool or any of its blocks */
  pp_process_lane *lanes;
  int32_t num_lanes;
  pp_process_env *envs;
  int32_t *owners;    /* by place; ordered: the environment that was sent for it */
  uint8_t *is_queued; /* by lane: room for one send */
  int32_t *counts;    /* by slot: room for the recount after a death */
  int32_t *taken;     /* by row: room for one batch */
  int32_t *replied;   /* environments of the last batch with replies, num_replied of them */
  int32_t num_replied;
} pp_processes;

extern const pp_lane_ops pp_processes_ops;

/* makes board and arena for a pool that has its layout, and puts its actions there */
int pp_processes_init(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                      int32_t keeps_last, const pp_address_space *room, pp_error *error);

/* PP_OK, or why this call about a lane, or an environment, can't be served: the pool is closed or
 * has no worker processes, or there is no such lane */
int pp_processes_check_lane(const pp_pool *pool, int32_t lane, pp_error *error);
int pp_processes_check_env(const pp_pool *pool, int32_t env_id, pp_error *error);

/* the lane of an environment, and the slot of a block; both must be there */
int32_t pp_processes_lane_of(const pp_pool *pool, int32_t env_id);
int32_t pp_processes_slot_of(const pp_pool *pool, const pp_batch *batch);

/* copies bytes into the arena, in place of those of an older message; size 0: only frees those */
int pp_processes_write_message(pp_pool *pool, pp_message *message, const void *bytes, int64_t size,
                               pp_error *error);

/* queues entries for a lane's worker, without waking it */
void pp_processes_push_locked(pp_pool *pool, int32_t lane, const pp_entry *entries, int32_t count);

/* After a wait in vain: whether a lane's worker has nothing left to do of everything that was sent
 * to it, or is dead and its turns are finished. This probes it; the result is 0 until it has
 * answered */
int pp_processes_is_idle_locked(pp_pool *pool, int32_t lane);

/* marks the pool as broken: all calls will return PP_ERR_BROKEN. Returns that, with what was found
 */
int pp_processes_break(pp_pool *pool, pp_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a message of a worker's once, as it may change meanwhile. Returns whether the message is
 * valid: none, or bytes within the lane's reply file */
int pp_processes_read_message(pp_pool *pool, int32_t lane, const pp_message *from,
                              pp_message *message);

/* lane operations (lane_ops.h) that collect.c implements */
bool pp_processes_is_complete(const pp_pool *pool, pp_batch *batch);
int pp_processes_check_progress(pp_pool *pool, pp_batch *batch, pp_error *error);
int32_t pp_processes_collect_locked(pp_pool *pool, pp_batch *batch, int32_t rows);

#endif
