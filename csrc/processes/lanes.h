/* Lanes: the parent's side of a pool whose lanes are worker processes. */
#ifndef PP_PROCESSES_LANES_H
#define PP_PROCESSES_LANES_H

#include "board.h"
#include "pool/pool.h"
#include "shared_heap.h"

/* All structs here are in the parent's private memory. A worker may have written anything to the
 * board and to the reply files, so no value from there decides where the parent reads or writes
 * before it was checked against these structs. */

/* a worker process, as the parent knows it */
typedef struct pp_process_lane {
  int32_t first; /* its environments: first .. first+count-1 */
  int32_t count;
  int32_t reply_fd; /* the reply file, -1: none */
  char *replies;    /* address of the reply file, which is mapped */
  bool is_dead;     /* under the pool's lock: nothing can be sent to it */
  /* Bytes that the reply file has at least: it can't be made shorter (pp_os_shared_seal). Relaxed,
   * as it only grows, and a thread that reads an old value asks the system. */
  _Atomic int64_t replies_size;
  pp_message request; /* its last request, in the shared heap */
  /* Under the pool's lock: num_sent counts the sends and requests to the worker, probed_at is what
   * num_sent was at the last probe (-1: there was none), and probe is the number of that probe. */
  int64_t num_sent;
  int64_t probed_at;
  uint32_t probe;
} pp_process_lane;

/* an environment */
typedef struct pp_process_env {
  int32_t place;             /* ordered: the row that it was sent for */
  bool is_written_by_parent; /* its worker has died, and the parent wrote the row */
  pp_message payload;        /* bytes for its next turn or the one in flight, in the shared heap */
  pp_message reply; /* bytes of its last turn, in the reply file; size -1: is_written_by_parent */
} pp_process_env;

typedef struct pp_processes {
  pp_board board;
  pp_shared_heap *heap; /* lives as long as any of its blocks */
  pp_process_lane *lanes;
  int32_t num_lanes;
  int32_t num_dead; /* lanes with is_dead */
  pp_process_env *envs;
  int32_t *owners;      /* environment that was sent for each place; ordered pools only */
  bool *is_queued;      /* by lane: room for one send */
  int32_t *slot_counts; /* by slot: room for one worker death */
  int32_t *row_envs;    /* by row: the environments of the batch that is being received */
  int32_t *replied;     /* environments of the last batch with replies, num_replied of them */
  int32_t num_replied;
} pp_processes;

extern const pp_lane_ops pp_processes_ops;

/* Return PP_OK if a call for this lane, or this environment, is possible, else an error: the pool
 * is closed or has no worker processes, or there is no such lane or environment. */
int pp_processes_check_lane(const pp_pool *pool, int32_t lane, pp_error *error);
int pp_processes_check_env(const pp_pool *pool, int32_t env_id, pp_error *error);

/* Returns the lane of a valid environment. */
int32_t pp_processes_lane_of(const pp_pool *pool, int32_t env_id);

/* Copies bytes into the shared heap, where workers can read them, and frees the bytes that the
 * message referred to before. Size 0: the message becomes empty. */
int pp_processes_write_message(pp_pool *pool, pp_message *message, const void *bytes, int64_t size,
                               pp_error *error);

/* Queues entries for a lane's worker, without waking it. */
void pp_processes_push_locked(pp_pool *pool, int32_t lane, const pp_entry *entries, int32_t count);

/* To be called after a wait that timed out. Returns whether a lane's worker has finished all that
 * it was sent, or has died and its turns have rows. The call sends the worker a probe, and returns
 * false until the worker has answered it. */
bool pp_processes_is_idle_locked(pp_pool *pool, int32_t lane);

/* Marks the pool as broken: no result can come any more, and all later calls return PP_ERR_BROKEN.
 * Returns PP_ERR_BROKEN with a message that contains the formatted text. */
int pp_processes_break(pp_pool *pool, pp_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a message that a worker wrote; reads it once, as the worker may change it meanwhile.
 * Returns whether the copy is empty or lies inside the lane's reply file. */
bool pp_processes_read_message(pp_pool *pool, int32_t lane, const pp_message *from,
                               pp_message *message);

/* operations of these lanes (lane_ops.h) that are in collect.c */
bool pp_processes_is_complete(const pp_pool *pool, const pp_ring_slot *slot);
int32_t pp_processes_count_written(const pp_pool *pool, const pp_ring_slot *slot);
int pp_processes_check_progress(pp_pool *pool, const pp_ring_slot *slot, int32_t rows,
                                pp_error *error);
int32_t pp_processes_collect_locked(pp_pool *pool, const pp_ring_slot *slot, int32_t rows);

#endif
