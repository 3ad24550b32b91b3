/* The worker's API: what a worker process calls to serve its lane of a pool. */
#ifndef PP_WORKER_H
#define PP_WORKER_H

#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

/* the result of a turn */
enum pp_turn_kind {
  PP_TURN_STEP = 0,
  PP_TURN_RESET = 1,  /* an episode began, and the row shows its first state */
  PP_TURN_END = 2,    /* a step ended an episode, and the row shows the first state of the next */
  PP_TURN_REPEAT = 3, /* nothing was done: the row repeats the last one */
  PP_TURN_CUT = 4     /* an episode was cut off: the row shows the first state of the next */
};

/* ------------------------------------------------------------------------------------ data -- */

typedef struct pp_worker pp_worker;

/* The turns that a worker has taken, and their results: entry i of each array is one environment's
 * turn. The arrays have room for all environments of the lane. The worker writes the results;
 * pp_worker_deliver clears them again, except rewards. */
typedef struct pp_turns {
  int32_t count;    /* turns taken */
  int32_t is_whole; /* 1: a plain step of all environments of the lane, in order, into consecutive
                       rows of one block */
  int32_t *env_ids;
  int32_t *command;
  int32_t *rows;   /* in the block; unordered: from claim on */
  int64_t *blocks; /* offset of the block that the row is in; unordered: from claim on */
  double *rewards;
  uint8_t *terminated;
  uint8_t *truncated;
  uint8_t *kinds;  /* a pp_turn_kind */
  uint8_t *failed; /* the row is left zero, the reply says why */
} pp_turns;

/* ------------------------------------------------------------------------------ the worker -- */

/* Begins to serve a lane: maps the pool's memory and the lane's reply file. It copies both
 * descriptors if this process may open more files; if not, reply_fd must stay open. reserve: what
 * pp_pool_reserve returned in the parent. PP_ERR_ABI: the parent runs another build than this
 * process. */
int pp_worker_open(int32_t memory, int64_t reserve, int32_t reply_fd, int32_t lane, pp_worker **out,
                   pp_error *error);
void pp_worker_close(pp_worker *worker);

/* ends this process as soon as the process with this id has ended */
int pp_worker_exit_with(int64_t pid);

/* the lane's environments: first .. first+count-1 */
int32_t pp_worker_first_env(const pp_worker *worker);
int32_t pp_worker_num_envs(const pp_worker *worker);

/* 1: rows are given out as the environments were named; 0: as they finish, by pp_worker_claim_row
 */
int32_t pp_worker_is_ordered(const pp_worker *worker);

/* where turns are written; the address never changes */
pp_turns *pp_worker_turns(pp_worker *worker);

/* the actions of the lane's environments, consecutive records */
void *pp_worker_actions(pp_worker *worker, int64_t *record_bytes);

/* where the worker writes the id of the environment that it is stepping, or -1: after a crash it
 * names the environment that caused it */
int32_t *pp_worker_current_env(pp_worker *worker);

/* the address of a block of results */
void *pp_worker_block(pp_worker *worker, int64_t offset);

/* ----------------------------------------------------------------------------------- turns -- */

/* Waits for turns, at most timeout nanoseconds. Returns how many were taken; 0: none, or there is a
 * request; PP_ERR_CLOSED: the pool ends; PP_ERR_FORKED: this process is a child of the worker. A
 * child's memory of the pool is a private copy, and the other calls do nothing there. */
int32_t pp_worker_take(pp_worker *worker, int64_t timeout);

/* unordered: claims the row of a turn, unless it has one */
void pp_worker_claim_row(pp_worker *worker, int32_t turn);

/* pp_pool_delivered_steps of a turn's environment */
int64_t pp_worker_delivered_steps(const pp_worker *worker, int32_t turn);

/* repeats the environment's last observation in the row of a turn; is_final: in the final columns
 */
void pp_worker_repeat_last(pp_worker *worker, int32_t turn, int32_t is_final);

/* the payload of a turn; null: none */
const void *pp_worker_payload(pp_worker *worker, int32_t turn, int64_t *size);

/* leaves bytes for the parent to read with the row of a turn; to be called before deliver */
int pp_worker_reply(pp_worker *worker, int32_t turn, const void *bytes, int64_t size,
                    pp_error *error);

/* writes the engine's columns of turns first .. first+count-1, and delivers their rows */
void pp_worker_deliver(pp_worker *worker, int32_t first, int32_t count);

/* ------------------------------------------------------------------------------- requests -- */

/* the parent's request, which is independent of turns; null: none */
const void *pp_worker_request(pp_worker *worker, int64_t *size);

/* answers the request */
int pp_worker_answer(pp_worker *worker, const void *bytes, int64_t size, pp_error *error);

#endif
