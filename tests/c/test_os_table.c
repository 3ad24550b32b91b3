/* The table of sleepers, for systems without futexes, held to what futexes do. */
#define PP_OS_TABLE
#include "pool/os_futex.c"
#include "wait_tests.h"

static int32_t count_asleep(_Atomic uint32_t *word) {
  bucket *b = bucket_of(word);
  int32_t count = 0;
  pthread_mutex_lock(&b->lock);
  for (sleeper *s = b->first; s; s = s->next) count += s->word == word;
  pthread_mutex_unlock(&b->lock);
  return count;
}

static void *sleep_once(void *word) {
  pp_os_wait(word, 0, -1);
  return NULL;
}

/* futexes would not tell who sleeps; the table does */
TEST(wake_wakes_no_more_than_it_counts) {
  static _Atomic uint32_t word;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    REQUIRE(pp_os_thread_start(&threads[i], sleep_once, &word, "sleeper") == PP_OK);
  }
  while (count_asleep(&word) < 4) sched_yield();
  pp_os_wake(&word, 0);
  CHECK_EQ(count_asleep(&word), 4);
  pp_os_wake(&word, 1);
  CHECK_EQ(count_asleep(&word), 3);
  pp_os_wake(&word, 2);
  CHECK_EQ(count_asleep(&word), 1);
  pp_os_wake(&word, 2);
  CHECK_EQ(count_asleep(&word), 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

TEST(wake_spares_other_words_of_its_bucket) {
  static _Atomic uint32_t words[NUM_BUCKETS + 1];  // two of them must share a bucket
  _Atomic uint32_t *first = words, *second = words + 1;
  pthread_t threads[2];
  while (bucket_of(first) != bucket_of(second)) {
    if (++second == words + NUM_BUCKETS + 1) second = ++first + 1;
  }
  REQUIRE(pp_os_thread_start(&threads[0], sleep_once, first, "first") == PP_OK);
  while (count_asleep(first) < 1) sched_yield();
  REQUIRE(pp_os_thread_start(&threads[1], sleep_once, second, "second") == PP_OK);
  while (count_asleep(second) < 1) sched_yield();
  pp_os_wake(second, 1);
  CHECK_EQ(count_asleep(first), 1);
  CHECK_EQ(count_asleep(second), 0);
  pp_os_wake(first, 1);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

TEST(sleepers_leave_the_table) {
  _Atomic uint32_t word = 0;
  CHECK_EQ(pp_os_wait(&word, 0, 1000), PP_AGAIN);
  CHECK_EQ(pp_os_wait(&word, 1, 1000), PP_OK);
  for (int i = 0; i < NUM_BUCKETS; ++i) CHECK(!buckets[i].first);
}
