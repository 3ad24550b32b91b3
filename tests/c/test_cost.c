/* Cost: a chunk is worth the traffic of taking it, leaves work to other threads, and follows the
 * measured cost of steps, in a pool, too. */
#define _GNU_SOURCE
#include <unistd.h>

#include "pool_tests.h"
#include "threads/lane.h"
#include "threads/lanes.h"

static pp_cost of_cost(uint32_t nanoseconds) {
  pp_cost cost;
  atomic_init(&cost.step, 16 * nanoseconds);
  return cost;
}

TEST(while_the_cost_is_unknown_one_environment_is_taken) {
  pp_cost cost = of_cost(0);
  CHECK_EQ(pp_cost_estimate(&cost, 5), INT64_MAX);
  CHECK_EQ(pp_cost_chunk(&cost, 1000, 0), 1);
  CHECK_EQ(pp_cost_chunk(&cost, 1000, 1), 1);
  CHECK_EQ(pp_cost_entry(&cost), 1);
  // each environment may be worth a thread
  CHECK_EQ(pp_cost_threads(&cost, 7), 7);
}

TEST(a_chunk_is_within_its_bounds_whatever_the_cost) {
  const uint32_t costs[] = {1, 5, 20, 100, 1000, 3000, 20000, 1000000, UINT32_MAX / 16};
  for (size_t c = 0; c < sizeof(costs) / sizeof(*costs); c++) {
    pp_cost cost = of_cost(costs[c]);
    for (int64_t available = 1; available < 100000; available = available * 3 + 1) {
      for (int32_t is_shared = 0; is_shared < 2; is_shared++) {
        int64_t chunk = pp_cost_chunk(&cost, available, is_shared);
        CHECK(chunk >= 1 && chunk <= available && chunk <= PP_MAX_CHUNK);
        // no more work than PP_CHUNK_MAX_NS, unless one step is more
        CHECK((chunk - 1) * costs[c] <= PP_CHUNK_MAX_NS);
        // and no less than PP_CHUNK_MIN_NS, unless no more is available
        CHECK(chunk == available || chunk == PP_MAX_CHUNK || chunk * costs[c] >= PP_CHUNK_MIN_NS);
        // half is left to other threads, if it is worth taking
        if (is_shared && (available - chunk) * 2 < available && chunk < available) {
          CHECK((chunk - 1) * costs[c] <= PP_CHUNK_MIN_NS);
        }
        // what is left is worth a chunk, unless this one is as large as may be
        CHECK(chunk == available || (available - chunk) * costs[c] >= PP_CHUNK_MIN_NS ||
              chunk == PP_MAX_CHUNK || available * costs[c] > PP_CHUNK_MAX_NS);
      }
    }
    CHECK(pp_cost_entry(&cost) >= 1 && pp_cost_entry(&cost) <= PP_MAX_ENTRY);
    CHECK(pp_cost_entry(&cost) == 1 || pp_cost_entry(&cost) * costs[c] <= PP_CHUNK_MIN_NS);
    CHECK_EQ(pp_cost_estimate(&cost, 16), 16 * (int64_t)costs[c]);
    CHECK_EQ(pp_cost_threads(&cost, 8), 8 * (int64_t)costs[c] / PP_WAKE_NS + 1);
  }
}

TEST(shared_chunks_halve_what_is_left) {
  pp_cost cost = of_cost(1000);
  int64_t left = 30, chunks = 0;
  CHECK_EQ(pp_cost_chunk(&cost, 30, 1), 15);
  CHECK_EQ(pp_cost_chunk(&cost, 30, 0), 21);
  // until PP_CHUNK_MIN_NS is reached
  CHECK_EQ(pp_cost_chunk(&cost, 7, 1), 4);
  // and a rest that is worth less is taken along
  CHECK_EQ(pp_cost_chunk(&cost, 6, 1), 6);
  while (left > 0 && chunks < 100) {
    left -= pp_cost_chunk(&cost, left, 1);
    chunks++;
  }
  CHECK_EQ(left, 0);
  CHECK_EQ(chunks, 4);
}

TEST(the_first_measurement_is_taken_as_it_is) {
  pp_cost cost = of_cost(0);
  pp_cost_learn(&cost, 5000, 10, 1);
  CHECK_EQ(pp_cost_estimate(&cost, 1), 500);
}

TEST(the_cost_follows_what_is_measured) {
  const int64_t costs[] = {40, 100000, 37, 900, 1, 2000};
  pp_cost cost = of_cost(0);
  for (size_t c = 0; c < sizeof(costs) / sizeof(*costs); c++) {
    for (int32_t i = 0; i < 300; i++) pp_cost_learn(&cost, 100 * costs[c], 100, 0);
    // exactly, even if the difference is small
    CHECK_EQ(atomic_load(&cost.step), 16 * costs[c]);
  }
}

TEST(one_interruption_does_not_undo_what_was_learnt) {
  pp_cost cost = of_cost(100);
  pp_cost_learn(&cost, 1000000000, 1, 1);
  CHECK(pp_cost_estimate(&cost, 1) <= 150);
}

TEST(the_cost_never_becomes_unknown_again_and_never_overflows) {
  pp_cost cost = of_cost(0);
  pp_cost_learn(&cost, 0, 1000, 1);
  CHECK_EQ(atomic_load(&cost.step), 1);
  for (int32_t i = 0; i < 100; i++) pp_cost_learn(&cost, 0, 1, 1);
  CHECK_EQ(atomic_load(&cost.step), 1);
  // a step of an hour
  atomic_store(&cost.step, 0);
  pp_cost_learn(&cost, 3600000000000, 1, 1);
  CHECK_EQ(atomic_load(&cost.step), UINT32_MAX);
  CHECK_EQ(pp_cost_chunk(&cost, 100, 0), 1);
  for (int32_t i = 0; i < 100; i++) pp_cost_learn(&cost, 3600000000000, 1, 1);
  CHECK_EQ(atomic_load(&cost.step), UINT32_MAX);
}

TEST(of_measurements_near_the_estimate_every_eighth_counts) {
  pp_cost cost = of_cost(100);
  for (int64_t nth = 1; nth < 8; nth++) {
    pp_cost_learn(&cost, 12000, 100, nth);
    CHECK_EQ(atomic_load(&cost.step), 1600);
  }
  pp_cost_learn(&cost, 12000, 100, 8);
  CHECK(atomic_load(&cost.step) > 1600);
  // one that is far from it counts at once
  atomic_store(&cost.step, 1600);
  pp_cost_learn(&cost, 20000, 100, 1);
  CHECK(atomic_load(&cost.step) > 1600);
}

/* ---------------------------------------------------------------------------------- a pool -- */

enum { ENVS = 1024, SLEEP_US = 2 * PP_CHUNK_MAX_NS / 1000 };

static _Atomic bool is_slow;

static int step_at_will(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action;
  result->reward[0] = 1;
  // a sleep may take longer, but not less
  if (atomic_load(&is_slow)) usleep(SLEEP_US);
  return PP_OK;
}

/* steps all environments; returns how many chunks that took */
static int64_t count_chunks(client *c) {
  static const int64_t actions[ENVS];
  pp_stats before, after;
  pp_pool_stats(c->pool, &before);
  CHECK_EQ(client_step(c, NULL, ENVS, actions), ENVS);
  pp_pool_stats(c->pool, &after);
  return after.chunks - before.chunks;
}

TEST(chunks_of_a_pool_follow_the_cost_of_its_steps) {
  client c = make_client("test/Fault-v0", ENVS);
  pp_env_def def = *c.def;
  int64_t chunks = ENVS;
  def.step = step_at_will;
  c.def = &def;
  c.options.max_episode_steps = 0;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), ENVS);
  for (int32_t round = 0; round < 2; round++) {
    // cheap steps: larger chunks, once a busy machine has let some of them be cheap; how large they
    // are depends on the machine
    atomic_store(&is_slow, false);
    for (int32_t i = 0; i < 1000 && chunks > ENVS / 2; i++) chunks = count_chunks(&c);
    CHECK(chunks <= ENVS / 2);
    // steps of which each is more work than the largest chunk: taken one by one
    atomic_store(&is_slow, true);
    for (int32_t i = 0; i < 20 && chunks < ENVS; i++) chunks = count_chunks(&c);
    CHECK_EQ(chunks, ENVS);
  }
  client_close(&c);
}
