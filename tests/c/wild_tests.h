/* A pool whose workers are in this process, so that a test can overwrite what they share. */
#ifndef PP_TESTS_WILD_TESTS_H
#define PP_TESTS_WILD_TESTS_H

#include "pool/pool.h"
#include "process_tests.h"
#include "processes/lanes.h"
#include "processes/worker.c"

typedef struct wild {
  test_pool w;
  test_worker workers[MAX_LANES];
  pp_board *board; /* as the parent has it */
} wild;

static void open_wild(wild *x, int32_t num_envs, int32_t batch_size, int32_t num_lanes) {
  *x = (wild){.w = test_pool_open(num_envs, batch_size, num_lanes, PP_NEXT_STEP)};
  x->board = &x->w.c.pool->processes->board;
  for (int32_t i = 0; i < num_lanes; i++) {
    const pp_pool *pool = x->w.c.pool;
    test_worker *h = &x->workers[i];
    test_pool_expect(&x->w, i);
    *h = (test_worker){.pool = &x->w, .number = x->w.started[i]};
    for (int32_t e = 0; e < MAX_ENVS; e++) h->is_ended[e] = 1;
    CHECK_EQ(pp_worker_open(pp_pool_memory_fd(pool), pp_pool_reserve(pool),
                            pp_pool_reply_fd(pool, i), i, &h->worker, NULL),
             PP_OK);
  }
}

static void close_wild(wild *x) {
  for (int32_t i = 0; i < x->w.num_lanes; i++) pp_worker_close(x->workers[i].worker);
  pp_pool_close(x->w.c.pool, -1);
  client_close(&x->w.c);
}

/* all workers take and deliver their turns */
static void work_all(wild *x) {
  for (int32_t i = 0; i < x->w.num_lanes; i++) {
    pp_worker *worker = x->workers[i].worker;
    int32_t count = pp_worker_take(worker, 0);
    for (int32_t turn = 0; turn < count; turn++) take_turn(&x->workers[i], turn);
    if (count > 0) pp_worker_deliver(worker, 0, count);
  }
}

/* a step of all environments, up to the parent's receive */
static void send_and_work(wild *x) {
  test_pool_send(&x->w, NULL, x->w.c.options.num_envs, 0);
  work_all(x);
}

/* the env ids of a batch that is being filled */
static int32_t *ids_of(wild *x, int32_t slot) {
  const pp_pool *pool = x->w.c.pool;
  return pp_layout_at(&pool->layout, pool->ring.slots[slot].memory, pool->layout.env_id, 0);
}

#endif
