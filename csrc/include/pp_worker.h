/* The worker's API: what a worker process calls to serve its lane of a pool. */
#ifndef PP_WORKER_H
#define PP_WORKER_H

#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

/* what became of a turn */
enum pp_turn_kind {
  PP_TURN_STEP = 0,
  PP_TURN_RESET = 1,  /* an episode began, and the row shows its first state */
  PP_TURN_END = 2,    /* a step ended an episode, and the row shows the first state of the next */
  PP_TURN_REPEAT = 3, /* nothing happened: the row shows what was shown last */
  PP_TURN_CUT = 4     /* an episode was cut short, and the row shows the first state of the next */
};

/* ------------------------------------------------------------------------------------ data -- */

typedef struct pp_worker pp_worker;

/* What a worker has taken, and what became of it: entry i of each array is one environment's turn.
 * Arrays have an entry for each environment of the lane. The worker writes results; deliver clears
 * them again but for rewards */
typedef struct pp_turns {
  int32_t count;    /* turns taken */
  int32_t is_whole; /* 1: a plain step of every environment of the lane in order, into rows that lie
                       one after another in one block */
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

/* -------------------------------------------------------------------------------- the seat -- */

/* Sits down to a lane: maps the pool's memory and the lane's spill. Copies of both descriptors are
 * kept where this process may have more files; if not, the second must stay open. reserve: what
 * pp_pool_reserve says in the creator. PP_ERR_ABI: that was built from another version than this */
int pp_worker_open(int32_t memory, int64_t reserve, int32_t spill, int32_t lane, pp_worker **out,
                   pp_error *error);
void pp_worker_close(pp_worker *seat);

/* ends this process as soon as another one has ended */
int pp_worker_exit_with(int64_t pid);

/* the lane's environments: first .. first+count-1 */
int32_t pp_worker_first_env(const pp_worker *seat);
int32_t pp_worker_num_envs(const pp_worker *seat);

/* 1: rows are given out as the environments were named; 0: as they finish, by pp_worker_claim_row
 */
int32_t pp_worker_is_ordered(const pp_worker *seat);

/* where the turns are written to; the same for ever */
pp_turns *pp_worker_turns(pp_worker *seat);

/* actions of the lane's environments, one record after another */
void *pp_worker_actions(pp_worker *seat, int64_t *record_bytes);

/* the environment that is being stepped, for whoever must say who is to blame: -1 or its id */
int32_t *pp_worker_current_env(pp_worker *seat);

/* where a block of results lies */
void *pp_worker_block(pp_worker *seat, int64_t offset);

/* ------------------------------------------------------------------------------- the shift -- */

/* waits for turns, at most timeout nanoseconds: how many were taken; 0: none, or there is a
 * request; PP_ERR_CLOSED: the pool ends; PP_ERR_FORKED: this is a child of the worker. What a child
 * writes to the pool's memory stays its own, and the other calls do nothing there */
int32_t pp_worker_take(pp_worker *seat, int64_t timeout);

/* unordered: claims the row of a turn, unless it has one */
void pp_worker_claim_row(pp_worker *seat, int32_t turn);

/* pp_pool_delivered_steps of the environment of a turn */
int64_t pp_worker_delivered_steps(const pp_worker *seat, int32_t turn);

/* writes what an environment showed last into the row of a turn, is_final: among what ended
 * episodes showed */
void pp_worker_repeat_last(pp_worker *seat, int32_t turn, int32_t is_final);

/* what the creator sent along with a turn; null: nothing */
const void *pp_worker_payload(pp_worker *seat, int32_t turn, int64_t *size);

/* keeps bytes for the creator to read with the row of a turn; call it before deliver */
int pp_worker_reply(pp_worker *seat, int32_t turn, const void *bytes, int64_t size,
                    pp_error *error);

/* writes the engine's columns of turns first .. first+count-1 and hands their rows over */
void pp_worker_deliver(pp_worker *seat, int32_t first, int32_t count);

/* ------------------------------------------------------------------------------- requests -- */

/* what the creator asks outside all stepping; null: nothing */
const void *pp_worker_request(pp_worker *seat, int64_t *size);

/* answers it */
int pp_worker_answer(pp_worker *seat, const void *bytes, int64_t size, pp_error *error);

#endif
