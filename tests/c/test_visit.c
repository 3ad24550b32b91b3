/* Visits: states that the caller brings to environments and takes away again. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "pool_tests.h"

enum { ENVS = 40, STEPS = 60, WORDS = 2 };

static uint32_t seeds[ENVS][WORDS];
static int64_t actions[ENVS];
static int32_t ids[ENVS];

/* a new pool that is visited; writes the size of a state */
static client open_visited(const char *id, int32_t threads, int64_t spin, int64_t *size) {
  client c = make_client(id, ENVS);
  c.options.num_threads = threads;
  c.options.autoreset = PP_SAME_STEP;
  c.options.max_episode_steps = 9;
  if (spin) set_number(&c, "spin", spin);
  client_open(&c);
  *size = pp_pool_open_visits(c.pool, &c.error);
  CHECK(*size > 0 && *size % 8 == 0);
  for (int32_t i = 0; i < ENVS; i++) ids[i] = i;
  return c;
}

static pp_visit make_visit(const char *from, char *to, int64_t size, int32_t count) {
  for (int32_t i = 0; i < ENVS; i++) seeds[i][1] = 100 + (uint32_t)i;
  return (pp_visit){.from = from,
                    .to = to,
                    .size = size,
                    .seeds = &seeds[0][0],
                    .num_words = WORDS,
                    .count = count};
}

static int32_t start(client *c, char *to, int64_t size, int32_t count) {
  const pp_visit visit = make_visit(NULL, to, size, count);
  CHECK_EQ(pp_pool_visit(c->pool, &visit, &c->error), PP_OK);
  CHECK_EQ(pp_pool_send_reset(c->pool, ids, count, NULL, NULL, NULL, &c->error), PP_OK);
  return client_recv(c);
}

static int32_t advance(client *c, const char *from, char *to, int64_t size, int32_t count) {
  const pp_visit visit = make_visit(from, to, size, count);
  CHECK_EQ(pp_pool_visit(c->pool, &visit, &c->error), PP_OK);
  return client_step(c, ids, count, actions);
}

/* Threads step states; a pool of one thread, whose environments have other states meanwhile, gets
 * the same. */
static void compare(const char *id, int64_t spin) {
  int64_t size, other_size;
  client many = open_visited(id, 4, spin, &size), one = open_visited(id, 1, spin, &other_size);
  REQUIRE(size == other_size);
  // some states grow
  size += 4096;
  char *states = calloc(ENVS, (size_t)size), *others = calloc(ENVS, (size_t)size);
  char *aside = calloc(ENVS, (size_t)size);
  CHECK_EQ(start(&many, states, size, ENVS), ENVS);
  CHECK_EQ(start(&one, others, size, ENVS), ENVS);
  memcpy(aside, others, (size_t)(size * ENVS));
  for (int32_t t = 0; t < STEPS; t++) {
    for (int32_t i = 0; i < ENVS; i++) actions[i] = some_action(i, t, 2);
    CHECK_EQ(advance(&many, states, states, size, ENVS), ENVS);
    // the environments go away from their states, and come back
    if (t % 3 == 0) CHECK_EQ(advance(&one, aside, aside, size, 7), 7);
    CHECK_EQ(advance(&one, others, others, size, ENVS), ENVS);
    if (!CHECK(!memcmp(states, others, (size_t)(size * ENVS)))) break;
    for (int32_t i = 0; i < ENVS; i++) CHECK_EQ(sum_row(&many, 1, i), sum_row(&one, 1, i));
  }
  free(states);
  free(others);
  free(aside);
  client_close(&many);
  client_close(&one);
}

TEST(cheap_environments) {
  compare("CartPole-v1", 0);
}

TEST(environments_that_threads_share) {
  compare("test/Fault-v0", 20000);
}

TEST(environments_that_save_themselves) {
  compare("test/Heap-v0", 0);
}

TEST(a_refused_state_fails_alone) {
  int64_t size;
  client c = open_visited("CartPole-v1", 2, 0, &size);
  char *states = calloc(ENVS, (size_t)size), *after = calloc(ENVS, (size_t)size);
  int32_t count, rows;
  memset(actions, 0, sizeof(actions));
  CHECK_EQ(start(&c, states, size, ENVS), ENVS);
  for (int64_t at = 0; at < size; at++) {
    states[size * 5 + at] ^= 0x41;
    if (advance(&c, states, after, size, ENVS) == PP_ERR_ENV) {
      REQUIRE(pp_pool_failed(c.pool, &count, &rows)[0] == 5);
      CHECK_EQ(count, 1);
      CHECK(strstr(pp_pool_env_error(c.pool, 5)->text, "damaged") != NULL ||
            strstr(pp_pool_env_error(c.pool, 5)->text, "no snapshot") != NULL);
    } else {
      // what follows the snapshot is not read
      int64_t length;
      memcpy(&length, states + size * 6, sizeof(length));
      CHECK(at >= (int64_t)sizeof(length) + length);
    }
    states[size * 5 + at] ^= 0x41;
  }
  CHECK_EQ(advance(&c, states, after, size, ENVS), ENVS);
  free(states);
  free(after);
  client_close(&c);
}

TEST(visits_that_cant_be_made) {
  int64_t size;
  client c = open_visited("CartPole-v1", 1, 0, &size), used = make_client("CartPole-v1", 2);
  char *states = calloc(ENVS, (size_t)size);
  const pp_visit good = make_visit(NULL, states, size, ENVS);
  pp_visit wrong = good;
  CHECK_EQ(pp_pool_visit(c.pool, NULL, &c.error), PP_ERR_ARGUMENT);
  wrong.to = NULL;
  CHECK_EQ(pp_pool_visit(c.pool, &wrong, &c.error), PP_ERR_ARGUMENT);
  wrong = good;
  wrong.size--;
  CHECK_EQ(pp_pool_visit(c.pool, &wrong, &c.error), PP_ERR_ARGUMENT);
  wrong = good;
  wrong.count = ENVS + 1;
  CHECK_EQ(pp_pool_visit(c.pool, &wrong, &c.error), PP_ERR_ARGUMENT);
  wrong = good;
  wrong.num_words = 17;
  CHECK_EQ(pp_pool_visit(c.pool, &wrong, &c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_open_visits(c.pool, &c.error), PP_ERR_STATE);
  // there is no room for the state
  wrong = good;
  wrong.size = 64;
  CHECK_EQ(pp_pool_visit(c.pool, &wrong, &c.error), PP_OK);
  CHECK_EQ(pp_pool_send_reset(c.pool, NULL, ENVS, NULL, NULL, NULL, &c.error), PP_OK);
  CHECK_EQ(client_recv(&c), PP_ERR_ENV);
  // pools that are not visited
  client_open(&used);
  CHECK_EQ(pp_pool_visit(used.pool, &good, &used.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_open_visits(used.pool, &used.error), PP_ERR_STATE);
  client_close(&used);
  free(states);
  client_close(&c);
}
