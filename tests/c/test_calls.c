/* Wrong arguments, and calls to pools of the wrong kind: each only returns an error. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/pool.h"
#include "process_tests.h"
#include "processes/lanes.h"

enum { NUM_ENVS = 4 };

/* a pool of either kind, after a reset, with nothing in flight */
static test_pool open_pool(int32_t is_in_processes) {
  test_pool w = {.num_lanes = 0};
  if (is_in_processes) {
    w = test_pool_open(NUM_ENVS, NUM_ENVS, 2, PP_NEXT_STEP);
    test_pool_start_all(&w);
    test_pool_send(&w, NULL, NUM_ENVS, 1);
  } else {
    w.c = make_client("CartPole-v1", NUM_ENVS);
    CHECK(client_open(&w.c));
    CHECK_EQ(pp_pool_send_reset(w.c.pool, NULL, NUM_ENVS, NULL, NULL, NULL, &w.c.error), PP_OK);
  }
  CHECK_EQ(client_recv(&w.c), NUM_ENVS);
  w.rows = NUM_ENVS;
  return w;
}

static int32_t step_all(test_pool *w) {
  int64_t actions[NUM_ENVS] = {1, 1, 1, 1};
  int32_t dtype = w->num_lanes ? PP_UINT8 : PP_INT64;
  CHECK_EQ(pp_pool_send(w->c.pool, NULL, NUM_ENVS, actions, dtype, &w->c.error), PP_OK);
  return client_recv(&w->c);
}

/* Checks that the pool still works, and closes it. */
static void close_pool(test_pool *w) {
  CHECK_EQ(pp_pool_in_flight(w->c.pool), 0);
  CHECK_EQ(step_all(w), NUM_ENVS);
  w->rows += NUM_ENVS;
  test_pool_close(w);
}

static const int32_t not_there[] = {-1, NUM_ENVS, INT_MIN, INT_MAX};

/* checks a status, and that the error has the same code and a text */
static void check_refused(test_pool *w, int64_t status, int32_t expected) {
  CHECK_EQ(status, expected);
  CHECK_EQ(w->c.error.code, expected);
  CHECK(strlen(w->c.error.text) > 10);
  w->c.error = (pp_error){0};
}

#define REFUSED(call, status) check_refused(&w, call, status)

/* ------------------------------------------------------------------------- any kind of pool -- */

static void check_sends(int32_t is_in_processes) {
  test_pool w = open_pool(is_in_processes);
  pp_pool *pool = w.c.pool;
  pp_error *error = &w.c.error;
  int64_t actions[NUM_ENVS + 1] = {0};
  int32_t dtype = is_in_processes ? PP_UINT8 : PP_INT64, twice[2] = {1, 1}, own[1] = {1};
  void *fresh = w.c.fresh, *none[MAX_BATCHES] = {NULL};

  for (int i = 0; i < 4; i++) {
    int32_t ids[2] = {0, not_there[i]};
    REFUSED(pp_pool_send(pool, ids, 2, actions, dtype, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_send_reset(pool, ids, 2, NULL, NULL, NULL, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_step(pool, ids, 2, actions, dtype, fresh, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_send(pool, NULL, not_there[i] + (i == 1), actions, dtype, error),
            PP_ERR_ARGUMENT);
    REFUSED(pp_pool_send(pool, own, not_there[i] + (i == 1), actions, not_there[i], error),
            PP_ERR_ARGUMENT);
    REFUSED(pp_pool_send(pool, own, 1, actions, 77, error), PP_ERR_TYPE);
    CHECK_EQ(pp_pool_needs_reset(pool, not_there[i]), PP_ERR_ARGUMENT);
    CHECK(!pp_pool_env_error(pool, not_there[i]));
  }
  REFUSED(pp_pool_send(pool, twice, 2, actions, dtype, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_send(pool, own, 0, actions, dtype, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_send(pool, own, 1, NULL, dtype, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_step(pool, NULL, NUM_ENVS, NULL, dtype, fresh, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_step(pool, NULL, NUM_ENVS, actions, dtype, NULL, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_recv(pool, NULL, 0, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_recv(pool, fresh, -1, error), PP_ERR_STATE);
  REFUSED(pp_pool_offer(pool, NULL, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_roll(pool, fresh, 0, &fresh, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_roll(pool, fresh, INT32_MAX, &fresh, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_roll(pool, fresh, 1, NULL, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_roll(pool, NULL, 0, none, error), PP_ERR_ARGUMENT);
  CHECK(!pp_rollout_alloc(pool, 0));
  CHECK(!pp_rollout_alloc(pool, INT32_MAX));
  REFUSED(pp_pool_offer(pool, fresh, error), PP_ERR_STATE);
  close_pool(&w);
}

TEST(wrong_sends_are_refused) {
  check_sends(0);
  check_sends(1);
}

static void check_queries(int32_t is_in_processes) {
  test_pool w = open_pool(is_in_processes);
  pp_pool *pool = w.c.pool;
  pp_error *error = &w.c.error;
  pp_image image = {0};
  void *fields[PP_MAX_FIELDS] = {0};
  char bytes[8];
  const void *snapshots[1] = {bytes};
  const int64_t sizes[1] = {8};

  for (int i = 0; i < 4; i++) {
    REFUSED(pp_pool_get_state(pool, not_there[i], NULL, 0, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_set_state(pool, &not_there[i], 1, snapshots, sizes, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_observe(pool, not_there[i], fields, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_render(pool, not_there[i], &image, error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_expose(pool, not_there[i], bytes, error), PP_ERR_ARGUMENT);
  }
  int32_t own[1] = {1}, here = is_in_processes ? PP_ERR_STATE : PP_ERR_ARGUMENT;
  REFUSED(pp_pool_get_state(pool, 1, bytes, 8, error), here);
  REFUSED(pp_pool_set_state(pool, own, 1, snapshots, sizes, error), here);
  REFUSED(pp_pool_set_state(pool, NULL, 1, snapshots, sizes, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_state(pool, own, 1, NULL, sizes, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_state(pool, own, 1, snapshots, NULL, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_state(pool, own, -1, snapshots, sizes, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_observe(pool, 1, NULL, error), here);
  REFUSED(pp_pool_render(pool, 1, NULL, error), PP_ERR_STATE);
  REFUSED(pp_pool_expose(pool, 1, NULL, error), here);
  CHECK(pp_pool_columns(pool, NULL) != NULL);
  CHECK(pp_pool_config(pool) != NULL);
  CHECK(pp_pool_failed(pool, NULL, NULL) != NULL);
  CHECK_EQ(pp_pool_last_result(pool, NULL), 0);
  pp_pool_stats(pool, NULL);
  close_pool(&w);
}

TEST(wrong_queries_are_refused) {
  check_queries(0);
  check_queries(1);
}

static void check_seeds(int32_t is_in_processes) {
  test_pool w = open_pool(is_in_processes);
  const uint32_t words[NUM_ENVS] = {1, 2, 3, 4};
  const int32_t sizes[NUM_ENVS] = {1, 1, 1, 1}, wrong[NUM_ENVS] = {1, 1, -1, 99}, ids[2] = {0, 3};
  pp_error *error = &w.c.error;
  pp_value value = {0};
  int32_t here = is_in_processes ? PP_ERR_STATE : PP_ERR_ARGUMENT;
  REFUSED(pp_pool_seed(w.c.pool, words, NULL, error), here);
  REFUSED(pp_pool_seed(w.c.pool, words, wrong, error), here);
  REFUSED(pp_pool_send_reset(w.c.pool, ids, 2, words, NULL, NULL, error), here);
  REFUSED(pp_pool_send_reset(w.c.pool, ids, 2, words, wrong + 2, NULL, error), here);
  if (is_in_processes) {
    REFUSED(pp_pool_seed(w.c.pool, words, sizes, error), PP_ERR_STATE);
    REFUSED(pp_pool_seed(w.c.pool, NULL, sizes, error), PP_ERR_STATE);
    REFUSED(pp_pool_send_reset(w.c.pool, ids, 2, words, sizes, NULL, error), PP_ERR_STATE);
    REFUSED(pp_pool_send_reset(w.c.pool, ids, 2, NULL, NULL, &value, error), PP_ERR_STATE);
    CHECK(strstr(pp_status_name(PP_ERR_STATE), "STATE") != NULL);
  } else {
    CHECK_EQ(pp_pool_seed(w.c.pool, words, sizes, error), PP_OK);
    CHECK_EQ(pp_pool_seed(w.c.pool, NULL, NULL, error), PP_OK);
  }
  close_pool(&w);
}

TEST(seeds_are_for_environments_of_this_process) {
  check_seeds(0);
  check_seeds(1);
}

/* ------------------------------------------------------------------------ worker processes -- */

/* a lane that is not there; in a pool without workers no lane is */
static void check_lanes(test_pool *w, int32_t is_in_processes, int32_t lane) {
  pp_pool *pool = w->c.pool;
  int32_t expected = is_in_processes ? PP_ERR_ARGUMENT : PP_ERR_STATE, first = 9, count = 9,
          affected[4];
  const void *bytes;
  int64_t size;
  check_refused(w, pp_pool_request(pool, lane, "x", 1, &w->c.error), expected);
  check_refused(w, pp_pool_answer(pool, lane, 0, &bytes, &size, &w->c.error), expected);
  check_refused(w, pp_pool_worker_died(pool, lane, PP_DEATH_FAIL, affected, &w->c.error), expected);
  CHECK(pp_pool_reply_fd(pool, lane) < 0);
  CHECK(pp_pool_current_env(pool, lane) < 0);
  CHECK(pp_pool_taken_turns(pool, lane) < 0);
  CHECK(pp_pool_waiting_turns(pool, lane) < 0);
  pp_pool_lane_envs(pool, lane, &first, &count);
  CHECK(first == 0 && count == 0);
}

static void check_messages(test_pool *w, int32_t is_in_processes, int32_t env_id) {
  int64_t size = 9;
  check_refused(w, pp_pool_set_payload(w->c.pool, env_id, "x", 1, &w->c.error),
                is_in_processes ? PP_ERR_ARGUMENT : PP_ERR_STATE);
  CHECK(pp_pool_lane_of(w->c.pool, env_id) < 0);
  CHECK(!pp_pool_reply(w->c.pool, env_id, &size));
  CHECK_EQ(size, 0);
}

TEST(calls_about_workers_are_refused_where_there_are_none) {
  test_pool w = open_pool(0);
  int32_t count = 9;
  for (int32_t i = -1; i < 3; i++) {
    check_lanes(&w, 0, i);
    check_messages(&w, 0, i);
  }
  CHECK(pp_pool_memory_fd(w.c.pool) < 0);
  CHECK(pp_pool_reserve(w.c.pool) < 0);
  CHECK(!pp_pool_replied(w.c.pool, &count) && count == 0);
  close_pool(&w);
}

TEST(wrong_calls_about_workers_are_refused) {
  test_pool w = open_pool(1);
  pp_pool *pool = w.c.pool;
  pp_error *error = &w.c.error;
  int32_t affected[2];
  const void *bytes;
  int64_t size;
  for (int i = 0; i < 4; i++) {
    check_lanes(&w, 1, not_there[i]);
    check_messages(&w, 1, not_there[i]);
    REFUSED(pp_pool_worker_died(pool, 0, not_there[i], affected, error), PP_ERR_ARGUMENT);
  }
  check_lanes(&w, 1, 2);
  REFUSED(pp_pool_worker_died(pool, 0, PP_DEATH_FAIL, NULL, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_payload(pool, 0, "x", -1, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_payload(pool, 0, NULL, 1, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_set_payload(pool, 0, "x", INT64_MAX, error), PP_ERR_MEMORY);
  REFUSED(pp_pool_request(pool, 0, "x", -1, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_request(pool, 0, NULL, 1, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_request(pool, 0, "x", INT64_MAX, error), PP_ERR_MEMORY);
  REFUSED(pp_pool_answer(pool, 0, 0, NULL, &size, error), PP_ERR_ARGUMENT);
  REFUSED(pp_pool_answer(pool, 0, 0, &bytes, NULL, error), PP_ERR_ARGUMENT);
  pp_pool_lane_envs(pool, 0, NULL, NULL);
  CHECK(pp_pool_replied(pool, NULL) != NULL);
  CHECK(pp_pool_reply(pool, 0, &size) == pp_pool_reply(pool, 0, NULL));
  close_pool(&w);
}

/* Workers can't write to memory outside the pool's shared heap. */
TEST(memory_from_elsewhere_is_no_batch) {
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  test_pool other = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  char *own = w.c.fresh, *base = w.c.pool->processes->heap->base;
  char *const wrong[] = {malloc((size_t)w.c.size),
                         other.c.fresh,
                         own + 1,
                         base,
                         base - 64,
                         base + w.c.pool->processes->heap->size - w.c.size + 64,
                         base + w.c.pool->processes->heap->reserve,
                         (char *)64};
  int64_t actions[2] = {0};
  for (int i = 0; i < 8; i++) {
    REFUSED(pp_pool_offer(w.c.pool, wrong[i], &w.c.error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_recv(w.c.pool, wrong[i], 0, &w.c.error), PP_ERR_ARGUMENT);
    REFUSED(pp_pool_step(w.c.pool, NULL, 2, actions, PP_UINT8, wrong[i], &w.c.error),
            PP_ERR_ARGUMENT);
  }
  CHECK_EQ(pp_pool_in_flight(w.c.pool), 0);
  free(wrong[0]);
  test_pool_close(&other);
  test_pool_close(&w);
}

/* --------------------------------------------------------------------------------- making -- */

static void check_config(int which, const char *word) {
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {
      .num_envs = 4, .batch_size = 4, .max_episode_steps = -1, .reward_dtype = PP_FLOAT64};
  int32_t lanes = 2;
  pp_pool *pool = (pp_pool *)&config;
  pp_error error = {0};
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_UINT8, .ndim = 2, .shape = {3, 3}};
  config.action = (pp_field){.name = "action", .dtype = PP_UINT8};
  switch (which) {
    case 0: config.num_players = 2; break;
    case 1: options.extras = PP_WITH_PLAYERS; break;
    case 2: options.extras = PP_WITH_STATISTICS | PP_WITH_DISCOUNT; break;
    case 3: options.max_episode_steps = 10; break;
    case 4: config.num_fields = PP_MAX_FIELDS + 1; break;
    case 5: config.num_fields = -1; break;
    case 6: config.fields[0].ndim = PP_MAX_NDIM + 1; break;
    case 7: config.fields[0].shape[1] = -3; break;
    case 8: config.fields[0].shape[0] = config.fields[0].shape[1] = INT64_MAX; break;
    case 9:
      config.action.ndim = 1;
      config.action.shape[0] = INT64_MAX;
      break;
    case 10: config.fields[0].per_player = true; break;
    case 11: lanes = 0; break;
    case 12: lanes = 5; break;
    case 13: options.num_envs = 0; break;
    default: options.reward_dtype = PP_BOOL;
  }
  CHECK_EQ(pp_pool_create_processes(&config, &options, lanes, 1, NULL, &pool, &error),
           PP_ERR_ARGUMENT);
  CHECK(!pool);
  CHECK(strstr(error.text, word) != NULL);
}

TEST(pools_that_workers_can_t_serve_are_not_made) {
  const char *const words[] = {
      "num_players=2", "extras=4",      "extras=10",   "max_episode_steps=10",
      "num_fields=33", "num_fields=-1", "shapes",      "shapes",
      "shapes",        "shapes",        "shapes",      "num_workers=0",
      "num_workers=5", "num_envs=0",    "reward_dtype"};
  for (int i = 0; i < 15; i++) check_config(i, words[i]);
}

TEST(null_arguments_make_no_pool) {
  pp_config config = {.num_players = 1};
  pp_pool_options options = {.num_envs = 1, .batch_size = 1};
  pp_pool *pool;
  pp_value value = {0};
  const pp_env_def *def = find_env("CartPole-v1");
  CHECK_EQ(pp_pool_create_processes(NULL, &options, 1, 0, NULL, &pool, NULL), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_create_processes(&config, NULL, 1, 0, NULL, &pool, NULL), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_create_processes(&config, &options, 1, 0, NULL, NULL, NULL), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_create(NULL, &value, &options, &pool, NULL), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_create(def, &value, NULL, &pool, NULL), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_create(def, &value, &options, NULL, NULL), PP_ERR_ARGUMENT);
  pp_pool_destroy(NULL);
}

/* Returns the peak memory of this process in bytes; 0 under sanitizers, whose own memory would
 * count. */
static int64_t peak_memory(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
#endif
}

/* no machine has the memory for this pool */
TEST(the_error_says_what_a_pool_lacks_memory_for) {
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {.num_envs = 1 << 24, .batch_size = 1 << 24, .max_episode_steps = -1};
  pp_pool *pool;
  pp_error error;
  options.reward_dtype = PP_FLOAT64;
  options.thread_affinity_offset = -1;
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_UINT8, .ndim = 1, .shape = {1 << 23}};
  config.action = (pp_field){.name = "action", .dtype = PP_UINT8};
  int64_t before = peak_memory();
  CHECK_EQ(pp_pool_create_processes(&config, &options, 4, 0, NULL, &pool, &error), PP_ERR_MEMORY);
  CHECK(strstr(error.text, "num_envs=16777216 needs ") != NULL);
  // nothing was allocated in vain
  CHECK(peak_memory() - before < 64 << 20);
}

#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
/* In a child, because the limit is the whole process's. */
TEST(the_error_says_what_a_native_pool_lacks_memory_for) {
  int how = -1;
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = {256 << 20, RLIM_INFINITY};
    pp_pool_options options = {.num_envs = 1 << 24, .batch_size = 1 << 24, .max_episode_steps = -1};
    pp_pool *pool;
    pp_error error = {0};
    options.reward_dtype = PP_FLOAT64;
    options.thread_affinity_offset = -1;
    setrlimit(RLIMIT_AS, &limit);
    int status = pp_pool_create(find_env("CartPole-v1"), NULL, &options, &pool, &error);
    if (status != PP_ERR_MEMORY) _exit(1);
    // the size is not read from the fleet, which is empty by then
    _exit(strstr(error.text, "environments with states of ") && !strstr(error.text, " of 0 bytes")
              ? 0
              : 2);
  }
  CHECK_EQ(waitpid(child, &how, 0), child);
  CHECK_EQ(how, 0);
}

/* In a child, because the limit is the whole process's. An allocation that fails, whichever it is,
 * gives an error. */
TEST(a_pool_without_enough_memory_is_not_made) {
  int how = -1;
  pid_t child = fork();
  if (child == 0) {
    pp_config config = {.num_players = 1};
    pp_pool_options options = {.num_envs = 4, .batch_size = 4, .max_episode_steps = -1};
    options.reward_dtype = PP_FLOAT64;
    config.action = (pp_field){.name = "action", .dtype = PP_UINT8};
    int refused = 0;
    for (int64_t room = INT64_C(64) << 20; room < INT64_C(8) << 30; room += INT64_C(200) << 20) {
      struct rlimit limit = {(rlim_t)room, RLIM_INFINITY};
      pp_pool *pool;
      setrlimit(RLIMIT_AS, &limit);
      int status = pp_pool_create_processes(&config, &options, 4, 1, NULL, &pool, NULL);
      if (status < 0 && (status != PP_ERR_MEMORY || pool)) _exit(1);
      refused += status < 0;
      pp_pool_destroy(pool);
    }
    _exit(refused > 0 ? 0 : 2);
  }
  CHECK_EQ(waitpid(child, &how, 0), child);
  CHECK_EQ(how, 0);
}
#endif
#endif

/* ------------------------------------------------------------------------- opening workers -- */

TEST(a_worker_opens_nothing_but_a_pool) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  pp_pool *pool = w.c.pool;
  pp_error *error = &w.c.error;
  int32_t memory = pp_pool_memory_fd(pool), replies = pp_pool_reply_fd(pool, 1), pipes[2];
  int64_t reserve = pp_pool_reserve(pool);
  pp_worker *worker = (pp_worker *)&w;
  CHECK_EQ(pipe(pipes), 0);
  int read_only = open("/proc/self/exe", O_RDONLY);
  const int32_t files[] = {-1, 12345, pipes[0], pipes[1], read_only};
  for (int i = 0; i < 5; i++) {
    REFUSED(pp_worker_open(files[i], reserve, replies, 1, &worker, error), PP_ERR_ARGUMENT);
    CHECK(!worker);
    REFUSED(pp_worker_open(memory, reserve, files[i], 1, &worker, error), PP_ERR_ARGUMENT);
  }
  const int32_t lanes[] = {-1, 2, INT_MAX, INT_MIN};
  for (int i = 0; i < 4; i++) {
    REFUSED(pp_worker_open(memory, reserve, replies, lanes[i], &worker, error), PP_ERR_ARGUMENT);
    CHECK(!worker);
  }
  const int64_t reserves[] = {0, -1, 4096, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    REFUSED(pp_worker_open(memory, reserves[i], replies, 1, &worker, error), PP_ERR_ARGUMENT);
  }
  REFUSED(pp_worker_open(memory, INT64_MAX, replies, 1, &worker, error), PP_ERR_MEMORY);
  REFUSED(pp_worker_open(memory, reserve, replies, 1, NULL, error), PP_ERR_ARGUMENT);
  // the other way round, or a pool of another version
  CHECK_EQ(ftruncate(replies, 8192), 0);
  REFUSED(pp_worker_open(replies, reserve, memory, 1, &worker, error), PP_ERR_ABI);
  CHECK(strstr(w.c.error.text, "build") || !w.c.error.text[0]);
  pool->processes->board.head->magic ^= 1;
  REFUSED(pp_worker_open(memory, reserve, replies, 1, &worker, error), PP_ERR_ABI);
  CHECK(!worker);
  pool->processes->board.head->magic ^= 1;
  CHECK_EQ(pp_worker_open(memory, reserve, replies, 1, &worker, error), PP_OK);
  pp_worker_close(worker);
  pp_worker_close(NULL);
  for (int i = 2; i < 5; i++) close(files[i]);
  test_pool_close(&w);
}
