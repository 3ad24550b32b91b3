/* Memory: after the first steps the engine allocates nothing. The linker's --wrap
 * (tests/support/c_programs.py) lets this program count all of its allocations. */
#define _GNU_SOURCE
#include "pool_tests.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static _Atomic int64_t allocations;

void *__wrap_malloc(size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __real_aligned_alloc(alignment, size);
}

enum { NUM_ENVS = 32, STEPS = 200 };

static void play(client *c, int32_t steps) {
  int32_t rows = c->options.batch_size;
  for (int32_t t = 0; t < steps; t++) {
    int64_t actions[NUM_ENVS * 2];
    int32_t env_ids[NUM_ENVS];
    memcpy(env_ids, column(c, "env_id"), sizeof(int32_t) * (size_t)rows);
    for (int32_t i = 0; i < NUM_ENVS * 2; i++) actions[i] = some_action(i, t, 2);
    if (!CHECK_EQ(client_step(c, rows == NUM_ENVS ? NULL : env_ids, rows, actions), rows)) break;
  }
}

TEST(steps_and_resets_allocate_nothing) {
  static const char *const ids[] = {"CartPole-v1", "test/Duel-v0", "test/Template-v0"};
  for (int32_t variant = 0; variant < 12; variant++) {
    client c = make_client(ids[variant / 4], NUM_ENVS);
    int64_t before = atomic_load(&allocations);
    c.options.batch_size = variant % 2 ? NUM_ENVS : 8;
    c.options.autoreset = variant / 2 % 2 ? PP_SAME_STEP : PP_NEXT_STEP;
    c.options.num_threads = 3;
    REQUIRE(client_open(&c));
    CHECK_EQ(pp_pool_send_reset(c.pool, NULL, NUM_ENVS, NULL, NULL, NULL, &c.error), PP_OK);
    CHECK_EQ(client_recv(&c), c.options.batch_size);
    play(&c, 10);
    // the counter works: it has counted the making of the pool
    CHECK(atomic_load(&allocations) > before + 10);
    before = atomic_load(&allocations);
    play(&c, STEPS);
    CHECK_EQ(atomic_load(&allocations), before);
    client_close(&c);
  }
}
