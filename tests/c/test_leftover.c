/* Leftovers: each environment of a leftover is taken once, and a call returns soon even when
 * environments become expensive. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "pool_tests.h"
#include "threads/lanes.h"

TEST(a_leftover_gives_single_environments_in_order) {
  static pp_leftover leftover;
  pp_entry entries[3] = {PP_ENTRY(100, 7, 3), PP_ENTRY(200, 50, 1), PP_ENTRY(300, 90, 256)}, out;
  CHECK_EQ(pp_leftover_take(&leftover, &out), 0);
  for (int32_t done = 0; done <= 260; done += 20) {
    pp_leftover_put(&leftover, entries, 3, done);
    for (int32_t at = done; at < 260; at++) {
      int32_t id = at < 3 ? 7 + at : at < 4 ? 50 : 90 + at - 4;
      int32_t place = at < 3 ? 100 + at : at < 4 ? 200 : 300 + at - 4;
      if (!CHECK_EQ(pp_leftover_take(&leftover, &out), 1)) break;
      CHECK_EQ(out, PP_ENTRY(place, id, 1));
    }
    CHECK_EQ(pp_leftover_take(&leftover, &out), 0);
  }
}

enum { TAKERS = 3, OPENINGS = 3000, LEFT = 64 };

typedef struct contention {
  pp_leftover leftover;
  _Atomic int32_t times[LEFT], taken, is_over;
  int64_t payload[LEFT]; /* not atomic: handed over with the environment */
} contention;

static void take_all(contention *all) {
  pp_entry out;
  while (pp_leftover_take(&all->leftover, &out)) {
    int32_t id = PP_ENTRY_ENV(out);
    CHECK_EQ(all->payload[id], PP_ENTRY_PLACE(out));
    all->payload[id] = -1;
    atomic_fetch_add(&all->times[id], 1);
    atomic_fetch_add(&all->taken, 1);
  }
}

static void *take_until_over(void *arg) {
  contention *all = arg;
  while (!atomic_load(&all->is_over)) {
    take_all(all);
    sched_yield();
  }
  return NULL;
}

TEST(every_environment_of_a_leftover_is_taken_once_by_four_threads) {
  static contention all;
  pthread_t threads[TAKERS];
  for (int32_t i = 0; i < TAKERS; i++) {
    REQUIRE(pthread_create(&threads[i], NULL, take_until_over, &all) == 0);
  }
  for (int32_t round = 0; round < OPENINGS; round++) {
    // different entries each time, so that a taker that read old ones would fail a check
    int32_t first = 1 + round % (LEFT - 1);
    pp_entry entries[2] = {PP_ENTRY(round, 0, first), PP_ENTRY(round + first, first, LEFT - first)};
    for (int32_t i = 0; i < LEFT; i++) all.payload[i] = round + i;
    atomic_store(&all.taken, 0);
    pp_leftover_put(&all.leftover, entries, 2, 0);
    take_all(&all);
    while (atomic_load(&all.taken) < LEFT) sched_yield();
  }
  atomic_store(&all.is_over, 1);
  for (int32_t i = 0; i < TAKERS; i++) pthread_join(threads[i], NULL);
  for (int32_t i = 0; i < LEFT; i++) CHECK_EQ(atomic_load(&all.times[i]), OPENINGS);
}

/* --------------------------------------------------------------------------- whole pools -- */

/* an environment whose steps take MILLISECONDS while is_slow is set, and whose resets do while
 * slow_resets is */
enum { MILLISECONDS = 5, MANY = 1024, FEW = 40 };

static _Atomic int32_t is_slow, slow_resets;
static _Atomic int32_t calls_of_main;
static pthread_t main_thread;

static void linger(void) {
  if (pthread_equal(pthread_self(), main_thread)) atomic_fetch_add(&calls_of_main, 1);
  usleep(MILLISECONDS * 1000);
}

static int step_slowly(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action;
  result->reward[0] = 1;
  if (atomic_load(&is_slow)) linger();
  return PP_OK;
}

static int reset_slowly(pp_env *env, pp_reset *how) {
  (void)env, (void)how;
  if (atomic_load(&slow_resets)) linger();
  return PP_OK;
}

static client open_slow(pp_env_def *def, int32_t num_envs, int32_t batch_size, int32_t threads) {
  client c = make_client("test/Fault-v0", num_envs);
  *def = *c.def;
  def->step = step_slowly;
  def->reset = reset_slowly;
  c.def = def;
  c.options.batch_size = batch_size;
  c.options.num_threads = threads;
  c.options.max_episode_steps = 300;
  atomic_store(&is_slow, 0);
  atomic_store(&slow_resets, 0);
  main_thread = pthread_self();
  CHECK(client_open(&c));
  return c;
}

/* steps until the engine has learnt that steps are cheap */
static void warm_up(client *c, int64_t *actions) {
  CHECK_EQ(client_reset(c), c->options.num_envs);
  for (int32_t i = 0; i < 200; i++) {
    CHECK_EQ(client_step(c, NULL, c->options.num_envs, actions), c->options.num_envs);
  }
}

/* A call returns after a time slice of 50 ms and a few environments. On a busy machine it may take
 * longer by the clock, so the test counts the steps that the caller itself makes: no more than fit
 * into the slice. */
TEST(a_call_is_late_by_a_few_environments_when_steps_become_expensive) {
  static int64_t zeros[MANY];
  for (int32_t num_envs = FEW; num_envs <= MANY; num_envs += MANY - FEW) {
    for (int32_t threads = 1; threads <= 2; threads++) {
      pp_env_def def;
      client c = open_slow(&def, num_envs, num_envs, threads);
      warm_up(&c, zeros);
      atomic_store(&calls_of_main, 0);
      atomic_store(&is_slow, 1);
      int32_t rows = pp_pool_step(c.pool, NULL, num_envs, zeros, PP_INT64, c.fresh, &c.error);
      CHECK(atomic_load(&calls_of_main) <= 50 / MILLISECONDS + 6);
      CHECK(num_envs == FEW || rows == 0);
      // the rows that were left come, all of them
      atomic_store(&is_slow, 0);
      CHECK_EQ(rows ? client_took(&c, rows) : client_recv(&c), num_envs);
      for (int32_t i = 0; i < num_envs; i++) CHECK_EQ(((int32_t *)column(&c, "env_id"))[i], i);
      CHECK_EQ(client_step(&c, NULL, num_envs, zeros), num_envs);
      client_close(&c);
    }
  }
}

TEST(an_unordered_receive_is_late_by_a_few_environments_too) {
  static int64_t zeros[MANY];
  static int32_t env_ids[MANY];
  pp_env_def def;
  client c = open_slow(&def, MANY, MANY / 2, 2);
  int32_t rows;
  CHECK_EQ(pp_pool_send_reset(c.pool, NULL, MANY, NULL, NULL, NULL, &c.error), PP_OK);
  for (int32_t i = 0; i < 200; i++) {
    CHECK_EQ(client_recv(&c), MANY / 2);
    memcpy(env_ids, column(&c, "env_id"), sizeof(*env_ids) * MANY / 2);
    CHECK_EQ(pp_pool_send(c.pool, env_ids, MANY / 2, zeros, PP_INT64, &c.error), PP_OK);
  }
  CHECK_EQ(client_recv(&c), MANY / 2);
  memcpy(env_ids, column(&c, "env_id"), sizeof(*env_ids) * MANY / 2);
  atomic_store(&calls_of_main, 0);
  atomic_store(&is_slow, 1);
  CHECK_EQ(pp_pool_send(c.pool, env_ids, MANY / 2, zeros, PP_INT64, &c.error), PP_OK);
  rows = pp_pool_recv(c.pool, c.fresh, -1, &c.error);
  CHECK(atomic_load(&calls_of_main) <= 50 / MILLISECONDS + 6);
  atomic_store(&is_slow, 0);
  CHECK_EQ(rows ? client_took(&c, rows) : client_recv(&c), MANY / 2);
  client_close(&c);
}

/* On two nodes the caller helps the lane of the other node, too. The threads of that lane must find
 * what it leaves there, as the caller itself no longer helps when few rows are unclaimed. */
enum { TWO_NODES = 40, NODE_THREADS = 3 };

static _Atomic int32_t num_held, is_released;
/* the first environment of the other node, and one whose step releases the others */
static int32_t first, slow;

static int step_held(pp_env *env, const void *action, pp_result *result) {
  int64_t number = *(const int64_t *)action;
  result->reward[0] = 1;
  if (number == 0) return PP_OK;
  if (env->id == slow) {
    linger();
    atomic_store(&is_released, 1);
  } else {
    atomic_fetch_add(&num_held, 1);
    while (!atomic_load(&is_released)) sched_yield();
  }
  return PP_OK;
}

TEST(what_the_caller_leaves_in_the_lane_of_another_node_is_found_there) {
  static int64_t actions[TWO_NODES];
  const char *root = make_machine(2);
  client c = make_client("test/Fault-v0", TWO_NODES);
  pp_env_def def = *c.def;
  def.step = step_held;
  def.reset = reset_slowly;
  c.def = &def;
  c.options.batch_size = NODE_THREADS + 2;
  c.options.num_threads = 2 * NODE_THREADS;
  c.options.topology_root = root;
  main_thread = pthread_self();
  REQUIRE(client_open(&c));
  end_machine(root, 2);
  // where the caller runs decides which lane is its own
  first = c.pool->threads->home_lane == 0 ? TWO_NODES / 2 : 0;
  slow = first + 2;
  CHECK_EQ(pp_pool_send_reset(c.pool, NULL, TWO_NODES, NULL, NULL, NULL, &c.error), PP_OK);
  for (int32_t i = 0; i < 400 + TWO_NODES / c.options.batch_size; i++) {
    int32_t env_ids[NODE_THREADS + 2];
    CHECK_EQ(client_recv(&c), c.options.batch_size);
    memcpy(env_ids, column(&c, "env_id"), sizeof(env_ids));
    if (i >= 400) continue;
    CHECK_EQ(pp_pool_send(c.pool, env_ids, NODE_THREADS + 2, actions, PP_INT64, &c.error), PP_OK);
  }
  // all workers of the other lane are in a step
  for (int32_t i = 0; i < NODE_THREADS; i++) {
    int32_t env_id = first + 7 * i;
    actions[0] = 1;
    CHECK_EQ(pp_pool_send(c.pool, &env_id, 1, actions, PP_INT64, &c.error), PP_OK);
    while (atomic_load(&num_held) <= i) sched_yield();
  }
  // so the caller takes these two; the first releases the others, and the caller leaves the second
  actions[1] = 1;
  CHECK_EQ(pp_pool_send(c.pool, (int32_t[]){slow, slow + 1}, 2, actions, PP_INT64, &c.error),
           PP_OK);
  CHECK_EQ(client_recv(&c), c.options.batch_size);
  client_close(&c);
}

/* Steps are cheap, and all episodes end at once. Their resets are expensive: all threads share
 * them, although one thread took a chunk that was worth little by the cost of steps. */
TEST(expensive_resets_among_cheap_steps_are_shared) {
  static int64_t zeros[64];
  for (int32_t threads = 2; threads <= 4; threads += 2) {
    pp_env_def def;
    client c = open_slow(&def, 64, 64, threads);
    warm_up(&c, zeros);
    for (int32_t i = 200; i < 300; i++) CHECK_EQ(client_step(&c, NULL, 64, zeros), 64);
    atomic_store(&calls_of_main, 0);
    atomic_store(&slow_resets, 1);
    CHECK_EQ(client_step(&c, NULL, 64, zeros), 64);
    // an equal part and a margin; a caller that shared nothing would make all 64
    CHECK(atomic_load(&calls_of_main) <= 64 / threads + 16);
    CHECK_EQ(((int32_t *)column(&c, "elapsed_step"))[63], 0);
    client_close(&c);
  }
}
