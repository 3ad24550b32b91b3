/* What the engine adds to an environment step: a pool's steps against a bare loop over the same
 * callbacks, in interleaved rounds, by the CPU time of one thread. Prints one line of JSON.
 *
 * usage: overhead [ID [NUM_ENVS [ROUNDS]]]      engine_overhead.py builds and runs it
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bare_loop.h"
#include "pp_pool.h"

enum { STEPS = 512, ACTIONS = 64, MAX_ROUNDS = 1000 };

static double thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const pp_env_def *find(const char *id) {
  int32_t count;
  const pp_env_def *const *table = pp_env_table(&count);
  for (int32_t i = 0; i < count; i++) {
    if (!strcmp(table[i]->id, id)) return table[i];
  }
  return NULL;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Steps the pool as Python does, which hands in another batch for each one that it takes. `actions`
 * holds ACTIONS sets of n actions. */
static int steps(pp_pool *pool, void **memory, int32_t spare, const int64_t *actions, int32_t n,
                 int64_t count, pp_error *error) {
  static int64_t at;
  for (int64_t i = 0; i < count; i++) {
    int32_t rows = pp_pool_step(pool, NULL, n, actions + i % ACTIONS * n, PP_INT64,
                                memory[at++ % spare], error);
    while (rows == 0) rows = pp_pool_recv(pool, memory[(at - 1) % spare], -1, error);
    if (rows < 0) return rows;
  }
  return PP_OK;
}

int main(int argc, char **argv) {
  const pp_env_def *def = find(argc > 1 ? argv[1] : "CartPole-v1");
  int32_t n = argc > 2 ? atoi(argv[2]) : 1024, rounds = argc > 3 ? atoi(argv[3]) : 31, count;
  pp_pool_options options = {.num_envs = n,
                             .batch_size = n,
                             .num_threads = 1,
                             .thread_affinity_offset = -1,
                             .autoreset = PP_NEXT_STEP,
                             .max_episode_steps = -1,
                             .reward_dtype = PP_FLOAT32};
  double bare[MAX_ROUNDS], added[MAX_ROUNDS];
  pp_error error = {0};
  pp_pool *pool;

  if (!def || rounds < 1 || rounds > MAX_ROUNDS) return 2;
  int64_t *actions = calloc((size_t)n * ACTIONS, sizeof(*actions));
  // a linear congruential generator with the constants of Knuth's MMIX
  uint64_t random = 1;
  for (int32_t i = 0; i < n * ACTIONS; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    actions[i] = (int64_t)((random >> 33) % (uint64_t)def->action.n);
  }
  if (pp_pool_create(def, NULL, &options, &pool, &error) < 0) goto fail;

  // as many batches as Python has: those in the ring, and two that the user holds
  count = pp_pool_batches(pool);
  void *memory[8];
  for (int32_t i = 0; i < count + 2; i++) memory[i] = pp_batch_alloc(pool);
  for (int32_t i = 0; i < count; i++) pp_pool_offer(pool, memory[i], &error);
  // the ring returns batches in order, so offering them in order uses all of them in turn
  void *fresh[8];
  for (int32_t i = 0; i < count + 2; i++) fresh[i] = memory[(i + count) % (count + 2)];
  if (steps(pool, fresh, count + 2, actions, n, 2 * STEPS, &error) < 0) goto fail;

  for (int32_t r = 0; r < rounds; r++) {
    double start = thread_seconds(), middle;
    if (bare_loop(pool, actions, ACTIONS, STEPS, &error) < 0) goto fail;
    middle = thread_seconds();
    bare[r] = (middle - start) * 1e9 / STEPS / n;
    // after the bare loop every environment starts with a reset
    if (steps(pool, fresh, count + 2, actions, n, 20, &error) < 0) goto fail;
    start = thread_seconds();
    if (steps(pool, fresh, count + 2, actions, n, STEPS, &error) < 0) goto fail;
    added[r] = (thread_seconds() - start) * 1e9 / STEPS / n - bare[r];
  }
  qsort(bare, (size_t)rounds, sizeof(*bare), compare);
  qsort(added, (size_t)rounds, sizeof(*added), compare);
  printf(
      "{\"id\": \"%s\", \"num_envs\": %d, \"bare_ns\": %.2f, \"added_ns\": %.2f, "
      "\"added_low_ns\": %.2f, \"added_high_ns\": %.2f, \"rounds\": %d}\n",
      def->id, n, bare[rounds / 2], added[rounds / 2], added[rounds / 10],
      added[rounds - 1 - rounds / 10], rounds);
  pp_pool_destroy(pool);
  return 0;

fail:
  fprintf(stderr, "%s\n", error.text);
  return 1;
}
