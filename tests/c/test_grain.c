/* Grain: a chunk is worth the traffic of taking it, leaves work to other threads, and follows the
 * measured cost. */
#include "check.h"
#include "threads/grain.h"

static pp_grain of_cost(uint32_t nanoseconds) {
  pp_grain grain;
  atomic_init(&grain.cost, 16 * nanoseconds);
  return grain;
}

TEST(while_the_cost_is_unknown_one_environment_is_taken) {
  pp_grain grain = of_cost(0);
  CHECK_EQ(pp_grain_estimate(&grain, 5), INT64_MAX);
  CHECK_EQ(pp_grain_chunk(&grain, 1000, 0), 1);
  CHECK_EQ(pp_grain_chunk(&grain, 1000, 1), 1);
  CHECK_EQ(pp_grain_run(&grain), 1);
  // each environment may be worth a thread
  CHECK_EQ(pp_grain_threads(&grain, 7), 7);
}

TEST(a_chunk_is_within_its_bounds_whatever_the_cost) {
  const uint32_t costs[] = {1, 5, 20, 100, 1000, 3000, 20000, 1000000, UINT32_MAX / 16};
  for (size_t c = 0; c < sizeof(costs) / sizeof(*costs); c++) {
    pp_grain grain = of_cost(costs[c]);
    for (int64_t available = 1; available < 100000; available = available * 3 + 1) {
      for (int32_t is_shared = 0; is_shared < 2; is_shared++) {
        int64_t chunk = pp_grain_chunk(&grain, available, is_shared);
        CHECK(chunk >= 1 && chunk <= available && chunk <= PP_GRAIN_ROWS);
        // no more work than PP_GRAIN_MOST, unless one step is more
        CHECK((chunk - 1) * costs[c] <= PP_GRAIN_MOST);
        // and no less than PP_GRAIN_LEAST, unless no more is available
        CHECK(chunk == available || chunk == PP_GRAIN_ROWS || chunk * costs[c] >= PP_GRAIN_LEAST);
        // half is left to other threads, if it is worth taking
        if (is_shared && (available - chunk) * 2 < available) {
          CHECK((chunk - 1) * costs[c] <= PP_GRAIN_LEAST);
        }
      }
    }
    CHECK(pp_grain_run(&grain) >= 1 && pp_grain_run(&grain) <= PP_GRAIN_RUN);
    CHECK(pp_grain_run(&grain) == 1 || pp_grain_run(&grain) * costs[c] <= PP_GRAIN_LEAST);
    CHECK_EQ(pp_grain_estimate(&grain, 16), 16 * (int64_t)costs[c]);
    CHECK_EQ(pp_grain_threads(&grain, 8), 8 * (int64_t)costs[c] / PP_GRAIN_WAKE + 1);
  }
}

TEST(shared_chunks_halve_what_is_left) {
  pp_grain grain = of_cost(1000);
  int64_t left = 30, chunks = 0;
  CHECK_EQ(pp_grain_chunk(&grain, 30, 1), 15);
  CHECK_EQ(pp_grain_chunk(&grain, 30, 0), 21);
  // until PP_GRAIN_LEAST is reached
  CHECK_EQ(pp_grain_chunk(&grain, 7, 1), 4);
  while (left > 0 && chunks < 100) {
    left -= pp_grain_chunk(&grain, left, 1);
    chunks++;
  }
  CHECK_EQ(left, 0);
  CHECK_EQ(chunks, 4);
}

TEST(the_first_measurement_is_taken_as_it_is) {
  pp_grain grain = of_cost(0);
  pp_grain_learn(&grain, 5000, 10);
  CHECK_EQ(pp_grain_estimate(&grain, 1), 500);
}

TEST(the_cost_follows_what_is_measured) {
  const int64_t costs[] = {40, 100000, 37, 900, 1, 2000};
  pp_grain grain = of_cost(0);
  for (size_t c = 0; c < sizeof(costs) / sizeof(*costs); c++) {
    for (int32_t i = 0; i < 300; i++) pp_grain_learn(&grain, 100 * costs[c], 100);
    // exactly, even if the difference is small
    CHECK_EQ(atomic_load(&grain.cost), 16 * costs[c]);
  }
}

TEST(one_interruption_does_not_undo_what_was_learnt) {
  pp_grain grain = of_cost(100);
  pp_grain_learn(&grain, 1000000000, 1);
  CHECK(pp_grain_estimate(&grain, 1) <= 150);
}

TEST(the_cost_never_becomes_unknown_again_and_never_overflows) {
  pp_grain grain = of_cost(0);
  pp_grain_learn(&grain, 0, 1000);
  CHECK_EQ(atomic_load(&grain.cost), 1);
  for (int32_t i = 0; i < 100; i++) pp_grain_learn(&grain, 0, 1);
  CHECK_EQ(atomic_load(&grain.cost), 1);
  // a step of an hour
  atomic_store(&grain.cost, 0);
  pp_grain_learn(&grain, 3600000000000, 1);
  CHECK_EQ(atomic_load(&grain.cost), UINT32_MAX);
  CHECK_EQ(pp_grain_chunk(&grain, 100, 0), 1);
  for (int32_t i = 0; i < 100; i++) pp_grain_learn(&grain, 3600000000000, 1);
  CHECK_EQ(atomic_load(&grain.cost), UINT32_MAX);
}
