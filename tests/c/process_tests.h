/* What tests of pools with worker processes share: workers that are forked children with a small
 * loop over pp_worker.h, and a caller that knows what every row must be. */
#ifndef PP_TESTS_PROCESS_TESTS_H
#define PP_TESTS_PROCESS_TESTS_H

#include <sys/types.h>

#include "pool_tests.h"
#include "pp_worker.h"

enum { MAX_ENVS = 24, MAX_LANES = 4, MAX_REPLY = 3000, NOT_LOST = -1 };

/* what one environment is expected to show */
typedef struct record {
  int32_t is_in_flight;
  int32_t lost;     /* a pp_on_death: the turn in flight was lost with its worker; or NOT_LOST */
  int64_t sends;    /* so far */
  int64_t action;   /* sent last */
  int32_t is_reset; /* what was sent last is one */
  int64_t payload_size; /* bytes sent with the turn in flight, 0: none */
  int64_t turns;        /* that its worker has delivered */
  int64_t number;       /* of that worker */
  int32_t is_late;  /* its worker died, but the turn in flight is not lost: the worker had done it,
                       or it is a reset, which waits for the next worker */
  int32_t is_ended; /* the next turn begins an episode */
  int32_t elapsed;
  int64_t shown[4]; /* obs of its last row */
} record;

/* a pool with its workers; the engine's columns and two fields: obs, int64 (4), and mark, int64 */
typedef struct test_pool {
  client c;
  int32_t num_lanes;
  int32_t chunk;              /* turns that a worker delivers at once */
  int32_t fails;              /* 1: some actions make environments fail */
  pid_t pids[MAX_LANES];      /* 0: no worker */
  int64_t started[MAX_LANES]; /* number of its worker: what its rows carry */
  record envs[MAX_ENVS];
  int64_t rows; /* received */
} test_pool;

/* ----------------------------------------------------------------------- what rows show -- */

/* fill writes bytes that depend on a key; is_filled returns whether they are there */
void fill(uint8_t *bytes, int64_t size, int64_t key);
int is_filled(const uint8_t *bytes, int64_t size, int64_t key);

/* -------------------------------------------------------------------------------- workers -- */

/* a worker and what it has done */
typedef struct test_worker {
  const test_pool *pool;
  pp_worker *worker;
  int64_t number;
  int64_t turns[MAX_ENVS];
  int32_t is_ended[MAX_ENVS];
} test_worker;

/* takes a turn, as the worker of its environment */
void take_turn(test_worker *h, int32_t turn);

/* answers a request with its own bytes */
void answer(test_worker *h);

/* works until the pool is closed */
void work(const test_pool *w, pp_worker *worker, int64_t number);

/* --------------------------------------------------------------------------- the caller -- */

/* opens a pool that has no workers yet */
test_pool test_pool_open(int32_t num_envs, int32_t batch_size, int32_t num_lanes,
                         int32_t autoreset);

/* expects a new worker in a lane */
void test_pool_expect(test_pool *w, int32_t lane);

/* starts a new worker for a lane; in_child, if any, runs first in the worker */
void test_pool_start(test_pool *w, int32_t lane, void (*in_child)(void));
void test_pool_start_all(test_pool *w);

/* stops the worker of a lane, and waits until it has stopped */
void test_pool_stop(test_pool *w, int32_t lane);

/* ends the pool and all workers, which must exit with status 0 */
void test_pool_close(test_pool *w);

/* sets a payload of this size for the next turn of an environment */
void test_pool_payload(test_pool *w, int32_t env_id, int64_t size);

/* sends steps, or resets */
int32_t test_pool_send(test_pool *w, const int32_t *ids, int32_t count, int32_t is_reset);

/* Receives a batch, if it comes in time, checks all of it and lists its environments. Returns their
 * number, or 0. */
int32_t test_pool_try(test_pool *w, int32_t *ids, int64_t timeout);

/* does the same, however long that takes */
int32_t test_pool_recv(test_pool *w, int32_t *ids);

/* Waits for the end of a worker that was killed, and reports its death to the pool. Returns how
 * many environments lost their turns. */
int32_t test_pool_after_death(test_pool *w, int32_t lane, int32_t how);

#endif
