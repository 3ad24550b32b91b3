/* Tests of pp_os_wait and pp_os_wake. test_os.c runs them with futexes, test_os_table.c with the
 * table that other systems use. Define _GNU_SOURCE before any include. */
#ifndef PP_TESTS_WAIT_TESTS_H
#define PP_TESTS_WAIT_TESTS_H

#include <sched.h>
#include <signal.h>

#include "check.h"
#include "include/pp_env.h"
#include "os/os.h"

enum { WAIT_ROUNDS = 2000, NUM_SLEEPERS = 8 };

TEST(wait_returns_when_the_word_differs) {
  _Atomic uint32_t word = 7;
  CHECK_EQ(pp_os_wait(&word, 8, -1), PP_OK);
  CHECK_EQ(pp_os_wait(&word, 8, 0), PP_OK);
  CHECK_EQ(pp_os_wait(&word, 8, INT64_MAX), PP_OK);
}

TEST(wait_never_times_out_early) {
  _Atomic uint32_t word = 7;
  const int64_t timeout = 3000000;
  int64_t before = pp_os_now();
  CHECK_EQ(pp_os_wait(&word, 7, timeout), PP_AGAIN);
  CHECK(pp_os_now() - before >= timeout);
  CHECK_EQ(pp_os_wait(&word, 7, 0), PP_AGAIN);
  CHECK_EQ(word, 7);
}

TEST(wake_without_sleepers_is_forgotten) {
  _Atomic uint32_t word = 0;
  pp_os_wake(&word, 1);
  pp_os_wake(&word, INT32_MAX);
  CHECK_EQ(pp_os_wait(&word, 0, 1000), PP_AGAIN);
}

/* wakes again and again without changing the word, until is_done is set */
struct waker {
  _Atomic uint32_t word;
  _Atomic int is_done;
};

static void *wake_again_and_again(void *arg) {
  struct waker *waker = arg;
  while (!atomic_load(&waker->is_done)) {
    pp_os_wake(&waker->word, 1);
    sched_yield();
  }
  return NULL;
}

TEST(wait_without_a_timeout_ends_by_a_wake_alone) {
  struct waker waker = {.word = 0};
  pthread_t thread;
  REQUIRE(pp_os_thread_start(&thread, wake_again_and_again, &waker, "waker") == PP_OK);
  CHECK_EQ(pp_os_wait(&waker.word, 0, -1), PP_OK);
  CHECK_EQ(pp_os_wait(&waker.word, 0, INT64_MIN), PP_OK);
  CHECK_EQ(pp_os_wait(&waker.word, 0, INT64_MAX), PP_OK);
  atomic_store(&waker.is_done, 1);
  pthread_join(thread, NULL);
}

/* Two threads that take turns: even numbers are the test's, odd ones the partner's. data is not
 * atomic, so that ThreadSanitizer sees whether a turn also hands memory over. */
struct turns {
  _Atomic uint32_t turn;
  int data;
};

static void take_turn(struct turns *turns, uint32_t turn) {
  uint32_t seen;
  while ((seen = atomic_load(&turns->turn)) != turn) pp_os_wait(&turns->turn, seen, -1);
  ++turns->data;
  atomic_store(&turns->turn, turn + 1);
  pp_os_wake(&turns->turn, 1);
}

static void *take_odd_turns(void *arg) {
  for (uint32_t i = 0; i < WAIT_ROUNDS; ++i) take_turn(arg, 2 * i + 1);
  return NULL;
}

TEST(wait_and_wake_hand_memory_over) {
  struct turns turns = {0};
  pthread_t partner;
  REQUIRE(pp_os_thread_start(&partner, take_odd_turns, &turns, "partner") == PP_OK);
  for (uint32_t i = 0; i < WAIT_ROUNDS; ++i) take_turn(&turns, 2 * i);
  pthread_join(partner, NULL);
  CHECK_EQ(turns.turn, 2 * WAIT_ROUNDS);
  CHECK_EQ(turns.data, 2 * WAIT_ROUNDS);
}

/* many threads asleep on a few words that lie side by side */
struct sleepers {
  _Atomic uint32_t words[NUM_SLEEPERS];
  _Atomic uint32_t awake;
};

struct sleeper_task {
  struct sleepers *all;
  int word;
};

static void *sleep_on_word(void *arg) {
  struct sleeper_task *self = arg;
  _Atomic uint32_t *word = &self->all->words[self->word];
  while (atomic_load(word) == 0) pp_os_wait(word, 0, -1);
  atomic_fetch_add(&self->all->awake, 1);
  return NULL;
}

/* lets NUM_SLEEPERS threads sleep on num_words words; then sets and wakes each word once */
static void wake_words(int num_words) {
  struct sleepers all = {0};
  struct sleeper_task tasks[NUM_SLEEPERS];
  pthread_t threads[NUM_SLEEPERS];
  for (int i = 0; i < NUM_SLEEPERS; ++i) {
    tasks[i] = (struct sleeper_task){&all, i % num_words};
    REQUIRE(pp_os_thread_start(&threads[i], sleep_on_word, &tasks[i], "sleeper") == PP_OK);
  }
  for (int i = 0; i < num_words; ++i) {
    atomic_store(&all.words[i], 1);
    pp_os_wake(&all.words[i], NUM_SLEEPERS / num_words);
  }
  for (int i = 0; i < NUM_SLEEPERS; ++i) pthread_join(threads[i], NULL);
  CHECK_EQ(all.awake, NUM_SLEEPERS);
}

TEST(wake_reaches_all_that_it_counts) {
  for (int round = 0; round < 20; ++round) wake_words(1);
}

TEST(wake_wakes_only_its_own_word) {
  for (int round = 0; round < 20; ++round) wake_words(NUM_SLEEPERS);
}

#endif
