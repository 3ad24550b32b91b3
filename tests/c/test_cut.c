/* Batches that are received before they are complete: every row comes once, in the order in which
 * its environment was stepped. */
#define _GNU_SOURCE

#include <pthread.h>
#include <unistd.h>

#include "pool/pool.h"
#include "pool_tests.h"

#ifdef __SANITIZE_THREAD__
enum { STEPS = 60 };
#else
enum { STEPS = 400 };
#endif

enum { MAX_ENVS = 24 };

static uint64_t random_state = 1;

static int32_t draw(int32_t n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (int32_t)((random_state >> 33) % (uint64_t)n);
}

/* ---------------------------------------------------------------------------------- model -- */

/* sums[env_id][step] of the rows that an environment has returned after so many steps */
static uint64_t sums[MAX_ENVS][STEPS + 1];

/* steps all environments in order, with one thread */
static void fill_sums(client c) {
  int32_t n = c.options.num_envs;
  int64_t actions[MAX_ENVS];
  c.options.batch_size = n;
  c.options.num_threads = 1;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), n);
  for (int32_t step = 0; step <= STEPS; step++) {
    for (int32_t i = 0; i < n; i++) {
      sums[i][step] = sum_row(&c, step ? sums[i][step - 1] : 0, i);
      actions[i] = some_action(i, step, 2);
    }
    CHECK_EQ(client_step(&c, NULL, n, actions), n);
  }
  client_close(&c);
}

/* what the caller knows of an unordered pool */
typedef struct model {
  int32_t is_in_flight[MAX_ENVS];
  int32_t steps[MAX_ENVS];
  int32_t num_in_flight;
  int64_t rows;
} model;

static void check_batch(const client *c, model *m, int32_t rows) {
  const int32_t *ids = column(c, "env_id");
  CHECK(rows >= c->min_rows && rows <= c->options.batch_size);
  if (!c->min_rows) CHECK_EQ(rows, c->options.batch_size);
  for (int32_t row = 0; row < rows; row++) {
    int32_t id = ids[row];
    if (!CHECK(id >= 0 && id < c->options.num_envs && m->is_in_flight[id])) continue;
    m->is_in_flight[id] = 0;
    CHECK(sum_row(c, m->steps[id] ? sums[id][m->steps[id] - 1] : 0, row) == sums[id][m->steps[id]]);
    m->steps[id]++;
  }
  check_cleared(c, rows);
  m->num_in_flight -= rows;
  m->rows += rows;
  CHECK_EQ(pp_pool_in_flight(c->pool), m->num_in_flight);
}

/* sends to some of the environments that are idle */
static void send_some(client *c, model *m) {
  int32_t ids[MAX_ENVS], count = 0, most = draw(4);
  int64_t actions[MAX_ENVS];
  for (int32_t i = 0; i < c->options.num_envs; i++) {
    if (m->is_in_flight[i] || m->steps[i] > STEPS || draw(4) < most - 1) continue;
    m->is_in_flight[i] = 1;
    actions[count] = some_action(i, m->steps[i] - 1, 2);
    ids[count++] = i;
  }
  if (!count) return;
  CHECK_EQ(pp_pool_send(c->pool, ids, count, actions, PP_INT64, &c->error), PP_OK);
  m->num_in_flight += count;
}

static void play(client c) {
  static const int64_t timeouts[] = {-1, 0, 1, 20000, 200000};
  int32_t n = c.options.num_envs, batch_size = c.options.batch_size;
  model m = {.num_in_flight = n};
  fill_sums(c);
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_send_reset(c.pool, NULL, n, NULL, NULL, NULL, &c.error), PP_OK);
  for (int32_t i = 0; i < n; i++) m.is_in_flight[i] = 1;
  while (m.rows < (int64_t)n * STEPS / 2) {
    int64_t timeout = timeouts[draw(5)];
    int32_t rows;
    c.min_rows = draw(5) ? 1 + draw(batch_size) : 0;
    rows = client_try(&c, timeout);
    if (rows > 0) {
      check_batch(&c, &m, rows);
    } else if (rows == PP_ERR_STATE) {
      CHECK(timeout < 0 && m.num_in_flight < (c.min_rows ? c.min_rows : batch_size));
    } else {
      CHECK_EQ(rows, 0);
    }
    send_some(&c, &m);
  }
  c.min_rows = 1;
  while (m.num_in_flight > 0) check_batch(&c, &m, client_recv(&c));
  CHECK_EQ(client_try(&c, -1), PP_ERR_STATE);
  client_close(&c);
}

static void play_pool(const char *id, int32_t num_envs, int32_t batch_size, int32_t num_threads,
                      int32_t autoreset) {
  client c = make_client(id, num_envs);
  c.options.batch_size = batch_size;
  c.options.num_threads = num_threads;
  c.options.autoreset = autoreset;
  c.options.max_episode_steps = 17;
  play(c);
}

TEST(every_row_of_environments_stepped_in_runs_comes_once) {
  play_pool("CartPole-v1", 8, 4, 2, PP_NEXT_STEP);
  play_pool("CartPole-v1", 24, 23, 3, PP_NEXT_STEP);
  play_pool("CartPole-v1", 13, 5, 4, PP_SAME_STEP);
}

TEST(every_row_of_environments_stepped_alone_comes_once) {
  play_pool("test/Fault-v0", 2, 1, 2, PP_NEXT_STEP);
  play_pool("test/Fault-v0", 8, 4, 4, PP_NEXT_STEP);
  play_pool("test/Fault-v0", 7, 6, 3, PP_SAME_STEP);
}

TEST(rows_of_several_players_are_cleared) {
  client c = make_client("test/Duel-v0", 5);
  const int32_t one = 3;
  c.options.batch_size = 4;
  c.options.num_threads = 2;
  c.options.extras = PP_WITH_PLAYERS | PP_WITH_STATISTICS;
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_send_reset(c.pool, &one, 1, NULL, NULL, NULL, &c.error), PP_OK);
  c.min_rows = 1;
  CHECK_EQ(client_recv(&c), 1);
  for (int32_t i = 0; i < 8; i++) {
    CHECK_EQ(((int32_t *)column(&c, "players.env_id"))[i], i < 2 ? 3 : -1);
  }
  client_close(&c);
}

/* ----------------------------------------------------------------------------- stragglers -- */

/* environment 0 waits in its step, or while it writes its row */
static _Atomic int32_t holds_step, holds_row, num_held;
static const pp_env_def *held_def;

static void hold(const pp_env *env, _Atomic int32_t *is_held) {
  if (env->id || !atomic_load(is_held)) return;
  atomic_fetch_add(&num_held, 1);
  while (atomic_load(is_held)) usleep(100);
}

static int held_step(pp_env *env, const void *action, pp_result *result) {
  hold(env, &holds_step);
  return held_def->step(env, action, result);
}

static int held_observe(pp_env *env, void *const *fields, bool is_reset) {
  hold(env, &holds_row);
  return held_def->observe(env, fields, is_reset);
}

/* opens a pool of batches of 4 whose environments have been reset */
static int open_held(client *c, pp_env_def *def) {
  *c = make_client("test/Fault-v0", 5);
  held_def = c->def;
  *def = *c->def;
  def->step = held_step;
  def->observe = held_observe;
  c->def = def;
  c->options.batch_size = 4;
  c->options.num_threads = 3;
  if (!client_open(c)) return 0;
  CHECK_EQ(pp_pool_send_reset(c->pool, NULL, 5, NULL, NULL, NULL, &c->error), PP_OK);
  CHECK_EQ(client_recv(c), 4);
  c->min_rows = 1;
  CHECK_EQ(client_recv(c), 1);
  atomic_store(&num_held, 0);
  return 1;
}

/* sends to environment 0, which is held, and then to others */
static void send_held(client *c, _Atomic int32_t *is_held, int32_t others) {
  const int32_t ids[5] = {0, 1, 2, 3, 4};
  int64_t zeros[5] = {0};
  atomic_store(is_held, 1);
  CHECK_EQ(pp_pool_send(c->pool, ids, 1, zeros, PP_INT64, &c->error), PP_OK);
  while (!atomic_load(&num_held)) usleep(100);
  if (!others) return;
  CHECK_EQ(pp_pool_send(c->pool, ids + 1, others, zeros, PP_INT64, &c->error), PP_OK);
}

static int32_t take(client *c, int32_t min_rows, int64_t timeout) {
  int32_t rows;
  c->min_rows = min_rows;
  do rows = client_try(c, timeout);
  while (rows == 0 && timeout < 0);
  if (rows > 0) check_cleared(c, rows);
  return rows;
}

TEST(an_environment_that_is_being_stepped_is_not_waited_for) {
  pp_env_def def;
  client c;
  REQUIRE(open_held(&c, &def));
  send_held(&c, &holds_step, 3);
  CHECK_EQ(take(&c, 3, -1), 3);
  for (int32_t i = 0; i < 3; i++) CHECK(((int32_t *)column(&c, "env_id"))[i] > 0);
  CHECK_EQ(pp_pool_in_flight(c.pool), 1);
  CHECK_EQ(take(&c, 1, 0), 0);
  CHECK_EQ(take(&c, 2, -1), PP_ERR_STATE);
  atomic_store(&holds_step, 0);
  CHECK_EQ(take(&c, 1, -1), 1);
  CHECK_EQ(((int32_t *)column(&c, "env_id"))[0], 0);
  client_close(&c);
}

TEST(too_few_rows_stay_for_the_next_receive) {
  pp_env_def def;
  client c;
  REQUIRE(open_held(&c, &def));
  send_held(&c, &holds_step, 2);
  CHECK_EQ(take(&c, 3, 1000000), 0);
  CHECK_EQ(pp_pool_in_flight(c.pool), 3);
  CHECK_EQ(take(&c, 2, -1), 2);
  atomic_store(&holds_step, 0);
  CHECK_EQ(take(&c, 1, SECOND), 0);
  const pp_ring *ring = &c.pool->ring;
  const pp_ring_slot *slot = &ring->slots[ring->received % ring->num_slots];
  while (c.pool->ops.count_written(c.pool, slot) < 1) usleep(100);
  CHECK_EQ(take(&c, 1, 0), 1);
  client_close(&c);
}

/* A row that is being written holds up those before and after it, for a short time; then the call
 * returns without a result. */
TEST(a_row_that_is_being_written_is_not_lost) {
  pp_env_def def;
  client c;
  REQUIRE(open_held(&c, &def));
  send_held(&c, &holds_row, 2);
  const pp_ring *ring = &c.pool->ring;
  const pp_ring_slot *slot = &ring->slots[ring->received % ring->num_slots];
  while (c.pool->ops.count_written(c.pool, slot) < 2) usleep(100);
  CHECK_EQ(take(&c, 1, 0), 0);
  CHECK_EQ(pp_pool_in_flight(c.pool), 3);
  atomic_store(&holds_row, 0);
  CHECK_EQ(take(&c, 3, -1), 3);
  // the block that follows is a whole one
  const int32_t ids[4] = {3, 2, 1, 0};
  int64_t zeros[4] = {0};
  CHECK_EQ(pp_pool_send(c.pool, ids, 4, zeros, PP_INT64, &c.error), PP_OK);
  CHECK_EQ(take(&c, 0, -1), 4);
  client_close(&c);
}

/* -------------------------------------------------------------------------------- the rest -- */

TEST(failures_come_with_their_rows) {
  client c = make_client("test/Fault-v0", 3);
  const int32_t one = 1;
  int64_t zero = 0;
  int32_t count, rows;
  set_text(&c, "fail_on", "step");
  set_number(&c, "fail_env", 1);
  c.options.batch_size = 2;
  c.options.num_threads = 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(pp_pool_send_reset(c.pool, &one, 1, NULL, NULL, NULL, &c.error), PP_OK);
  CHECK_EQ(take(&c, 1, -1), 1);
  CHECK_EQ(pp_pool_send(c.pool, &one, 1, &zero, PP_INT64, &c.error), PP_OK);
  CHECK_EQ(take(&c, 1, -1), PP_ERR_ENV);
  CHECK_EQ(pp_pool_failed(c.pool, &count, &rows)[0], 1);
  CHECK_EQ(count, 1);
  CHECK_EQ(rows, 1);
  CHECK_EQ(((int32_t *)column(&c, "env_id"))[0], 1);
  check_cleared(&c, 1);
  client_close(&c);
}

TEST(wrong_numbers_of_rows_are_refused) {
  for (int32_t batch_size = 3; batch_size <= 4; batch_size++) {
    client c = make_client("CartPole-v1", 4);
    c.options.batch_size = batch_size;
    c.options.num_threads = 2;
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, 4, NULL, NULL, NULL, &c.error), PP_OK);
    for (int32_t rows = batch_size == 4 ? 1 : 0; rows <= 4; rows += batch_size == 4 ? 1 : 4) {
      CHECK_EQ(pp_pool_recv_some(c.pool, c.fresh, rows, -1, &c.error), PP_ERR_ARGUMENT);
      CHECK(
          strstr(c.error.text, batch_size == 4 ? "choose batch_size < num_envs" : "choose 1 to 3"));
    }
    CHECK_EQ(client_recv(&c), batch_size);
    client_close(&c);
  }
}

/* rows are there when the caller looks first, and not when it takes them */
static _Atomic int32_t looks;

static int32_t flickering(const pp_pool *pool, const pp_ring_slot *slot) {
  (void)pool, (void)slot;
  return atomic_fetch_add(&looks, 1) % 2 ? 0 : 2;
}

TEST(a_count_that_flickers_does_not_hold_the_caller) {
  client c = make_client("test/Fault-v0", 4);
  int32_t first[1];
  c.options.batch_size = 3;
  c.options.num_threads = 1;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), 3);
  c.pool->ops.count_written = flickering;
  memcpy(first, column(&c, "env_id"), sizeof(first));
  CHECK_EQ(pp_pool_send_reset(c.pool, first, 1, NULL, NULL, NULL, &c.error), PP_OK);
  alarm(60);
  CHECK_EQ(pp_pool_recv_some(c.pool, c.fresh, 1, -1, &c.error), 0);
  CHECK_EQ(pp_pool_recv_some(c.pool, c.fresh, 1, 0, &c.error), 0);
  alarm(0);
  CHECK(atomic_load(&looks) > 4);
  client_close(&c);
}
