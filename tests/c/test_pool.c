/* Whole pools: the same results whatever the threads and nodes, ordered and unordered. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/run.h"
#include "pool_tests.h"
#include "threads/lanes.h"

/* ------------------------------------------------------------------------------ determinism -- */

enum { NUM_ENVS = 48, STEPS = 40 };

/* a sum of the results of each environment, over STEPS steps after its first reset */
typedef struct sums {
  uint64_t of[NUM_ENVS];
} sums;

static uint64_t fold(const sums *all) {
  uint64_t sum = 0;
  for (int32_t i = 0; i < NUM_ENVS; i++) sum = sum * 31 + all->of[i];
  return sum;
}

static client open_pool(const char *id, int32_t threads, int32_t nodes, int32_t batch_size,
                        int32_t autoreset) {
  client c = make_client(id, NUM_ENVS);
  const char *root = nodes ? make_machine(nodes) : NULL;
  c.options.num_threads = threads;
  c.options.batch_size = batch_size;
  c.options.autoreset = autoreset;
  c.options.extras = PP_WITH_STEP_TYPE | PP_WITH_DISCOUNT | PP_WITH_PLAYERS | PP_WITH_STATISTICS;
  c.options.topology_root = root;
  client_open(&c);
  if (root) end_machine(root, nodes);
  return c;
}

static int64_t players_of(const client *c) {
  return pp_pool_config(c->pool)->num_players;
}

static void fill_actions(const client *c, int64_t *actions, int32_t env_id, int64_t step) {
  for (int64_t p = 0; p < players_of(c); p++) {
    actions[p] = some_action(env_id, 2 * step + p, c->def->action.n);
  }
}

static sums run_ordered(const char *id, int32_t threads, int32_t nodes, int32_t autoreset) {
  client c = open_pool(id, threads, nodes, NUM_ENVS, autoreset);
  sums all = {{0}};
  int64_t actions[2 * NUM_ENVS];
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  for (int32_t t = 0; t < STEPS; t++) {
    for (int32_t i = 0; i < NUM_ENVS; i++) {
      fill_actions(&c, actions + players_of(&c) * i, i, t);
    }
    if (client_step(&c, NULL, NUM_ENVS, actions) != NUM_ENVS) break;
    for (int32_t i = 0; i < NUM_ENVS; i++) all.of[i] = sum_row(&c, all.of[i], i);
  }
  client_close(&c);
  return all;
}

/* the first STEPS results of every environment, in whatever order they come */
static sums run_unordered(const char *id, int32_t threads, int32_t nodes, int32_t batch_size,
                          int32_t autoreset) {
  client c = open_pool(id, threads, nodes, batch_size, autoreset);
  sums all = {{0}};
  int64_t actions[2 * NUM_ENVS];
  int32_t count[NUM_ENVS] = {0}, unfinished = NUM_ENVS;
  int status = pp_pool_send_reset(c.pool, NULL, NUM_ENVS, NULL, NULL, NULL, &c.error);
  CHECK_EQ(status, PP_OK);
  while (unfinished > 0) {
    int32_t ids[NUM_ENVS];
    if (!CHECK_EQ(client_recv(&c), batch_size)) break;
    memcpy(ids, column(&c, "env_id"), sizeof(int32_t) * (size_t)batch_size);
    for (int32_t r = 0; r < batch_size; r++) {
      int32_t id_of_row = ids[r], step = count[id_of_row]++;
      // the first result is that of the reset
      if (step > 0 && step <= STEPS) all.of[id_of_row] = sum_row(&c, all.of[id_of_row], r);
      unfinished -= step == STEPS;
      fill_actions(&c, actions + players_of(&c) * r, id_of_row, step);
    }
    status = pp_pool_send(c.pool, ids, batch_size, actions, PP_INT64, &c.error);
    if (!CHECK_EQ(status, PP_OK)) break;
  }
  client_close(&c);
  return all;
}

static const char *const ids[] = {"CartPole-v1", "test/Duel-v0", "test/Heap-v0",
                                  "test/Template-v0"};
enum { NUM_IDS = sizeof(ids) / sizeof(*ids) };

TEST(ordered_results_do_not_depend_on_threads_or_nodes) {
  const int32_t machines[][2] = {{2, 0}, {8, 0}, {1, 2}, {5, 2}, {8, 8}, {3, 8}};
  for (int32_t e = 0; e < NUM_IDS; e++) {
    int32_t autoreset = e % 2 ? PP_SAME_STEP : PP_NEXT_STEP;
    uint64_t alone = fold(&(sums){{0}}), nothing = alone;
    sums one = run_ordered(ids[e], 1, 0, autoreset);
    alone = fold(&one);
    CHECK(alone != nothing);
    for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
      sums other = run_ordered(ids[e], machines[m][0], machines[m][1], autoreset);
      CHECK(memcmp(&one, &other, sizeof(one)) == 0);
    }
  }
}

TEST(unordered_results_are_the_ordered_ones_of_each_environment) {
  const int32_t machines[][3] = {{1, 0, 1}, {3, 0, 7}, {8, 0, 16}, {8, 8, 47}, {4, 2, 24}};
  for (int32_t e = 0; e < NUM_IDS; e++) {
    int32_t autoreset = e % 2 ? PP_SAME_STEP : PP_NEXT_STEP;
    sums one = run_ordered(ids[e], 1, 0, autoreset);
    for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
      sums other = run_unordered(ids[e], machines[m][0], machines[m][1], machines[m][2], autoreset);
      CHECK(memcmp(&one, &other, sizeof(one)) == 0);
    }
  }
}

/* --------------------------------------------------------------------- slow among the quick -- */

/* One environment sleeps in every step while the others go on: its row gets into a block that was
 * given to the ring long after it was sent. */
TEST(a_slow_environment_finds_memory_given_after_it_was_sent) {
  client c = make_client("test/Fault-v0", 5);
  int64_t zeros[5] = {0};
  int32_t seen[5] = {0};
  c.options.batch_size = 2;
  c.options.num_threads = 3;
  set_number(&c, "sleep_ms", 2);
  set_number(&c, "slow_env", 3);
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 5, NULL, NULL, NULL, &c.error), PP_OK);
  // until the slow one has been stepped often, each time after many rows of others
  while (seen[3] < 20) {
    int32_t env_ids[2];
    if (!CHECK_EQ(client_recv(&c), 2)) break;
    memcpy(env_ids, column(&c, "env_id"), sizeof(env_ids));
    for (int32_t r = 0; r < 2; r++) {
      int64_t count = ((int64_t *)column(&c, "count"))[r];
      CHECK_EQ(count, seen[env_ids[r]]++);
    }
    if (!CHECK_EQ(pp_pool_send(c.pool, env_ids, 2, zeros, PP_INT64, &c.error), PP_OK)) break;
  }
  CHECK(seen[0] + seen[1] + seen[2] + seen[4] > 10 * seen[3]);
  client_close(&c);
}

/* ------------------------------------------------------------------------- cheap, unordered -- */

/* pseudorandom, the same each time */
static void shuffle(int32_t *env_ids, int32_t count, int64_t round) {
  for (int32_t i = count - 1; i > 0; i--) {
    int32_t other = (int32_t)some_action(i, round, i + 1), kept = env_ids[i];
    env_ids[i] = env_ids[other];
    env_ids[other] = kept;
  }
}

/* Cheap environments are stepped in runs, whatever the order in which they are named. One thread
 * steps all of them equally often; with several threads that depends on when each has a core. A
 * thread that loses its core may measure steps as expensive, so not every batch must have runs. */
TEST(cheap_unordered_environments_are_stepped_in_runs) {
  enum { MANY = 256, BATCH = 128, ROUNDS = 400 };
  for (int32_t threads = 1; threads <= 3; threads++) {
    client c = make_client("CartPole-v1", MANY);
    int64_t zeros[BATCH] = {0};
    int32_t env_ids[BATCH], in_runs = 0, rows[MANY] = {0};
    c.options.batch_size = BATCH;
    c.options.num_threads = threads;
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, MANY, NULL, NULL, NULL, &c.error), PP_OK);
    for (int32_t round = 0; round < ROUNDS; round++) {
      int32_t runs = 0;
      if (!CHECK_EQ(client_recv(&c), BATCH)) break;
      memcpy(env_ids, column(&c, "env_id"), sizeof(env_ids));
      for (int32_t r = 0; r < BATCH; r++) {
        runs += r == 0 || env_ids[r] != env_ids[r - 1] + 1;
        rows[env_ids[r]]++;
      }
      // shuffled ids would make runs of 1 and 2
      in_runs += runs <= BATCH / 3;
      shuffle(env_ids, BATCH, round);
      if (!CHECK_EQ(pp_pool_send(c.pool, env_ids, BATCH, zeros, PP_INT64, &c.error), PP_OK)) break;
    }
    // sanitizers make steps expensive
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    CHECK(in_runs > ROUNDS / 4);
#endif
    for (int32_t i = 0; threads == 1 && i < MANY; i++) {
      CHECK(rows[i] >= ROUNDS * BATCH / MANY - 2 && rows[i] <= ROUNDS * BATCH / MANY + 2);
    }
    client_close(&c);
  }
}

/* ------------------------------------------------------------------------------- misuse -- */

/* a refused call leaves the pool as it was: later results are those of a pool that never had it */
TEST(refused_calls_change_nothing) {
  client c = make_client("CartPole-v1", 4), other = make_client("CartPole-v1", 4);
  int64_t good[5] = {0, 1, 0, 1, 0}, bad[4] = {0, 1, 2, 1};
  int32_t twice[2] = {1, 1}, outside[2] = {0, 4}, below[2] = {0, -1}, many[5] = {0, 1, 2, 3, 0};
  uint32_t words[64] = {1};
  int32_t sizes[4] = {1, 1, 17, 1};
  pp_error e;
  REQUIRE(client_open(&c) && client_open(&other));
  for (int32_t round = 0; round < 3; round++) {
    CHECK_EQ(client_reset(&c), 4);
    CHECK_EQ(client_reset(&other), 4);
    CHECK(memcmp(c.batch, other.batch, (size_t)c.size) == 0);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 4, bad, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK(strstr(e.text, "action 2 of environment 2") != NULL);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 3, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 5, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, twice, 0, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, twice, -1, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, twice, 2, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, outside, 2, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, below, 2, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, many, 5, good, PP_INT64, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 4, good, PP_FLOAT64, &e), PP_ERR_TYPE);
    CHECK(strstr(e.text, "actions of dtype 5 can't be converted to its own, 3: send that dtype"));
    CHECK_EQ(pp_pool_send(c.pool, NULL, 4, good, PP_BOOL, &e), PP_ERR_TYPE);
    // the third seed is too long: the first two must not be set either
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 4, words, sizes, NULL, &e), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_offer(c.pool, c.fresh, &e), PP_ERR_STATE);
    CHECK_EQ(pp_pool_recv(c.pool, c.fresh, -1, &e), PP_ERR_STATE);
    CHECK_EQ(pp_pool_recv(c.pool, c.fresh, 0, &e), 0);
    CHECK_EQ(pp_pool_in_flight(c.pool), 0);
    CHECK_EQ(client_step(&c, NULL, 4, good), 4);
    CHECK_EQ(client_step(&other, NULL, 4, good), 4);
    CHECK(memcmp(c.batch, other.batch, (size_t)c.size) == 0);
  }
  client_close(&c);
  client_close(&other);
}

TEST(pending_results_refuse_a_step_and_come_first) {
  client c = make_client("CartPole-v1", 4);
  int64_t zeros[4] = {0};
  int32_t two[2] = {3, 1}, one[1] = {0}, *env_ids;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 4);
  CHECK_EQ(pp_pool_send(c.pool, two, 2, zeros, PP_INT64, &c.error), PP_OK);
  CHECK_EQ(pp_pool_needs_reset(c.pool, 3), PP_ERR_STATE);
  CHECK_EQ(pp_pool_needs_reset(c.pool, 4), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_needs_reset(c.pool, -1), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_needs_reset(c.pool, 0), 0);
  CHECK_EQ(pp_pool_get_state(c.pool, 3, NULL, 0, &c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_step(c.pool, one, 1, zeros, PP_INT64, c.fresh, &c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_send(c.pool, two, 1, zeros, PP_INT64, &c.error), PP_ERR_STATE);
  CHECK_EQ(c.error.env_id, 3);
  CHECK_EQ(pp_pool_send(c.pool, one, 1, zeros, PP_INT64, &c.error), PP_OK);
  // one batch of all that was sent before the receive, in the order of sending
  CHECK_EQ(client_recv(&c), 3);
  env_ids = column(&c, "env_id");
  CHECK(env_ids[0] == 3 && env_ids[1] == 1 && env_ids[2] == 0);
  CHECK_EQ(client_recv(&c), PP_ERR_STATE);
  client_close(&c);
}

TEST(unordered_step_that_gives_no_batch_sends_nothing) {
  client c = make_client("CartPole-v1", 4);
  int64_t zeros[4] = {0};
  int32_t one[1] = {2};
  c.options.batch_size = 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_step(c.pool, one, 1, zeros, PP_INT64, c.fresh, &c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_in_flight(c.pool), 0);
  CHECK_EQ(pp_pool_send(c.pool, one, 1, zeros, PP_INT64, &c.error), PP_OK);
  CHECK_EQ(client_recv(&c), PP_ERR_STATE);
  CHECK_EQ(pp_pool_recv(c.pool, c.fresh, 1000, &c.error), 0);
  one[0] = 1;
  CHECK_EQ(client_step(&c, one, 1, zeros), 2);
  client_close(&c);
}

/* an exception may prevent the caller from seeing what a receive returned */
TEST(a_result_whose_return_was_lost_can_be_asked_for) {
  client c = make_client("test/Fault-v0", 3);
  int64_t zeros[3] = {0};
  set_text(&c, "fail_on", "step");
  set_number(&c, "fail_env", 1);
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_last_result(c.pool, c.fresh), 0);
  CHECK_EQ(pp_pool_last_result(c.pool, NULL), 0);
  void *before = c.fresh;
  CHECK_EQ(client_reset(&c), 3);
  CHECK_EQ(pp_pool_last_result(c.pool, before), 3);
  CHECK_EQ(pp_pool_last_result(c.pool, c.fresh), 0);
  before = c.fresh;
  CHECK_EQ(client_step(&c, NULL, 3, zeros), PP_ERR_ENV);
  CHECK_EQ(pp_pool_last_result(c.pool, before), PP_ERR_ENV);
  CHECK_EQ(pp_pool_last_result(c.pool, c.fresh), 0);
  client_close(&c);
}

/* ----------------------------------------------------------------------------------- failing -- */

TEST(failing_environments_are_named_and_others_stay_whole) {
  static const char *const where[] = {"step", "observe", "reset"};
  for (size_t w = 0; w < 3; w++) {
    for (int32_t mode = PP_NEXT_STEP; mode <= PP_DISABLED; mode++) {
      client c = make_client("test/Fault-v0", 6), other = make_client("test/Fault-v0", 6);
      int64_t actions[6] = {1, 0, 1, 1, 0, 1};
      int32_t count, rows;
      set_text(&c, "fail_on", where[w]);
      set_number(&c, "fail_env", 4);
      c.options.autoreset = other.options.autoreset = mode;
      c.options.num_threads = other.options.num_threads = 3;
      REQUIRE(client_open(&c) && client_open(&other));
      CHECK_EQ(client_reset(&c), w == 2 ? PP_ERR_ENV : 6);
      CHECK_EQ(client_reset(&other), 6);
      if (w < 2) {
        CHECK_EQ(client_step(&c, NULL, 6, actions), PP_ERR_ENV);
        CHECK_EQ(client_step(&other, NULL, 6, actions), 6);
      }
      const int32_t *failed = pp_pool_failed(c.pool, &count, &rows);
      CHECK_EQ(count, 1);
      CHECK_EQ(rows, 6);
      CHECK_EQ(failed[0], 4);
      CHECK_EQ(c.error.env_id, 4);
      CHECK(strstr(pp_pool_env_error(c.pool, 4)->text, where[w]) != NULL);
      CHECK_EQ(((int32_t *)column(&c, "env_id"))[4], 4);
      CHECK(((float *)column(&c, "obs"))[4] == 0 && ((double *)column(&c, "reward"))[4] == 0);
      for (int32_t i = 0; i < 6; i++) {
        if (i != 4) CHECK_EQ(sum_row(&c, 1, i) == sum_row(&other, 1, i), 1);
      }
      // it goes on, with a reset
      CHECK_EQ(pp_pool_needs_reset(c.pool, 4), 1);
      CHECK_EQ(client_reset(&c), 6);
      CHECK_EQ(client_step(&c, NULL, 6, actions), 6);
      client_close(&c);
      client_close(&other);
    }
  }
}

/* always fails, and says why only after action 1 */
static int step_that_fails(pp_env *env, const void *action, pp_result *result) {
  (void)result;
  if (*(const int64_t *)action == 1) strcpy(env->error->text, "a reason");
  return PP_ERR_ENV;
}

TEST(a_failure_without_a_reason_does_not_show_that_of_an_earlier_one) {
  client c = make_client("test/Fault-v0", 1);
  pp_env_def failing = *c.def;
  int64_t one = 1, zero = 0;
  failing.step = step_that_fails;
  c.def = &failing;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 1);
  CHECK_EQ(client_step(&c, NULL, 1, &one), PP_ERR_ENV);
  CHECK(strstr(c.error.text, "a reason") != NULL);
  CHECK_EQ(client_reset(&c), 1);
  CHECK_EQ(pp_pool_env_error(c.pool, 0)->text[0], 0);
  CHECK_EQ(client_step(&c, NULL, 1, &zero), PP_ERR_ENV);
  CHECK(strstr(c.error.text, "its callback step returned -6 (PP_ERR_ENV)") != NULL);
  client_close(&c);
}

/* an environment that fails with action 1; with step_many, its neighbours do not */
static int step_or_fail(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = 1;
  if (*(const int64_t *)action == 0) return PP_OK;
  return pp_fail(env->error, PP_ERR_ENV, "action 1 in step %d", *env->elapsed);
}

static int32_t longest_run, resets;

static int counted_reset(pp_env *env, pp_reset *how) {
  (void)env, (void)how;
  resets++;
  return PP_OK;
}

static int step_many_or_fail(void *shared, const pp_run *run) {
  (void)shared;
  if (run->count > longest_run) longest_run = run->count;
  for (int32_t i = 0; i < run->count; i++) {
    run->reward[i] = 1;
    if (((const int64_t *)run->actions)[i] == 0) continue;
    // named twice, and with what a failed step leaves behind
    run->terminated[i] = 1;
    pp_run_fail(run, i, PP_ERR_ENV, "first");
    pp_run_fail(run, i, PP_ERR_ENV, "action 1 in step %d", run->elapsed[i]);
  }
  return PP_OK;
}

/* checks a step in which the environments of this remainder failed, as all did in step `elapsed` */
static void check_failures(client *c, int32_t remainder, int32_t elapsed) {
  int32_t num_failed;
  bool has_next = elapsed == 3 && c->options.autoreset == PP_NEXT_STEP;
  char expected[64];
  const int32_t *failed = pp_pool_failed(c->pool, &num_failed, NULL);
  snprintf(expected, sizeof(expected), "action 1 in step %d", elapsed);
  CHECK_EQ(num_failed, 16);
  for (int32_t k = 0; k < num_failed; k++) {
    CHECK_EQ(failed[k] % 4, remainder);
    CHECK_EQ(strcmp(pp_pool_env_error(c->pool, failed[k])->text, expected), 0);
  }
  for (int32_t i = 0; i < 64; i++) {
    bool has_failed = i % 4 == remainder;
    // the time limit has ended the episodes of the others
    CHECK_EQ(pp_pool_needs_reset(c->pool, i), has_failed || has_next);
    CHECK_EQ(((double *)column(c, "reward"))[i], !has_failed);
    CHECK_EQ(((uint8_t *)column(c, "terminated"))[i], 0);
    CHECK_EQ(((int32_t *)column(c, "env_id"))[i], i);
  }
}

TEST(one_that_fails_in_step_many_fails_alone) {
  for (int32_t mode = PP_NEXT_STEP; mode <= PP_SAME_STEP; mode++) {
    client c = make_client("CartPole-v1", 64);
    pp_env_def failing = *c.def;
    int64_t zeros[64] = {0}, actions[64];
    longest_run = 0;
    failing.step = step_or_fail;
    failing.step_many = step_many_or_fail;
    failing.reset = counted_reset;
    c.def = &failing;
    c.options.autoreset = mode;
    // the time limit ends no episode of one that fails in the same step
    c.options.max_episode_steps = 4;
    REQUIRE(client_open(&c));
    for (int32_t t = 0; t < 100; t++) {
      int32_t elapsed = t % 4;
      resets = 0;
      CHECK_EQ(client_reset(&c), 64);
      for (int32_t i = 0; i < elapsed; i++) CHECK_EQ(client_step(&c, NULL, 64, zeros), 64);
      for (int32_t i = 0; i < 64; i++) actions[i] = i % 4 == t % 3;
      CHECK_EQ(client_step(&c, NULL, 64, actions), PP_ERR_ENV);
      check_failures(&c, t % 3, elapsed);
      // those that failed wait for their next step, also at the time limit
      CHECK_EQ(resets, mode == PP_SAME_STEP && elapsed == 3 ? 64 + 48 : 64);
    }
    CHECK(longest_run > 1);
    client_close(&c);
  }
}

TEST(one_that_is_reset_anyway_can_t_fail_in_step_many) {
  client c = make_client("CartPole-v1", 64);
  pp_env_def failing = *c.def;
  int64_t actions[64] = {0};
  longest_run = 0;
  failing.step = step_or_fail;
  failing.step_many = step_many_or_fail;
  c.def = &failing;
  c.options.max_episode_steps = 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 64);
  // every third step is a reset, whatever its action
  for (int32_t t = 0; t < 99; t++) {
    for (int32_t i = 0; i < 64; i++) actions[i] = t % 3 == 2;
    CHECK_EQ(client_step(&c, NULL, 64, actions), 64);
    for (int32_t i = 0; i < 64; i++) {
      CHECK_EQ(((int32_t *)column(&c, "elapsed_step"))[i], (t + 1) % 3);
      CHECK_EQ(pp_pool_env_error(c.pool, i)->text[0], 0);
    }
  }
  CHECK(longest_run > 1);
  client_close(&c);
}

TEST(an_environment_that_cannot_be_made_is_named) {
  client c = make_client("test/Fault-v0", 6);
  set_text(&c, "fail_on", "init");
  set_number(&c, "fail_env", 4);
  CHECK_EQ(pp_pool_create(c.def, c.values, &c.options, &c.pool, &c.error), PP_ERR_ENV);
  CHECK(c.pool == NULL);
  CHECK(strstr(c.error.text, "environment 4 can't be made: made to fail in init") != NULL);
  CHECK_EQ(c.error.env_id, 4);
}

TEST(a_time_limit_met_by_a_termination_reports_both) {
  client c = make_client("CartPole-v1", 8);
  int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int32_t both = 0, only = 0;
  c.options.max_episode_steps = 9;
  REQUIRE(client_open(&c));
  client_reset(&c);
  for (int32_t t = 0; t < 60; t++) {
    if (!CHECK_EQ(client_step(&c, NULL, 8, ones), 8)) break;
    const uint8_t *terminated = column(&c, "terminated"), *truncated = column(&c, "truncated");
    const int32_t *elapsed = column(&c, "elapsed_step");
    for (int32_t i = 0; i < 8; i++) {
      CHECK_EQ(truncated[i], elapsed[i] == 9);
      both += terminated[i] && truncated[i];
      only += terminated[i] != truncated[i];
    }
  }
  CHECK(both > 0 && only > 0);
  client_close(&c);
}

/* without a limit an episode goes on for ever, although its steps are counted in 32 bits */
TEST(without_a_limit_no_episode_is_truncated) {
  static const char *const both[] = {"CartPole-v1", "test/Fault-v0"};
  for (int32_t e = 0; e < 2; e++) {
    client c = make_client(both[e], 8);
    int64_t zeros[8] = {0};
    c.options.max_episode_steps = 0;
    c.options.extras = PP_WITH_STATISTICS;
    REQUIRE(client_open(&c));
    CHECK_EQ(client_reset(&c), 8);
    for (int32_t i = 0; i < 8; i++) c.pool->threads->natives.elapsed[i] = INT32_MAX - 2;
    for (int32_t t = 1; t <= 5; t++) {
      CHECK_EQ(client_step(&c, NULL, 8, zeros), 8);
      for (int32_t i = 0; i < 8; i++) {
        CHECK_EQ(((uint8_t *)column(&c, "truncated"))[i], 0);
        CHECK_EQ(((int32_t *)column(&c, "elapsed_step"))[i], INT32_MAX - (t < 2 ? 1 : 0));
        CHECK_EQ(((int32_t *)column(&c, "episode_length"))[i], INT32_MAX - (t < 2 ? 1 : 0));
      }
    }
    client_close(&c);
  }
}

/* a limit that is the largest count is met */
TEST(the_largest_limit_truncates) {
  client c = make_client("CartPole-v1", 1);
  int64_t zero = 0;
  c.options.max_episode_steps = INT32_MAX;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 1);
  c.pool->threads->natives.elapsed[0] = INT32_MAX - 2;
  CHECK_EQ(client_step(&c, NULL, 1, &zero), 1);
  CHECK_EQ(((uint8_t *)column(&c, "truncated"))[0], 0);
  CHECK_EQ(client_step(&c, NULL, 1, &zero), 1);
  CHECK_EQ(((uint8_t *)column(&c, "truncated"))[0], 1);
  client_close(&c);
}

/* sets flags to values other than 0 and 1; the action says whether an episode ends */
static int step_with_odd_flags(pp_env *env, const void *action, pp_result *result) {
  (void)env;
  result->reward[0] = 1;
  result->terminated = *(const int64_t *)action ? 255 : 0;
  result->truncated = *(const int64_t *)action ? 128 : 0;
  return PP_OK;
}

static int step_many_with_odd_flags(void *shared, const pp_run *run) {
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    run->reward[i] = 1;
    run->terminated[i] = ((const int64_t *)run->actions)[i] ? 2 : 0;
    run->truncated[i] = ((const int64_t *)run->actions)[i] ? 128 : 0;
  }
  return PP_OK;
}

TEST(any_flag_but_zero_is_true) {
  client c = make_client("CartPole-v1", 64);
  pp_env_def odd = *c.def;
  int64_t actions[64];
  odd.step = step_with_odd_flags;
  odd.step_many = step_many_with_odd_flags;
  c.def = &odd;
  for (int32_t i = 0; i < 64; i++) actions[i] = i % 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 64);
  // what ends in an even step is reset in the next one. At first steps are single, then in runs
  for (int32_t t = 0; t < 200; t++) {
    CHECK_EQ(client_step(&c, NULL, 64, actions), 64);
    for (int32_t i = 0; i < 64; i++) {
      int32_t ends = i % 2 && t % 2 == 0;
      CHECK_EQ(((uint8_t *)column(&c, "terminated"))[i], ends);
      CHECK_EQ(((uint8_t *)column(&c, "truncated"))[i], ends);
      CHECK_EQ(((int32_t *)column(&c, "elapsed_step"))[i], i % 2 ? ends : t + 1);
    }
  }
  client_close(&c);
}

/* ------------------------------------------------------------------------------- threads -- */

typedef struct helper {
  client *c;
  int64_t timeout;
  int32_t seen;
  _Atomic int32_t is_waiting;
} helper;

static void *receive_until_closed(void *arg) {
  helper *h = arg;
  pp_error error;
  atomic_store(&h->is_waiting, 1);
  do h->seen = pp_pool_recv(h->c->pool, h->c->fresh, h->timeout, &error);
  while (h->seen == 0);
  return NULL;
}

TEST(close_ends_a_receive_of_another_thread) {
  // waiting for a send, for a slow environment, and with a timeout of 0
  for (int32_t way = 0; way < 3; way++) {
    client c = make_client("test/Fault-v0", 3);
    int64_t zeros[3] = {0};
    pthread_t thread;
    c.options.num_threads = 2;
    if (way == 1) set_number(&c, "sleep_ms", 30);
    if (way == 1) c.options.batch_size = 2;
    helper h = {.c = &c, .timeout = way == 2 ? 0 : INT64_MAX};
    REQUIRE(client_open(&c));
    if (way == 1) {
      int32_t one[2] = {0, 1};
      CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 3, NULL, NULL, NULL, &c.error), PP_OK);
      CHECK_EQ(client_recv(&c), 2);
      memcpy(one, column(&c, "env_id"), sizeof(one));
      CHECK_EQ(pp_pool_send(c.pool, one, 2, zeros, PP_INT64, &c.error), PP_OK);
      CHECK_EQ(client_recv(&c), 2);
    }
    REQUIRE(pthread_create(&thread, NULL, receive_until_closed, &h) == 0);
    while (!atomic_load(&h.is_waiting)) usleep(100);
    pp_pool_close(c.pool, -1);
    pp_pool_close(c.pool, -1);
    pthread_join(thread, NULL);
    CHECK_EQ(h.seen, PP_ERR_CLOSED);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 3, zeros, PP_INT64, &c.error), PP_ERR_CLOSED);
    CHECK_EQ(pp_pool_step(c.pool, NULL, 3, zeros, PP_INT64, c.fresh, &c.error), PP_ERR_CLOSED);
    CHECK_EQ(pp_pool_get_state(c.pool, 0, NULL, 0, &c.error), PP_ERR_CLOSED);
    client_close(&c);
  }
}

/* the same for a thread that may be refused because another one receives */
static void *receive_in_turn_until_closed(void *arg) {
  helper *h = arg;
  pp_error error;
  do h->seen = pp_pool_recv(h->c->pool, h->c->fresh, h->timeout, &error);
  while (h->seen == 0 || h->seen == PP_ERR_STATE);
  return NULL;
}

TEST(only_one_thread_receives) {
  client c = make_client("test/Fault-v0", 2);
  pthread_t thread;
  helper h = {.c = &c, .timeout = INT64_MAX};
  int32_t status = 0;
  REQUIRE(client_open(&c));
  REQUIRE(pthread_create(&thread, NULL, receive_in_turn_until_closed, &h) == 0);
  // the other thread's receive returns every 50 ms and is called again; it may begin late
  for (int64_t end = pp_os_now() + 60 * INT64_C(1000000000); pp_os_now() < end && status == 0;) {
    usleep(100);
    status = pp_pool_recv(c.pool, c.fresh, 0, &c.error);
  }
  CHECK_EQ(status, PP_ERR_STATE);
  CHECK(strstr(c.error.text, "another thread is receiving"));
  pp_pool_close(c.pool, -1);
  pthread_join(thread, NULL);
  CHECK_EQ(h.seen, PP_ERR_CLOSED);
  client_close(&c);
}

typedef struct closer {
  pp_pool *pool;
  _Atomic int32_t *is_stepping; /* 1: a step has begun that has not ended */
  int32_t saw_end;
} closer;

static void *close_pool(void *arg) {
  closer *me = arg;
  pp_pool_close(me->pool, -1);
  me->saw_end = !atomic_load(me->is_stepping);
  return NULL;
}

/* an environment whose step waits until two threads had time to begin closing */
static _Atomic int32_t is_stepping;

static int slow_step(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action, (void)result;
  atomic_store(&is_stepping, 1);
  usleep(100000);
  atomic_store(&is_stepping, 0);
  return PP_OK;
}

TEST(every_close_returns_after_the_threads_have_ended) {
  client c = make_client("test/Fault-v0", 2);
  pp_env_def slow = *c.def;
  int64_t zeros[2] = {0};
  pthread_t threads[2];
  closer closers[2];
  slow.step = slow_step;
  c.def = &slow;
  c.options.num_threads = 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 2);
  CHECK_EQ(pp_pool_send(c.pool, NULL, 2, zeros, PP_INT64, &c.error), PP_OK);
  while (!atomic_load(&is_stepping)) usleep(100);
  for (int32_t i = 0; i < 2; i++) {
    closers[i] = (closer){.pool = c.pool, .is_stepping = &is_stepping};
    REQUIRE(pthread_create(&threads[i], NULL, close_pool, &closers[i]) == 0);
  }
  for (int32_t i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    CHECK(closers[i].saw_end);
  }
  client_close(&c);
}

/* an environment whose step does not return until the test says so */
static _Atomic int32_t may_return;

static int endless_step(pp_env *env, const void *action, pp_result *result) {
  (void)action, (void)result;
  while (env->id == 2 && !atomic_load(&may_return)) usleep(100);
  return PP_OK;
}

/* returns once a thread steps environment 2 */
static void wait_for_endless_step(pp_pool *pool) {
  int32_t env_ids[4], counts[4], found;
  do {
    found = pp_pool_stepping(pool, env_ids, counts, 4);
    while (found > 0 && env_ids[found - 1] != 2) found--;
  } while (!found);
  CHECK_EQ(counts[found - 1], 1);
  CHECK_EQ(pp_pool_stepping(pool, env_ids, counts, 0), 0);
  CHECK_EQ(pp_pool_stepping(pool, NULL, counts, 4), 0);
}

TEST(close_gives_up_on_a_step_that_does_not_return) {
  for (int32_t batch_size = 2; batch_size <= 4; batch_size += 2) {
    client c = make_client("test/Fault-v0", 4);
    pp_env_def endless = *c.def;
    int64_t zeros[4] = {0};
    endless.step = endless_step;
    c.def = &endless;
    // the caller of an ordered pool is its only thread, until a receive has a timeout
    c.options.num_threads = 1;
    c.options.batch_size = batch_size;
    atomic_store(&may_return, 0);
    REQUIRE(client_open(&c));
    CHECK_EQ(client_reset(&c), batch_size);
    if (batch_size == 2) CHECK_EQ(client_recv(&c), 2);
    CHECK_EQ(pp_pool_send(c.pool, NULL, 4, zeros, PP_INT64, &c.error), PP_OK);
    if (batch_size == 4) CHECK_EQ(client_try(&c, 1000000), 0);
    wait_for_endless_step(c.pool);
    CHECK_EQ(pp_pool_close(c.pool, 0), PP_AGAIN);
    CHECK_EQ(pp_pool_close(c.pool, 1000000), PP_AGAIN);
    CHECK_EQ(pp_pool_recv(c.pool, c.fresh, -1, &c.error), PP_ERR_CLOSED);
    wait_for_endless_step(c.pool);
    atomic_store(&may_return, 1);
    CHECK_EQ(pp_pool_close(c.pool, -1), PP_OK);
    CHECK_EQ(pp_pool_close(c.pool, 0), PP_OK);
    client_close(&c);
  }
}

TEST(close_abandons_what_is_queued_and_in_flight) {
  for (int32_t batch_size = 1; batch_size <= 64; batch_size *= 4) {
    client c = make_client("test/Fault-v0", 64);
    c.options.num_threads = 4;
    c.options.batch_size = batch_size;
    set_number(&c, "spin", 2000);
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 64, NULL, NULL, NULL, &c.error), PP_OK);
    pp_pool_close(c.pool, -1);
    CHECK_EQ(pp_pool_recv(c.pool, c.fresh, -1, &c.error), PP_ERR_CLOSED);
    client_close(&c);
  }
}

/* sends whatever comes back, while another thread receives */
typedef struct relay {
  client *c;
  pthread_mutex_t lock;
  int32_t ids[64], waiting;
  _Atomic int32_t is_done;
} relay;

static void *send_back(void *arg) {
  relay *r = arg;
  int64_t zeros[64] = {0};
  while (!atomic_load(&r->is_done)) {
    int32_t ids_now[64], count;
    pthread_mutex_lock(&r->lock);
    count = r->waiting;
    memcpy(ids_now, r->ids, sizeof(ids_now));
    r->waiting = 0;
    pthread_mutex_unlock(&r->lock);
    if (!count) {
      sched_yield();
    } else if (!CHECK_EQ(pp_pool_send(r->c->pool, ids_now, count, zeros, PP_INT64, NULL), PP_OK)) {
      break;
    }
  }
  return NULL;
}

TEST(one_thread_sends_and_another_receives) {
  for (int32_t batch_size = 4; batch_size <= 16; batch_size += 12) {
    client c = make_client("test/Fault-v0", 16);
    relay r = {.c = &c, .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t seen[16] = {0};
    int32_t received = 0;
    pthread_t thread;
    pp_stats stats;
    c.options.num_threads = 3;
    c.options.batch_size = batch_size;
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 16, NULL, NULL, NULL, &c.error), PP_OK);
    REQUIRE(pthread_create(&thread, NULL, send_back, &r) == 0);
    while (received < 4000) {
      int32_t rows = client_try(&c, SECOND);
      if (!CHECK(rows >= 0)) break;
      const int32_t *env_ids = rows ? column(&c, "env_id") : NULL;
      const int64_t *counts = rows ? column(&c, "count") : NULL;
      pthread_mutex_lock(&r.lock);
      for (int32_t i = 0; i < rows; i++) {
        // each environment counts its own steps: none is lost, repeated or in another's row
        CHECK_EQ(counts[i], seen[env_ids[i]]++);
        r.ids[r.waiting++] = env_ids[i];
      }
      pthread_mutex_unlock(&r.lock);
      received += rows;
      pp_pool_stats(c.pool, &stats);
      CHECK_EQ(stats.env_steps, received);
    }
    atomic_store(&r.is_done, 1);
    pthread_join(thread, NULL);
    client_close(&c);
  }
}

/* ---------------------------------------------------------------------------------- wakes -- */

/* The number of futex calls depends on pool steps, not on environments. */
TEST(futex_calls_are_few) {
  for (int32_t ordered = 0; ordered < 2; ordered++) {
    client c = make_client("test/Fault-v0", 64);
    int64_t zeros[64] = {0};
    pp_stats before, after;
    enum { ROUNDS = 100 };
    c.options.num_threads = 4;
    c.options.batch_size = ordered ? 64 : 63;
    set_number(&c, "spin", 3000);
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 64, NULL, NULL, NULL, &c.error), PP_OK);
    CHECK_EQ(client_recv(&c), c.options.batch_size);
    pp_pool_stats(c.pool, &before);
    int64_t start = pp_os_now(), cuts;
    for (int32_t i = 0; i < ROUNDS; i++) {
      int32_t env_ids[64];
      memcpy(env_ids, column(&c, "env_id"), sizeof(int32_t) * (size_t)c.options.batch_size);
      int32_t rows = client_step(&c, ordered ? NULL : env_ids, c.options.batch_size, zeros);
      if (!CHECK_EQ(rows, c.options.batch_size)) break;
    }
    pp_pool_stats(c.pool, &after);
    CHECK_EQ(after.batches - before.batches, ROUNDS);
    // one wake call for all workers of the lane after a push, and one after each chunk that took so
    // long, for want of a core, that the thread left the rest to others
    cuts = c.options.num_threads * ((pp_os_now() - start) / PP_CHUNK_CUT_NS);
    CHECK(after.worker_wakes - before.worker_wakes <= ROUNDS + cuts);
    CHECK(after.caller_wakes - before.caller_wakes <= 2 * ROUNDS);
    CHECK(after.worker_waits - before.worker_waits <= (ROUNDS + cuts) * after.num_workers + 4);
    CHECK_EQ(after.num_workers, 3);  // the caller is the fourth
    client_close(&c);
  }
}

TEST(stats_count_the_threads_that_exist) {
  const char *root = make_machine(8);
  client c = make_client("CartPole-v1", 3);
  pp_stats stats;
  c.options.num_threads = 8;
  c.options.topology_root = root;
  REQUIRE(client_open(&c));
  end_machine(root, 8);
  pp_pool_stats(c.pool, &stats);
  CHECK_EQ(stats.num_lanes, 3);
  CHECK_EQ(stats.num_threads, stats.num_workers + 1);
  client_close(&c);
}

TEST(a_pool_that_takes_turns_does_not_spin) {
  const int64_t zeros[16] = {0};
  client c = make_client("CartPole-v1", 16);
  c.options.num_threads = 3;
  REQUIRE(client_open(&c));
  CHECK(c.pool->ops.spin_cores(c.pool) > 0);
  pp_pool_stop_spinning(c.pool);
  CHECK_EQ(c.pool->ops.spin_cores(c.pool), 0);
  CHECK_EQ(client_reset(&c), 16);
  for (int32_t i = 0; i < 50; i++) CHECK_EQ(client_step(&c, NULL, 16, zeros), 16);
  client_close(&c);
}

TEST(pinned_workers_stay_on_the_node_of_their_lane) {
  for (int32_t nodes = 1; nodes <= 4; nodes++) {
    const char *root = make_machine(nodes);
    client c = make_client("CartPole-v1", 64);
    c.options.num_threads = 2 * nodes;
    c.options.thread_affinity_offset = 0;
    c.options.topology_root = root;
    REQUIRE(client_open(&c));
    end_machine(root, nodes);
    CHECK_EQ(c.pool->threads->num_lanes, nodes);
    for (int32_t i = 0; i < nodes; i++) {
      const pp_lane *lane = &c.pool->threads->lanes[i];
      CHECK_EQ(lane->num_workers, i == c.pool->threads->home_lane ? 1 : 2);
      for (int32_t w = 0; w < lane->num_workers; w++) {
        CHECK_EQ(lane->workers[w].num_cpus, 1);
        // two cores each, in the order of nodes
        CHECK_EQ(lane->workers[w].cpus[0], 2 * lane->node + w);
      }
    }
    client_close(&c);
  }
}

TEST(any_affinity_offset_is_accepted) {
  client c = make_client("CartPole-v1", 4);
  c.options.num_threads = 4;
  c.options.thread_affinity_offset = INT32_MAX;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 4);
  client_close(&c);
}

/* ----------------------------------------------------------------------------------- fork -- */

TEST(a_forked_child_has_no_pool_but_can_make_one) {
  client c = make_client("CartPole-v1", 16);
  int64_t zeros[16] = {0};
  int end;
  c.options.num_threads = 4;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 16);
  CHECK_EQ(pp_pool_send(c.pool, NULL, 16, zeros, PP_INT64, &c.error), PP_OK);
  pid_t child = fork();
  if (child == 0) {
    int bad = 0;
    client own = make_client("CartPole-v1", 16);
    bad += pp_pool_send(c.pool, NULL, 16, zeros, PP_INT64, &c.error) != PP_ERR_FORKED;
    bad += pp_pool_recv(c.pool, c.fresh, -1, &c.error) != PP_ERR_FORKED;
    bad += pp_pool_recv(c.pool, c.fresh, 0, &c.error) != PP_ERR_FORKED;
    bad += pp_pool_step(c.pool, NULL, 16, zeros, PP_INT64, c.fresh, &c.error) != PP_ERR_FORKED;
    bad += pp_pool_needs_reset(c.pool, 0) != PP_ERR_FORKED;
    bad += strstr(c.error.text, "parent") == NULL;
    pp_pool_close(c.pool, -1);
    pp_pool_destroy(c.pool);
    // the child's pool starts threads of its own; those of its parent do not exist there
#if !defined(__SANITIZE_THREAD__) /* which has no threads after a fork */
    own.options.num_threads = 3;
#endif
    bad += !client_open(&own);
    bad += client_reset(&own) != 16;
    for (int32_t i = 0; i < 50; i++) bad += client_step(&own, NULL, 16, zeros) != 16;
    client_close(&own);
    _exit(bad);
  }
  REQUIRE(child > 0);
  CHECK_EQ(waitpid(child, &end, 0), child);
  CHECK(WIFEXITED(end));
  CHECK_EQ(WEXITSTATUS(end), 0);
  CHECK_EQ(client_recv(&c), 16);
  CHECK_EQ(client_step(&c, NULL, 16, zeros), 16);
  client_close(&c);
}

/* returns the address of a batch in the memory of a rollout */
static void *batch_at(const client *c, void *memory, int32_t batch) {
  return (char *)memory + c->size * batch;
}

TEST(batches_of_a_rollout_are_rows_of_one_array) {
  enum { FEW = 4, BATCHES = 6 };
  const int64_t actions[FEW] = {0, 1, 0, 1};
  client c = make_client("CartPole-v1", FEW), other = make_client("CartPole-v1", FEW);
  if (client_open(&c) && client_open(&other)) {
    void *memory = pp_rollout_alloc(c.pool, BATCHES), *own[MAX_BATCHES], *blocks[MAX_BATCHES];
    const pp_column *observations = &c.columns[0];
    REQUIRE(memory != NULL);
    for (int32_t i = 0; i < c.capacity; i++) {
      own[i] = c.given[(c.oldest + i) % c.capacity];
      blocks[i] = batch_at(&c, memory, i);
    }
    CHECK_EQ(client_reset(&c), FEW);
    CHECK_EQ(client_reset(&other), FEW);
    for (int32_t i = 0; i < c.capacity; i++) own[i] = c.given[(c.oldest + i) % c.capacity];

    // in flight: nothing changes
    CHECK_EQ(pp_pool_send(c.pool, NULL, FEW, actions, PP_INT64, &c.error), PP_OK);
    CHECK_EQ(pp_pool_roll(c.pool, memory, BATCHES, blocks, &c.error), PP_ERR_STATE);
    CHECK_EQ(client_recv(&c), FEW);
    CHECK_EQ(client_step(&other, NULL, FEW, actions), FEW);
    CHECK(memcmp(c.batch, other.batch, (size_t)c.size) == 0);
    for (int32_t i = 0; i < c.capacity; i++) own[i] = c.given[(c.oldest + i) % c.capacity];

    CHECK_EQ(pp_pool_roll(c.pool, memory, BATCHES, blocks, &c.error), PP_OK);
    for (int32_t i = 0; i < BATCHES; i++) {
      // the blocks of its own come after the last batch
      int32_t next = i + c.capacity;
      void *fresh = next < BATCHES ? batch_at(&c, memory, next) : own[next - BATCHES];
      const char *row =
          (char *)memory + BATCHES * observations->offset + i * FEW * observations->row_bytes;
      CHECK_EQ(pp_pool_step(c.pool, NULL, FEW, actions, PP_INT64, fresh, &c.error), FEW);
      CHECK_EQ(client_step(&other, NULL, FEW, actions), FEW);
      CHECK(memcmp(row, (char *)other.batch + observations->offset,
                   (size_t)(observations->row_bytes * FEW)) == 0);
    }
    CHECK_EQ(pp_pool_roll(c.pool, NULL, 0, own, &c.error), PP_OK);
    for (int32_t i = 0; i < c.capacity; i++) c.given[i] = own[i];
    c.oldest = 0;
    CHECK_EQ(client_step(&c, NULL, FEW, actions), FEW);
    CHECK_EQ(client_step(&other, NULL, FEW, actions), FEW);
    CHECK(memcmp(c.batch, other.batch, (size_t)c.size) == 0);
    pp_batch_free(memory, c.size * BATCHES);
  }
  client_close(&c);
  client_close(&other);
}
