/* Pools whose lanes are worker processes: every row comes once, from the right turn of the right
 * environment; payloads, replies and requests have any size. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/pool.h"
#include "process_tests.h"
#include "processes/lanes.h"
#include "processes/worker.c"

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 150, MESSAGE_ROUNDS = 1 };
#else
enum { ROUNDS = 2000, MESSAGE_ROUNDS = 4 };
#endif

/* --------------------------------------------------------------------------------- steps -- */

/* resets all environments, then sends those that were received, round after round */
static void play(test_pool *w, int32_t rounds) {
  int32_t ids[MAX_ENVS], count = w->c.options.num_envs,
                         is_ordered = w->c.options.batch_size == count;
  test_pool_send(w, NULL, count, 1);
  for (int32_t round = 0; round < rounds; round++) {
    int32_t rows = test_pool_recv(w, ids);
    if (rows <= 0) return;
    if (is_ordered && round % 5 == 4) {
      // some of them, in two sends, the last ones first
      test_pool_send(w, ids + 1, rows - 1, round % 2);
      test_pool_send(w, ids, 1, 0);
    } else {
      test_pool_send(w, is_ordered && round % 5 ? NULL : ids, is_ordered ? count : rows,
                     round % 31 == 30);
    }
  }
  // in an unordered pool some stay in flight
  if (is_ordered) test_pool_recv(w, ids);
}

static void run_processes(int32_t num_envs, int32_t batch_size, int32_t num_lanes, int32_t chunk) {
  test_pool w = test_pool_open(num_envs, batch_size, num_lanes, PP_NEXT_STEP);
  w.chunk = chunk;
  w.fails = num_envs % 2;
  test_pool_start_all(&w);
  play(&w, ROUNDS);
  test_pool_close(&w);
}

TEST(ordered_rows_come_from_their_turns) {
  run_processes(2, 2, 1, MAX_ENVS);
  run_processes(5, 5, 2, 1);
  run_processes(8, 8, 3, 2);
  run_processes(13, 13, 4, MAX_ENVS);
}

TEST(unordered_rows_come_from_their_turns) {
  run_processes(2, 1, 1, 1);
  run_processes(3, 1, 3, 1);
  run_processes(5, 2, 2, 1);
  run_processes(7, 3, 3, 2);
  run_processes(8, 7, 4, MAX_ENVS);
  run_processes(MAX_ENVS, 5, 4, 3);
}

/* batches that are cut, and whole ones among them */
static void run_cut(int32_t num_envs, int32_t batch_size, int32_t num_lanes, int32_t chunk) {
  test_pool w = test_pool_open(num_envs, batch_size, num_lanes, PP_NEXT_STEP);
  int32_t ids[MAX_ENVS];
  w.chunk = chunk;
  w.fails = num_envs % 2;
  test_pool_start_all(&w);
  test_pool_send(&w, NULL, num_envs, 1);
  for (int32_t round = 0; round < 2 * ROUNDS; round++) {
    int32_t rows;
    w.c.min_rows = round % 5 ? 1 + round * 7 % batch_size : 0;
    rows = test_pool_try(&w, ids, round % 3 ? -1 : round % 4 * 50000);
    if (rows > 0) test_pool_send(&w, ids, rows, round % 31 == 30);
  }
  w.c.min_rows = 1;
  while (pp_pool_in_flight(w.c.pool)) test_pool_recv(&w, ids);
  test_pool_close(&w);
}

TEST(rows_of_cut_batches_come_from_their_turns) {
  run_cut(2, 1, 1, 1);
  run_cut(5, 4, 2, 1);
  run_cut(8, 4, 3, 2);
  run_cut(8, 7, 4, MAX_ENVS);
  run_cut(MAX_ENVS, 5, 4, 3);
}

/* ------------------------------------------------------------------------------ messages -- */

static const int64_t sizes[] = {1, 255, 256, 257, 64 << 10, 5 << 20, 100, 0, 3 << 20};
enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };

/* workers reply to a payload with its own bytes */
TEST(payloads_and_replies_have_any_size) {
  test_pool w = test_pool_open(3, 3, 2, PP_NEXT_STEP);
  uint8_t *bytes = malloc(5 << 20);
  const void *replied;
  int64_t size, actions[3] = {1, 1, 1};
  test_pool_start_all(&w);
  for (int32_t turn = 0; turn < MESSAGE_ROUNDS * NUM_SIZES; turn++) {
    for (int32_t i = 0; i < 3; i++) {
      size = sizes[(turn + 4 * i) % NUM_SIZES];
      fill(bytes, size, turn + i);
      CHECK_EQ(pp_pool_set_payload(w.c.pool, i, bytes, size, &w.c.error), PP_OK);
    }
    CHECK_EQ(pp_pool_send(w.c.pool, NULL, 3, actions, PP_UINT8, &w.c.error), PP_OK);
    CHECK_EQ(pp_pool_set_payload(w.c.pool, 1, bytes, 1, &w.c.error), PP_ERR_STATE);
    CHECK_EQ(client_recv(&w.c), 3);
    w.rows += 3;
    for (int32_t i = 0; i < 3; i++) {
      replied = pp_pool_reply(w.c.pool, i, &size);
      CHECK_EQ(size, sizes[(turn + 4 * i) % NUM_SIZES]);
      CHECK(size ? is_filled(replied, size, turn + i) : !replied);
    }
  }
  free(bytes);
  test_pool_close(&w);
}

static int64_t used(const test_pool *w) {
  return w->c.pool->processes->heap->used;
}

/* A payload is for one turn: the next turn of the environment has none, and its memory is freed. */
TEST(payloads_are_for_one_turn) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  uint8_t *bytes = calloc(1, 3 << 20);
  int32_t ids[MAX_ENVS];
  int64_t before = 0;
  test_pool_start_all(&w);
  for (int32_t round = 0; round < 12; round++) {
    // some turns have them, the others have none: check_reply knows
    for (int32_t i = 0; i < 4 && round % 3 == 1; i++) test_pool_payload(&w, i, MAX_REPLY - i);
    test_pool_send(&w, NULL, 4, round % 4 == 0);
    CHECK_EQ(test_pool_recv(&w, ids), 4);
    if (round == 3) before = used(&w);
    if (round > 3) CHECK_EQ(used(&w), before);
  }
  // one that is replaced, and one that is taken back
  before = used(&w);
  for (int64_t size = 3 << 20; size > 0; size -= 1 << 20) {
    CHECK_EQ(pp_pool_set_payload(w.c.pool, 0, bytes, size, NULL), PP_OK);
    CHECK_EQ(used(&w), before + size);
  }
  CHECK_EQ(pp_pool_set_payload(w.c.pool, 0, NULL, 0, NULL), PP_OK);
  CHECK_EQ(used(&w), before);
  free(bytes);
  test_pool_close(&w);
}

/* a refused send drops the payloads that were set for it, and no others */
TEST(refused_sends_leave_no_payloads_behind) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  const int32_t out[3] = {0, 1, 4}, twice[3] = {0, 1, 0}, many[5] = {0, 1, 0, 1, 0}, one[1] = {2};
  pp_pool *pool = w.c.pool;
  int64_t actions[4] = {1, 1, 1, 1}, size;
  test_pool_start_all(&w);
  CHECK_EQ(pp_pool_send(pool, NULL, 4, actions, PP_UINT8, NULL), PP_OK);
  CHECK_EQ(client_recv(&w.c), 4);
  int64_t before = used(&w);
  for (int refusal = 0; refusal < 8; refusal++) {
    for (int32_t i = 0; i < 2; i++) CHECK_EQ(pp_pool_set_payload(pool, i, "order", 5, NULL), PP_OK);
    CHECK(used(&w) > before);
    int status = 0;
    switch (refusal) {
      case 0: status = pp_pool_send(pool, out, 3, actions, PP_UINT8, NULL); break;
      case 1: status = pp_pool_send(pool, twice, 3, actions, PP_UINT8, NULL); break;
      case 2: status = pp_pool_send(pool, many, 5, actions, PP_UINT8, NULL); break;
      case 3: status = pp_pool_send(pool, NULL, 4, NULL, PP_UINT8, NULL); break;
      case 4: status = pp_pool_send(pool, NULL, 4, actions, PP_FLOAT64, NULL); break;
      case 5: status = pp_pool_send_reset(pool, out, 3, NULL, NULL, NULL, NULL); break;
      case 6: status = pp_pool_step(pool, NULL, 4, actions, PP_UINT8, NULL, NULL); break;
      default: status = pp_pool_step(pool, NULL, 3, actions, PP_UINT8, w.c.fresh, NULL);
    }
    CHECK(status < 0);
    CHECK_EQ(used(&w), before);
  }
  // the payload of a turn in flight is not that of the refused send
  CHECK_EQ(pp_pool_set_payload(pool, 2, "third", 5, NULL), PP_OK);
  CHECK_EQ(pp_pool_set_payload(pool, 0, "first", 5, NULL), PP_OK);
  test_pool_stop(&w, 1);
  CHECK_EQ(pp_pool_send(pool, one, 1, actions, PP_UINT8, NULL), PP_OK);
  CHECK_EQ(pp_pool_send(pool, NULL, 4, actions, PP_UINT8, NULL), PP_ERR_STATE);
  CHECK(used(&w) > before);
  kill(w.pids[1], SIGCONT);
  CHECK_EQ(client_recv(&w.c), 1);
  const char *reply = pp_pool_reply(pool, 2, &size);
  CHECK(size == 5 && memcmp(reply, "third", 5) == 0);
  CHECK_EQ(used(&w), before);
  CHECK_EQ(pp_pool_send(pool, NULL, 4, actions, PP_UINT8, NULL), PP_OK);
  CHECK_EQ(client_recv(&w.c), 4);
  for (int32_t i = 0; i < 4; i++) CHECK(!pp_pool_reply(pool, i, &size) && size == 0);
  w.rows += 9;
  test_pool_close(&w);
}

/* waits for an answer, however many time slices that takes */
static int32_t answer_of(test_pool *w, int32_t lane, const void **bytes, int64_t *size) {
  int32_t status;
  do status = pp_pool_answer(w->c.pool, lane, SECOND, bytes, size, &w->c.error);
  while (status == 0);
  return status;
}

TEST(actions_of_mixed_dtypes_are_refused) {
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {.num_envs = 1,
                             .batch_size = 1,
                             .thread_affinity_offset = -1,
                             .max_episode_steps = -1,
                             .reward_dtype = PP_FLOAT64};
  struct {
    double action;
    uint8_t dtype;
  } mixed = {1, PP_INT64};
  pp_pool *pool;
  pp_error error;
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_INT64};
  config.action = (pp_field){.name = "action", .space = PP_DISCRETE, .dtype = PP_INT64, .n = 2};
  REQUIRE(pp_pool_create_processes(&config, &options, 1, 0, NULL, &pool, &error) == PP_OK);
  for (int32_t i = 0; i < pp_pool_batches(pool); i++) {
    CHECK_EQ(pp_pool_offer(pool, pp_batch_alloc(pool), &error), PP_OK);
  }
  CHECK_EQ(pp_pool_send(pool, NULL, 1, &mixed, PP_MIXED_DTYPES, &error), PP_ERR_TYPE);
  pp_pool_destroy(pool);
}

/* workers answer a request with its own bytes */
TEST(requests_and_answers_have_any_size) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  uint8_t *bytes = malloc(5 << 20);
  const void *answered;
  int64_t size;
  test_pool_start_all(&w);
  for (int32_t turn = 0; turn < MESSAGE_ROUNDS * NUM_SIZES; turn++) {
    for (int32_t lane = 0; lane < 2; lane++) {
      size = sizes[(turn + 2 * lane) % NUM_SIZES];
      fill(bytes, size, turn + lane);
      CHECK_EQ(pp_pool_request(w.c.pool, lane, bytes, size, &w.c.error), PP_OK);
    }
    for (int32_t lane = 1; lane >= 0; lane--) {
      CHECK_EQ(answer_of(&w, lane, &answered, &size), 1);
      CHECK_EQ(size, sizes[(turn + 2 * lane) % NUM_SIZES]);
      CHECK(is_filled(answered, size, turn + lane));
    }
  }
  free(bytes);
  test_pool_close(&w);
}

TEST(a_worker_has_one_request_at_a_time) {
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  const void *answered;
  int64_t size;
  CHECK_EQ(pp_pool_request(w.c.pool, 0, "one", 3, &w.c.error), PP_OK);
  CHECK_EQ(pp_pool_request(w.c.pool, 0, "two", 3, &w.c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_answer(w.c.pool, 0, 1000, &answered, &size, &w.c.error), 0);
  // without a timeout the call returns after a time slice
  CHECK_EQ(pp_pool_answer(w.c.pool, 0, -1, &answered, &size, &w.c.error), 0);
  test_pool_start_all(&w);
  CHECK_EQ(answer_of(&w, 0, &answered, &size), 1);
  CHECK(size == 3 && memcmp(answered, "one", 3) == 0);
  test_pool_close(&w);
}

/* The numbers of requests wrap around, and the memory of an answered request is freed. */
TEST(a_request_is_forgotten_once_it_is_answered) {
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  pp_mailbox *mailbox = &w.c.pool->processes->board.mailboxes[0];
  const void *answered;
  int64_t size, before = used(&w);
  atomic_store(&mailbox->request, UINT32_MAX - 3);
  atomic_store(&mailbox->answered, UINT32_MAX - 3);
  atomic_store(&mailbox->gate.epoch, UINT32_MAX - 2);
  test_pool_start_all(&w);
  for (int32_t turn = 0; turn < 8; turn++) {
    CHECK_EQ(pp_pool_request(w.c.pool, 0, &turn, sizeof(turn), &w.c.error), PP_OK);
    CHECK(used(&w) > before);
    CHECK_EQ(answer_of(&w, 0, &answered, &size), 1);
    CHECK(size == sizeof(turn) && memcmp(answered, &turn, sizeof(turn)) == 0);
    CHECK_EQ(used(&w), before);
  }
  CHECK_EQ(atomic_load(&mailbox->answered), 4);
  test_pool_close(&w);
}

/* the room of replies is used again, also that of empty ones */
TEST(the_reply_heap_of_a_worker_does_not_grow_for_ever) {
  pp_worker *worker;
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  pp_pool *pool = w.c.pool;
  int64_t end = 0, size;
  CHECK_EQ(pp_worker_open(pp_pool_memory_fd(pool), pp_pool_reserve(pool), pp_pool_reply_fd(pool, 0),
                          0, &worker, NULL),
           PP_OK);
  for (int32_t round = 0; round < 10 * MESSAGE_ROUNDS; round++) {
    for (int i = 0; i < NUM_SIZES; i++) {
      pp_pool_request(pool, 0, "x", 1, NULL);
      CHECK(pp_worker_request(worker, &size) != NULL);
      static uint8_t bytes[5 << 20];
      CHECK_EQ(pp_worker_answer(worker, bytes, sizes[i], NULL), PP_OK);
    }
    if (round == 1) end = worker->reply_heap.end;
  }
  CHECK_EQ(worker->reply_heap.end, end);
  pp_worker_close(worker);
  test_pool_close(&w);
}

/* Two workers serve a lane in turn: the second one resumes after the first one's turns, and does
 * not write where a reply lies that the parent may not have read. */
TEST(a_worker_resumes_after_another) {
  test_pool w = test_pool_open(1, 1, 1, PP_NEXT_STEP);
  pp_pool *pool = w.c.pool;
  pp_worker *both[2];
  uint8_t bytes[1000];
  const void *found;
  int64_t size;
  for (int i = 0; i < 2; i++) {
    CHECK_EQ(pp_worker_open(pp_pool_memory_fd(pool), pp_pool_reserve(pool),
                            pp_pool_reply_fd(pool, 0), 0, &both[i], NULL),
             PP_OK);
  }
  for (int round = 0; round < 6; round++) {
    pp_worker *worker = both[round % 2];
    CHECK_EQ(pp_pool_send_reset(pool, NULL, 1, NULL, NULL, NULL, NULL), PP_OK);
    CHECK_EQ(pp_worker_take(worker, 0), 1);
    fill(bytes, 1000, round);
    CHECK_EQ(pp_worker_reply(worker, 0, bytes, 1000, NULL), PP_OK);
    pp_worker_turns(worker)->kinds[0] = PP_TURN_RESET;
    pp_worker_deliver(worker, 0, 1);
    CHECK_EQ(client_recv(&w.c), 1);
    worker = both[(round + 1) % 2];
    CHECK_EQ(pp_worker_resume(worker), PP_OK);
    CHECK_EQ(pp_pool_request(pool, 0, "x", 1, NULL), PP_OK);
    CHECK_EQ(pp_worker_take(worker, 0), 0);
    fill(bytes, 1000, round + 100);
    CHECK_EQ(pp_worker_answer(worker, bytes, 1000, NULL), PP_OK);
    CHECK_EQ(answer_of(&w, 0, &found, &size), 1);
    CHECK(size == 1000 && is_filled(found, size, round + 100));
    found = pp_pool_reply(pool, 0, &size);
    CHECK(size == 1000 && is_filled(found, size, round));
  }
  w.rows += 6;
  for (int i = 0; i < 2; i++) pp_worker_close(both[i]);
  test_pool_close(&w);
}

/* -------------------------------------------------------------------- threads as workers -- */

/* A worker that uses the pool's own mapping, because ThreadSanitizer does not see races between two
 * mappings. */
static pp_worker *open_here(const test_pool *w, int32_t lane) {
  const pp_processes *processes = w->c.pool->processes;
  pp_worker *worker = calloc(1, sizeof(*worker));
  worker->lane = lane;
  worker->memory_fd = worker->reply_fd = -1;
  worker->fork_generation = pp_os_fork_generation();
  worker->board = processes->board;
  pp_board_lane_envs(&worker->board, lane, &worker->first, &worker->count);
  CHECK_EQ(alloc_turns(worker), PP_OK);
  CHECK_EQ(pp_reply_heap_init(&worker->reply_heap, processes->lanes[lane].reply_fd,
                              PP_REPLY_HEAP_RESERVE, 0, 0),
           PP_OK);
  pp_reply_heap_fini(&worker->reply_heap);
  worker->reply_heap.base = processes->lanes[lane].replies;
  return worker;
}

typedef struct helper {
  const test_pool *pool;
  int32_t lane;
  int64_t number;
  pp_worker *worker;
  pthread_t thread;
} helper;

static void *help(void *arg) {
  helper *self = arg;
  work(self->pool, self->worker, self->number);
  return NULL;
}

static void run_threads(int32_t num_envs, int32_t batch_size, int32_t num_lanes, int32_t chunk) {
  test_pool w = test_pool_open(num_envs, batch_size, num_lanes, PP_NEXT_STEP);
  helper helpers[MAX_LANES];
  w.chunk = chunk;
  for (int32_t i = 0; i < num_lanes; i++) {
    test_pool_expect(&w, i);
    helpers[i] =
        (helper){.pool = &w, .lane = i, .number = w.started[i], .worker = open_here(&w, i)};
    pp_os_thread_start(&helpers[i].thread, help, &helpers[i], "helper");
  }
  play(&w, ROUNDS);
  pp_pool_close(w.c.pool, -1);
  for (int32_t i = 0; i < num_lanes; i++) {
    pthread_join(helpers[i].thread, NULL);
    // the mapping is the pool's
    helpers[i].worker->reply_heap.base = NULL;
    pp_worker_close(helpers[i].worker);
  }
  test_pool_close(&w);
}

TEST(threads_in_place_of_workers_share_memory_without_races) {
  run_threads(5, 5, 2, 1);
  run_threads(12, 12, 4, 2);
  run_threads(7, 3, 3, 1);
  run_threads(8, 7, 4, MAX_ENVS);
}

/* -------------------------------------------------------------------------- wrong counts -- */

/* sends a reset, waits until lane 1 has counted its rows, and overwrites that count */
static int32_t miscount(test_pool *w, int32_t count) {
  pp_board *board = &w->c.pool->processes->board;
  _Atomic int32_t *done = &board->rows_done[2 * (w->c.pool->ring.received % 2) + 1];
  test_pool_send(w, NULL, 4, 1);
  while (atomic_load(done) != 2) usleep(1000);
  atomic_store(done, count);
  return client_recv(&w->c);
}

/* The parent wakes the sleeping workers with a probe, and the wrong count shows. */
TEST(a_wrong_count_is_found_while_workers_sleep) {
  for (int32_t count = 0; count < 2; count++) {
    int32_t ids[MAX_ENVS];
    test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
    test_pool_start_all(&w);
    test_pool_send(&w, NULL, 4, 1);
    CHECK_EQ(test_pool_recv(&w, ids), 4);
    CHECK_EQ(miscount(&w, count), PP_ERR_BROKEN);
    test_pool_close(&w);
  }
}

TEST(a_worker_that_was_stopped_is_waited_for) {
  int32_t ids[MAX_ENVS];
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  test_pool_start_all(&w);
  test_pool_stop(&w, 1);
  test_pool_send(&w, NULL, 4, 1);
  for (int i = 0; i < 5; i++) CHECK_EQ(test_pool_try(&w, ids, -1), 0);
  kill(w.pids[1], SIGCONT);
  CHECK_EQ(test_pool_recv(&w, ids), 4);
  test_pool_close(&w);
}

/* -------------------------------------------------------------------- children of workers -- */

/* in a child of a worker: every call is refused, and the pool sees nothing that it writes */
static int be_a_stray(pp_worker *worker) {
  int64_t size;
  pp_turns *turns = pp_worker_turns(worker);
  if (pp_worker_take(worker, SECOND) != PP_ERR_FORKED) return 10;
  if (pp_worker_reply(worker, 0, "stray", 5, NULL) != PP_ERR_FORKED) return 11;
  if (pp_worker_answer(worker, "stray", 5, NULL) != PP_ERR_FORKED) return 12;
  pp_worker_deliver(worker, 0, 1);
  if (*(int64_t *)pp_worker_actions(worker, &size) != 7) return 13;
  memset(pp_worker_actions(worker, &size), 0xff, 8);
  *pp_worker_current_env(worker) = 77;
  memset((char *)pp_worker_block(worker, 0), 0xff, sizeof(pp_board_head));
  turns->rewards[0] = 77;
  pp_worker_close(worker);
  return 0;
}

static void fork_in_turn(int32_t batch_size, int32_t is_closed) {
  test_pool w = test_pool_open(4, batch_size, 1, PP_NEXT_STEP);
  test_worker h = {.pool = &w, .number = 1};
  int32_t ids[MAX_ENVS];
  int64_t actions[4] = {7, 7, 7, 7}, size;
  int how = -1;
  test_pool_expect(&w, 0);
  for (int32_t i = 0; i < MAX_ENVS; i++) h.is_ended[i] = 1;
  CHECK_EQ(pp_worker_open(pp_pool_memory_fd(w.c.pool), pp_pool_reserve(w.c.pool),
                          pp_pool_reply_fd(w.c.pool, 0), 0, &h.worker, NULL),
           PP_OK);
  // environments may close descriptors that are not theirs
  if (is_closed) close(h.worker->memory_fd);
  CHECK_EQ(pp_pool_send(w.c.pool, NULL, 4, actions, PP_UINT8, NULL), PP_OK);
  for (int32_t i = 0; i < 4; i++) w.envs[i].is_in_flight = 1, w.envs[i].action = 7;
  CHECK_EQ(pp_worker_take(h.worker, 0), 4);
  CHECK_EQ(pp_worker_turns(h.worker)->delivered, 0);
  for (int32_t turn = 0; turn < 4; turn++) {
    if (turn == 1) {
      pid_t child = fork();
      if (child == 0) _exit(be_a_stray(h.worker));
      CHECK_EQ(waitpid(child, &how, 0), child);
      // if its memory could not be made private, the first write kills it
      CHECK(how == 0 || (is_closed && WIFSIGNALED(how)));
    }
    take_turn(&h, turn);
  }
  CHECK_EQ(*pp_worker_current_env(h.worker), 3);
  CHECK_EQ(*(int64_t *)pp_worker_actions(h.worker, &size), 7);
  pp_worker_deliver(h.worker, 0, 3);
  CHECK_EQ(pp_worker_turns(h.worker)->delivered, 3);
  pp_worker_deliver(h.worker, 3, 1);
  CHECK_EQ(pp_worker_turns(h.worker)->delivered, 4);
  for (int32_t rows = 0; rows < 4; rows += batch_size)
    CHECK_EQ(test_pool_try(&w, ids, 0), batch_size);
  pp_worker_close(h.worker);
  test_pool_close(&w);
}

TEST(a_forked_child_of_a_worker_leaves_the_pool_alone) {
  fork_in_turn(4, 0);
  fork_in_turn(2, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  fork_in_turn(4, 1);
#endif
}

TEST(the_copy_of_a_descriptor_is_closed_with_its_worker) {
  test_pool w = test_pool_open(1, 1, 1, PP_NEXT_STEP);
  int32_t copy = -1;
  for (int i = 0; i < 3; i++) {
    pp_worker *worker;
    CHECK_EQ(pp_worker_open(pp_pool_memory_fd(w.c.pool), pp_pool_reserve(w.c.pool),
                            pp_pool_reply_fd(w.c.pool, 0), 0, &worker, NULL),
             PP_OK);
    CHECK(i == 0 || worker->memory_fd == copy);
    copy = worker->memory_fd;
    CHECK(fcntl(copy, F_GETFD) == FD_CLOEXEC);
    pp_worker_close(worker);
    CHECK(fcntl(copy, F_GETFD) == -1);
  }
  test_pool_close(&w);
}

/* ------------------------------------------------------------------------ address space -- */

static void check_room(int64_t parent, int64_t worker, int64_t most, int64_t replies) {
  const pp_address_space share = {parent, worker};
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {.num_envs = 4, .batch_size = 4, .thread_affinity_offset = -1};
  pp_pool *pool;
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_UINT8, .ndim = 1, .shape = {1 << 20}};
  config.action = (pp_field){.name = "action", .dtype = PP_UINT8};
  options.max_episode_steps = -1;
  options.reward_dtype = PP_FLOAT64;
  CHECK_EQ(pp_pool_create_processes(&config, &options, 4, 1, &share, &pool, NULL), PP_OK);
  if (!pool) return;
  CHECK(pp_pool_reserve(pool) <= most);
  CHECK_EQ(pool->processes->board.shape.reply_reserve, replies);
  pp_pool_destroy(pool);
}

TEST(a_pool_takes_no_more_address_space_than_it_may) {
  const int64_t gib = INT64_C(1) << 30, any = INT64_MAX;
  const pp_address_space little = {16 << 20, 0};
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {.num_envs = 4, .batch_size = 4, .thread_affinity_offset = -1};
  pp_pool *pool;
  pp_error error;
  check_room(0, 0, any, PP_REPLY_HEAP_RESERVE);
  check_room(gib, 0, gib - gib / 4, gib / 16);
  check_room(0, gib, gib - gib / 4, gib / 4);
  check_room(gib, gib / 2, gib / 2 - gib / 16, gib / 16);
  check_room(64 * gib, 0, 60 * gib, PP_REPLY_HEAP_RESERVE);
  // six results of 4 MB do not fit
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_UINT8, .ndim = 1, .shape = {1 << 20}};
  config.action = (pp_field){.name = "action", .dtype = PP_UINT8};
  options.max_episode_steps = -1;
  options.reward_dtype = PP_FLOAT64;
  CHECK_EQ(pp_pool_create_processes(&config, &options, 4, 1, &little, &pool, &error),
           PP_ERR_MEMORY);
  CHECK(!pool && strstr(error.text, "ulimit -v") != NULL);
}

/* ------------------------------------------------------------------------------- the end -- */

/* a thread that calls the pool until it is closed */
typedef struct visitor {
  test_pool *pool;
  int32_t last;
  pthread_t thread;
} visitor;

static void *receive_on(void *arg) {
  visitor *self = arg;
  int32_t ids[MAX_ENVS];
  while ((self->last = client_recv(&self->pool->c)) > 0) {
    test_pool *w = self->pool;
    w->rows += self->last;
    memcpy(ids, column(&w->c, "env_id"), sizeof(*ids) * (size_t)self->last);
    int64_t actions[MAX_ENVS] = {0};
    if (pp_pool_send(w->c.pool, ids, self->last, actions, PP_UINT8, NULL) < 0) break;
  }
  return NULL;
}

static void *ask_on(void *arg) {
  visitor *self = arg;
  const void *bytes;
  int64_t size;
  do {
    self->last = pp_pool_request(self->pool->c.pool, 0, "x", 1, NULL);
    while (self->last == 0) {
      self->last = pp_pool_answer(self->pool->c.pool, 0, SECOND, &bytes, &size, NULL);
    }
  } while (self->last > 0);
  return NULL;
}

TEST(a_pool_is_closed_while_threads_receive_and_ask) {
  for (int32_t round = 0; round < 20; round++) {
    test_pool w = test_pool_open(6, round % 2 ? 6 : 4, 2, PP_NEXT_STEP);
    visitor receiver = {.pool = &w}, asker = {.pool = &w};
    test_pool_start_all(&w);
    test_pool_send(&w, NULL, 6, 1);
    pp_os_thread_start(&receiver.thread, receive_on, &receiver, "receiver");
    pp_os_thread_start(&asker.thread, ask_on, &asker, "asker");
    usleep((useconds_t)(round * 400));
    pp_pool_close(w.c.pool, -1);
    pthread_join(receiver.thread, NULL);
    pthread_join(asker.thread, NULL);
    CHECK_EQ(asker.last, PP_ERR_CLOSED);
    CHECK(receiver.last == PP_ERR_CLOSED || receiver.last > 0);
    CHECK_EQ(pp_pool_set_payload(w.c.pool, 0, "x", 1, NULL), PP_ERR_CLOSED);
    CHECK_EQ(pp_pool_worker_died(w.c.pool, 0, PP_DEATH_FAIL, NULL, NULL), PP_ERR_CLOSED);
    test_pool_close(&w);
  }
}

/* in a child of the parent: every call is refused, and the parent's pool is not harmed */
static int be_a_child(test_pool *w) {
  int64_t actions[4] = {0}, size;
  const void *bytes;
  int32_t ids[4];
  pp_pool *pool = w->c.pool;
  if (pp_pool_send(pool, NULL, 4, actions, PP_UINT8, NULL) != PP_ERR_FORKED) return 10;
  if (pp_pool_set_payload(pool, 0, "x", 1, NULL) != PP_ERR_FORKED) return 11;
  if (pp_pool_request(pool, 0, "x", 1, NULL) != PP_ERR_FORKED) return 12;
  if (pp_pool_answer(pool, 0, 0, &bytes, &size, NULL) != PP_ERR_FORKED) return 13;
  if (pp_pool_worker_died(pool, 0, PP_DEATH_FAIL, ids, NULL) != PP_ERR_FORKED) return 14;
  if (pp_batch_alloc(pool)) return 15;
  pp_pool_close(pool, -1);
  pp_pool_destroy(pool);
  for (int32_t i = 0; i < w->c.capacity; i++) pp_batch_free(w->c.given[i], w->c.size);
  // and it may have a pool of its own
  test_pool own = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  test_pool_start_all(&own);
  test_pool_send(&own, NULL, 2, 1);
  int32_t rows = test_pool_recv(&own, ids);
  test_pool_close(&own);
  return rows == 2 && !atomic_load(&check_failed) ? 0 : 16;
}

TEST(a_forked_child_of_the_parent_leaves_the_pool_alone) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  int32_t ids[MAX_ENVS];
  int how = -1;
  test_pool_start_all(&w);
  test_pool_send(&w, NULL, 4, 1);
  pid_t child = fork();
  if (child == 0) _exit(be_a_child(&w));
  CHECK_EQ(waitpid(child, &how, 0), child);
  CHECK_EQ(how, 0);
  CHECK_EQ(test_pool_recv(&w, ids), 4);
  for (int32_t i = 0; i < 10; i++) {
    test_pool_send(&w, NULL, 4, 0);
    CHECK_EQ(test_pool_recv(&w, ids), 4);
  }
  test_pool_close(&w);
}

TEST(batches_outlive_their_pool) {
  test_pool w = test_pool_open(3, 3, 1, PP_NEXT_STEP);
  test_pool other = test_pool_open(3, 3, 1, PP_NEXT_STEP);
  int32_t ids[MAX_ENVS];
  test_pool_start_all(&w);
  test_pool_send(&w, NULL, 3, 1);
  CHECK_EQ(test_pool_recv(&w, ids), 3);
  void *batch = w.c.batch;
  int64_t size = w.c.size, *obs = column(&w.c, "obs");
  w.c.batch = NULL;
  test_pool_close(&w);
  test_pool_close(&other);
  for (int32_t i = 0; i < 3; i++) CHECK_EQ(obs[4 * i], i);
  pp_batch_free(batch, size);
}
