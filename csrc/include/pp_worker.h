/* The worker API: the functions that a worker process calls to serve its lane of a pool.
 *
 * A pool may run its environments in worker processes, one for each lane. The process that created
 * the pool (the parent) sends turns to the workers through memory that both map; a turn is one
 * step or one reset of one environment. A worker repeats:
 *
 *     take -> step or reset each environment -> write its row -> deliver
 *
 * and answers requests in between. One thread at a time may use a worker.
 *
 * The functions do not check their arguments: worker must not be null, except for pp_worker_close,
 * and turn must be below the count that pp_worker_take returned last. */
#ifndef PP_WORKER_H
#define PP_WORKER_H

#include "pp_env.h"

/* ------------------------------------------------------------------------------- constants -- */

/* what the row of a turn shows */
enum pp_turn_kind {
  PP_TURN_STEP = 0,   /* the state after a step */
  PP_TURN_RESET = 1,  /* the first state of an episode */
  PP_TURN_END = 2,    /* a step ended an episode, and the row shows the first state of the next */
  PP_TURN_REPEAT = 3, /* nothing happened: the row repeats the environment's last one */
  PP_TURN_CUT = 4     /* an episode was cut short, and the row shows the first state of the next */
};

/* ------------------------------------------------------------------------------------ data -- */

typedef struct pp_worker pp_worker;

/* In place of the block of a turn's row: the row is in memory of the worker's own
 * (pp_worker_staged). So it is in an unordered pool, where turns claim their rows as they finish:
 * pp_worker_deliver claims a row of the pool and copies the fields there at once, as a row that is
 * claimed and not yet written delays all that follow. */
enum { PP_STAGED = -1 };

/* The turns that a worker has taken, and their results: entry i of each array belongs to turn i,
 * which is one environment's. Each array has an entry for each environment of the lane. The worker
 * writes the results (rewards, terminated, truncated, kinds, failed); pp_worker_deliver sets them
 * to zero again, except for rewards. */
typedef struct pp_turns {
  int32_t count;      /* turns taken */
  int32_t delivered;  /* the first of them, which pp_worker_deliver has published */
  bool is_plain_step; /* a plain step of every environment of the lane in order, into rows that lie
                       * one after another in one block */
  bool is_traced;     /* the parent wants a trace, so the worker calls pp_worker_mark */
  int32_t *env_ids;
  int32_t *command; /* a pp_command */
  int32_t *rows;    /* row in the block */
  int64_t *blocks;  /* offset of the block that holds the row, or PP_STAGED */
  double *rewards;
  uint8_t *terminated;
  uint8_t *truncated;
  uint8_t *kinds;  /* a pp_turn_kind */
  uint8_t *failed; /* 1: the environment failed. Its row is zeroed, and the reply says why */
} pp_turns;

/* -------------------------------------------------------------------------- open and close -- */

/* Opens a lane of a pool: maps the pool's memory and the lane's reply file.
 *
 * memory_fd, reserve and reply_fd are what pp_pool_memory_fd, pp_pool_reserve and pp_pool_reply_fd
 * return in the parent. The worker keeps copies of both descriptors. If this process may open no
 * more files, there is no copy, and reply_fd must stay open until pp_worker_close.
 *
 * Returns PP_OK and sets *out, or sets *out to null and returns
 * PP_ERR_ARGUMENT: out is null, a descriptor is not such a file, reserve is too small, or the pool
 *   has no such lane;
 * PP_ERR_ABI: the pool was made by another build of this library;
 * PP_ERR_MEMORY: no memory, or no address space to map reserve bytes. */
int pp_worker_open(int32_t memory_fd, int64_t reserve, int32_t reply_fd, int32_t lane,
                   pp_worker **out, pp_error *error);

/* Unmaps the memory, closes the copied descriptors and frees the worker. worker may be null. */
void pp_worker_close(pp_worker *worker);

/* Goes on to serve a lane that another process has served since this worker was opened: both have
 * opened it, and the other one has delivered all turns that it took. It must not use its worker
 * again before it calls this function itself.
 *
 * Returns PP_OK, PP_ERR_MEMORY if the reply file lacks memory, PP_ERR_ARGUMENT if it can't be used,
 * or PP_ERR_FORKED. */
int pp_worker_resume(pp_worker *worker);

/* Has the system kill this process when its parent process ends, before any other process learns of
 * that end. pid: of the parent. Returns PP_OK; PP_ERR_SYSTEM if the system can't, or if the parent
 * has ended already. Children of this process are not affected. */
int pp_worker_die_with_parent(int64_t pid);

/* Makes this process exit with status 0 as soon as another process has ended, even in the middle of
 * other work. Returns PP_OK; PP_ERR_SYSTEM if the other process has ended already or can't be
 * watched; PP_ERR_MEMORY. After an error nothing is watched, and the caller should exit by itself.
 * A forked child of this process is not affected. */
int pp_worker_exit_with(int64_t pid);

/* Forks a branch of this process for each descriptor: the other end of descriptor i is the pool's
 * process's. A branch leads a process group of its own, and waits until it can read its descriptor,
 * or until the other end is closed, before it does anything else. Until then it takes hardly any
 * memory. What it does next is the caller's matter; the worker itself is of no use to it but for
 * pp_worker_close.
 *
 * Returns count, with the process ids in pids; or fewer, if the next fork failed: errno says why.
 * In branch i it returns -1 - i once that may go on. */
int32_t pp_worker_fork(const int32_t *fds, int32_t count, int32_t *pids);

/* Return the lane's environments: ids first_env .. first_env + num_envs - 1. */
int32_t pp_worker_first_env(const pp_worker *worker);
int32_t pp_worker_num_envs(const pp_worker *worker);

/* Returns 1 if the pool is ordered: the parent assigns a row to each turn when it sends it. Returns
 * 0 if turns claim their rows as they finish (PP_STAGED). */
int32_t pp_worker_is_ordered(const pp_worker *worker);

/* Returns the struct that every pp_worker_take fills in. The address and its arrays stay the same
 * until pp_worker_close. */
pp_turns *pp_worker_turns(pp_worker *worker);

/* Returns the actions of the lane's environments, one record after another in the order of their
 * ids, and the bytes of each record. The parent writes a record before it sends the turn. */
void *pp_worker_actions(pp_worker *worker, int64_t *record_bytes);

/* Returns a word in shared memory. The worker writes the id of the environment that it is about to
 * step, or -1, and the parent reads it to find out which environment hangs or killed its worker. */
int32_t *pp_worker_current_env(pp_worker *worker);

/* Returns the address in this process of a block of results (pp_turns.blocks); not of PP_STAGED. */
void *pp_worker_block(pp_worker *worker, int64_t offset);

/* Unordered: returns the address of a column's staged rows, one for each environment of the lane:
 * of a field or, if is_final, of the column that shows its final value in an ended episode. Returns
 * null if there is no such column. */
void *pp_worker_staged(pp_worker *worker, int32_t field, bool is_final);

/* ----------------------------------------------------------------------------------- turns -- */

/* Waits for turns, for at most timeout nanoseconds, and takes all that are queued.
 *
 * Returns the number of turns taken; 0 if there is none, because time is up or because there is a
 * request (pp_worker_request); PP_ERR_CLOSED if the pool is being closed; or PP_ERR_FORKED in a
 * forked child of the worker. What such a child writes to the pool's memory stays its own, and
 * deliver does nothing there. */
int32_t pp_worker_take(pp_worker *worker, int64_t timeout);

/* Returns what pp_pool_delivered_steps returns for the environment of a turn. */
int64_t pp_worker_delivered_steps(const pp_worker *worker, int32_t turn);

/* Copies the fields of the environment's last row into the row of a turn: to the fields, or, if
 * is_final, to the columns that show the final state of an ended episode. Does nothing in a pool
 * that does not save rows. */
void pp_worker_repeat_last(pp_worker *worker, int32_t turn, bool is_final);

/* Returns the payload that the parent sent with a turn and its size. Without a payload it returns
 * null and the size 0. The bytes are valid until the turn is delivered. */
const void *pp_worker_payload(pp_worker *worker, int32_t turn, int64_t *size);

/* Stores bytes that the parent can read once it has received the row of a turn. Call it before
 * deliver; size 0 removes an earlier reply. Returns PP_OK, PP_ERR_MEMORY, PP_ERR_SYSTEM if the
 * reply file can't grow, or PP_ERR_FORKED. */
int pp_worker_reply(pp_worker *worker, int32_t turn, const void *bytes, int64_t size,
                    pp_error *error);

/* Records for the parent's trace that turns turn .. turn+count-1 were done in the time since the
 * last mark, or since the turns were taken. Does nothing unless turns.is_traced. */
void pp_worker_mark(pp_worker *worker, int32_t turn, int32_t count);

/* Delivers turns first .. first+count-1: writes the engine's columns of their rows, then publishes
 * the rows to the parent and wakes it when a batch is complete. In an unordered pool it first
 * claims their rows, and waits while a row is still being prepared by the parent. */
void pp_worker_deliver(pp_worker *worker, int32_t first, int32_t count);

/* -------------------------------------------------------------------------------- requests -- */

/* Returns the parent's request that is not yet answered and its size, or null if there is none. The
 * bytes are valid until pp_worker_answer. */
const void *pp_worker_request(pp_worker *worker, int64_t *size);

/* Answers the request and wakes the parent. Returns what pp_worker_reply returns; after an error
 * the request is still unanswered. */
int pp_worker_answer(pp_worker *worker, const void *bytes, int64_t size, pp_error *error);

#endif
