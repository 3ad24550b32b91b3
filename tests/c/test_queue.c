/* Action queue: every entry is taken exactly once, whichever thread takes it, and however often the
 * queue wraps around. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "include/pp_env.h"
#include "threads/queue.h"

enum { FIRST = 40, NUM_ENVS = 100, MANY = PP_MAX_CHUNK };

/* sets the cost of a step in nanoseconds, 0: unknown */
static void set_cost(pp_cost *cost, uint32_t nanoseconds) {
  atomic_store(&cost->step, 16 * nanoseconds);
}

TEST(an_entry_holds_what_was_put_into_it) {
  const int32_t places[] = {0, 1, 77777, INT32_MAX}, ids[] = {0, 1, 4095, PP_MAX_ENVS - 1};
  const int32_t lengths[] = {1, 2, 16, PP_MAX_STEP_MANY};
  for (int32_t i = 0; i < 64; i++) {
    int32_t place = places[i % 4], id = ids[i / 4 % 4], length = lengths[i / 16];
    pp_entry entry = PP_ENTRY(place, id, length);
    CHECK_EQ(PP_ENTRY_PLACE(entry), place);
    CHECK_EQ(PP_ENTRY_ENV(entry), id);
    CHECK_EQ(PP_ENTRY_LENGTH(entry), length);
  }
}

TEST(one_shard_gives_in_the_order_of_pushing_and_wraps_around) {
  pp_queue queue;
  pp_cost cost = {0};
  pp_entry in[NUM_ENVS], out[MANY];
  int64_t pushed = 0, taken = 0;
  REQUIRE(pp_queue_init(&queue, FIRST, NUM_ENVS, 1) == PP_OK);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, MANY, out), 0);
  // varying counts, so that chunks lie across the end of the ring buffer
  for (int32_t round = 0; round < 500; round++) {
    int32_t count = 1 + round * 7 % NUM_ENVS;
    for (int32_t i = 0; i < count; i++) {
      in[i] = PP_ENTRY(pushed + i, FIRST + (pushed + i) % NUM_ENVS, 1);
    }
    pp_queue_push_locked(&queue, in, count, 1);
    pushed += count;
    CHECK_EQ(pp_queue_pushes(&queue), (uint64_t)round + 1);
    set_cost(&cost, round % 3 ? 700 : 0);
    while (taken < pushed) {
      int32_t n = pp_queue_take(&queue, 0, &cost, MANY, out);
      if (!CHECK(n > 0 && n <= pushed - taken)) break;
      for (int32_t i = 0; i < n; i++) CHECK_EQ(PP_ENTRY_PLACE(out[i]), taken + i);
      taken += n;
    }
    CHECK_EQ(pp_queue_take(&queue, 0, &cost, MANY, out), 0);
  }
  pp_queue_fini(&queue);
}

/* with no thread but this one */
TEST(a_thread_takes_from_its_own_shard_then_from_the_next) {
  enum { SHARDS = 4 };
  pp_queue queue;
  pp_cost cost = {0};
  pp_entry in[NUM_ENVS], out[MANY];
  REQUIRE(pp_queue_init(&queue, FIRST, NUM_ENVS, SHARDS) == PP_OK);
  for (int32_t home = 0; home < SHARDS; home++) {
    int32_t last = FIRST + NUM_ENVS * home / SHARDS - 1;
    for (int32_t i = 0; i < NUM_ENVS; i++) in[i] = PP_ENTRY(0, FIRST + i, 1);
    pp_queue_push_locked(&queue, in, NUM_ENVS, 1);
    // the cost is unknown: one at a time. Ids rise from the home shard's first and wrap around once
    for (int32_t i = 0; i < NUM_ENVS; i++) {
      if (last == FIRST + NUM_ENVS - 1) last = FIRST - 1;
      CHECK_EQ(pp_queue_take(&queue, home, &cost, MANY, out), 1);
      CHECK_EQ(PP_ENTRY_ENV(out[0]), last + 1);
      last = PP_ENTRY_ENV(out[0]);
    }
    CHECK_EQ(pp_queue_take(&queue, home, &cost, MANY, out), 0);
  }
  pp_queue_fini(&queue);
}

TEST(a_queue_of_any_size_has_room_for_all_environments) {
  pp_cost cost = {0};
  pp_entry out[MANY];
  set_cost(&cost, 1);
  for (int32_t n = 1; n <= NUM_ENVS; n += n < 20 ? 1 : 27) {
    for (int32_t shards = 1; shards <= 9; shards++) {
      pp_queue queue;
      pp_entry in[NUM_ENVS];
      REQUIRE(pp_queue_init(&queue, FIRST, n, shards) == PP_OK);
      for (int32_t round = 0; round < 40; round++) {
        int32_t left = n, home = round % shards, seen[NUM_ENVS] = {0};
        for (int32_t i = 0; i < n; i++) in[i] = PP_ENTRY(i, FIRST + i, 1);
        pp_queue_push_locked(&queue, in, n, 1);
        while (left > 0) {
          int32_t count = pp_queue_take(&queue, home, &cost, MANY, out);
          if (!CHECK(count > 0)) break;
          for (int32_t i = 0; i < count; i++) seen[PP_ENTRY_ENV(out[i]) - FIRST]++;
          left -= count;
        }
        for (int32_t i = 0; i < n; i++) CHECK_EQ(seen[i], 1);
      }
      pp_queue_fini(&queue);
    }
  }
}

TEST(a_chunk_counts_environments_not_entries) {
  pp_queue queue;
  pp_cost cost = {0};
  pp_entry in[8], out[MANY];
  REQUIRE(pp_queue_init(&queue, 0, 128, 1) == PP_OK);
  for (int32_t i = 0; i < 8; i++) in[i] = PP_ENTRY(16 * i, 16 * i, 16);
  // 40 environments are worth the largest chunk: two entries of 16, and not 40 entries
  set_cost(&cost, PP_CHUNK_MAX_NS / 40);
  pp_queue_push_locked(&queue, in, 8, 16);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, MANY, out), 2);
  // one entry is taken whole, however expensive its steps are
  set_cost(&cost, 100 * PP_CHUNK_MAX_NS);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, MANY, out), 1);
  CHECK_EQ(PP_ENTRY_ENV(out[0]), 32);
  // a thread that asks for fewer environments gets fewer, in whole entries
  set_cost(&cost, PP_CHUNK_MAX_NS / 40);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, 31, out), 1);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, 1, out), 1);
  CHECK_EQ(pp_queue_take(&queue, 0, &cost, 32, out), 2);
  pp_queue_fini(&queue);
}

/* ---------------------------------------------------------------------------------- threads -- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct crowd {
  pp_queue queue;
  pp_cost cost;
  _Atomic int32_t is_over;
  _Atomic int32_t taken;
  _Atomic int32_t times[NUM_ENVS];
  int64_t payload[NUM_ENVS]; /* not atomic: the queue hands it over with the entry */
} crowd;

typedef struct member {
  crowd *all;
  int32_t home;
} member;

static void *take_all(void *arg) {
  member *me = arg;
  crowd *all = me->all;
  pp_entry out[MANY];
  while (!atomic_load(&all->is_over)) {
    int32_t count = pp_queue_take(&all->queue, me->home, &all->cost, MANY, out);
    if (!count) sched_yield();
    for (int32_t i = 0; i < count; i++) {
      int32_t at = PP_ENTRY_ENV(out[i]) - FIRST;
      // this thread sees what the producer wrote before the push, and no other thread touches it
      CHECK_EQ(all->payload[at], PP_ENTRY_PLACE(out[i]));
      all->payload[at] = -1;
      atomic_fetch_add(&all->times[at], 1);
    }
    atomic_fetch_add(&all->taken, count);
  }
  return NULL;
}

/* A producer and four consumers. In the second half of the rounds all entries are in one shard, so
 * that three of the four consumers can only steal. */
TEST(every_entry_is_taken_exactly_once_by_four_threads) {
  crowd *all = calloc(1, sizeof(*all));
  pthread_t threads[THREADS];
  member members[THREADS];
  REQUIRE(all != NULL);
  REQUIRE(pp_queue_init(&all->queue, FIRST, NUM_ENVS, THREADS) == PP_OK);
  for (int32_t i = 0; i < THREADS; i++) {
    members[i] = (member){all, i};
    REQUIRE(pthread_create(&threads[i], NULL, take_all, &members[i]) == 0);
  }
  for (int32_t round = 0; round < ROUNDS; round++) {
    int32_t count = round < ROUNDS / 2 ? NUM_ENVS : NUM_ENVS / THREADS;
    pp_entry in[NUM_ENVS];
    set_cost(&all->cost, round % 4 ? 300 : 0);
    atomic_store(&all->taken, 0);
    for (int32_t i = 0; i < count; i++) {
      all->payload[i] = round * NUM_ENVS + i;
      in[i] = PP_ENTRY(round * NUM_ENVS + i, FIRST + i, 1);
    }
    // in two pushes, the second while the first is being taken
    pp_queue_push_locked(&all->queue, in, count / 2, 1);
    pp_queue_push_locked(&all->queue, in + count / 2, count - count / 2, 1);
    while (atomic_load(&all->taken) < count) sched_yield();
    CHECK_EQ(atomic_load(&all->taken), count);
  }
  atomic_store(&all->is_over, 1);
  for (int32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    CHECK_EQ(atomic_load(&all->times[i]), i < NUM_ENVS / THREADS ? ROUNDS : ROUNDS / 2);
    CHECK_EQ(all->payload[i], -1);
  }
  pp_queue_fini(&all->queue);
  free(all);
}

/* Threads that take from one shard and do hardly anything else: nearly always one of them is
 * between its load of head and its compare-and-swap. A swap that overlooked what others took
 * meanwhile would give entries twice or never. A bout lasts longer than a time slice, so that one
 * core is enough for the test. */
enum { FIGHTERS = 4, BOUTS = 60, CROWDED = 1 << 18 };

typedef struct fight {
  pp_queue queue;
  pp_cost cost;
  pthread_barrier_t bell; /* begins and ends a bout */
} fight;

typedef struct fighter {
  fight *all;
  int32_t times[CROWDED]; /* by environment; each thread has its own, so that counting is fast */
} fighter;

static void *fight_for_all(void *arg) {
  fighter *me = arg;
  pp_entry out[MANY];
  int32_t count;
  for (int32_t bout = 0; bout < BOUTS; bout++) {
    pthread_barrier_wait(&me->all->bell);
    while ((count = pp_queue_take(&me->all->queue, 0, &me->all->cost, MANY, out)) > 0) {
      for (int32_t i = 0; i < count; i++) me->times[PP_ENTRY_ENV(out[i])]++;
    }
    pthread_barrier_wait(&me->all->bell);
  }
  return NULL;
}

TEST(every_entry_is_taken_exactly_once_by_threads_that_fight_over_a_shard) {
  fight all = {0};
  fighter *fighters = calloc(FIGHTERS, sizeof(*fighters));
  pp_entry *in = calloc(CROWDED, sizeof(*in));
  pthread_t threads[FIGHTERS];
  REQUIRE(fighters && in);
  REQUIRE(pp_queue_init(&all.queue, 0, CROWDED, 1) == PP_OK);
  REQUIRE(pthread_barrier_init(&all.bell, NULL, FIGHTERS + 1) == 0);
  for (int32_t i = 0; i < CROWDED; i++) in[i] = PP_ENTRY(i, i, 1);
  for (int32_t i = 0; i < FIGHTERS; i++) {
    fighters[i].all = &all;
    REQUIRE(pthread_create(&threads[i], NULL, fight_for_all, &fighters[i]) == 0);
  }
  for (int32_t bout = 0; bout < BOUTS; bout++) {
    // one at a time, a few at a time, as many as there may be
    set_cost(&all.cost, bout % 3 == 0 ? 0 : bout % 3 == 1 ? PP_CHUNK_MAX_NS / 8 : 1);
    pp_queue_push_locked(&all.queue, in, CROWDED, 1);
    pthread_barrier_wait(&all.bell);
    pthread_barrier_wait(&all.bell);
  }
  for (int32_t i = 0; i < FIGHTERS; i++) pthread_join(threads[i], NULL);
  for (int32_t env_id = 0; env_id < CROWDED; env_id++) {
    int32_t times = 0;
    for (int32_t i = 0; i < FIGHTERS; i++) times += fighters[i].times[env_id];
    if (!CHECK_EQ(times, BOUTS)) break;
  }
  pthread_barrier_destroy(&all.bell);
  pp_queue_fini(&all.queue);
  free(in);
  free(fighters);
}
