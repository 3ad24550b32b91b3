/* Tests what systems other than Linux use: the table of sleepers, the polling of shared words, the
 * file behind shared memory, and following a process by its number. */
#define _GNU_SOURCE
#define PP_OS_ASK
#define PP_OS_FILE
#define PP_OS_TABLE
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/futex.c"
#include "os/process.c"
#include "os/shared_memory.c"
#include "pool/gate.h"
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

/* unlike a futex, the table shows which threads sleep */
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

TEST(wake_does_not_wake_other_words_of_its_bucket) {
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

/* --------------------------------------------------------------------------- shared words -- */

TEST(shared_wait_returns_when_the_word_differs) {
  _Atomic uint32_t word = 7;
  CHECK_EQ(pp_os_wait_shared(&word, 8, -1), PP_OK);
  CHECK_EQ(pp_os_wait_shared(&word, 8, 0), PP_OK);
  CHECK_EQ(pp_os_wait_shared(&word, 8, INT64_MAX), PP_OK);
}

TEST(shared_wait_never_times_out_early) {
  _Atomic uint32_t word = 7;
  const int64_t timeout = 3 * LONGEST_NAP;
  int64_t before = pp_os_now();
  CHECK_EQ(pp_os_wait_shared(&word, 7, timeout), PP_AGAIN);
  CHECK(pp_os_now() - before >= timeout);
  CHECK_EQ(pp_os_wait_shared(&word, 7, 0), PP_AGAIN);
}

/* ------------------------------------------------------------------- shared words on macOS -- */

/* What macOS has, on Linux's futexes. A refusal is an errno that the waits return with. */
#include <linux/futex.h>
#include <sys/syscall.h>

static _Atomic int refusal, num_waits, num_wakes;

static int fake_wait_with_timeout(void *word, uint64_t expected, size_t size, uint32_t flags,
                                  uint32_t clock, uint64_t timeout) {
  struct timespec time = timespec_of((int64_t)timeout);
  CHECK(size == 4 && flags == 1 && (clock == 32 || clock == 0));
  CHECK(clock == 0 || (timeout > 0 && timeout <= (uint64_t)LONGEST_WAIT));
  atomic_fetch_add(&num_waits, 1);
  if (refusal) {
    errno = refusal;
    return -1;
  }
  struct timespec *time_or_none = clock ? &time : NULL;
  long status = syscall(SYS_futex, word, FUTEX_WAIT, (uint32_t)expected, time_or_none, NULL, 0);
  return status == 0 || errno == EAGAIN ? 0 : -1;
}

static int fake_wait(void *word, uint64_t expected, size_t size, uint32_t flags) {
  return fake_wait_with_timeout(word, expected, size, flags, 0, 0);
}

static int fake_wake(void *word, int count) {
  atomic_fetch_add(&num_wakes, 1);
  if (syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0) > 0) return 0;
  errno = ENOENT;
  return -1;
}

static int fake_wake_one(void *word, size_t size, uint32_t flags) {
  CHECK(size == 4 && flags == 1);
  return fake_wake(word, 1);
}

static int fake_wake_all(void *word, size_t size, uint32_t flags) {
  CHECK(size == 4 && flags == 1);
  return fake_wake(word, INT32_MAX);
}

static void fake_macos(bool is_there) {
  static const address_calls fakes = {fake_wait, fake_wait_with_timeout, fake_wake_one,
                                      fake_wake_all};
  calls_or_null();  // before the fakes are put in their place
  found_calls = is_there ? fakes : (address_calls){0};
  atomic_store(&refusal, 0);
  atomic_store(&num_waits, 0);
  atomic_store(&num_wakes, 0);
}

static void *sleep_once_shared(void *word) {
  CHECK_EQ(pp_os_wait_shared(word, 0, -1), PP_OK);
  return NULL;
}

TEST(macos_sleeps_until_it_is_woken) {
  static _Atomic uint32_t word;
  pthread_t threads[3];
  fake_macos(true);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(pp_os_thread_start(&threads[i], sleep_once_shared, &word, "sleeper") == PP_OK);
  }
  while (atomic_load(&num_waits) < 3) sched_yield();
  // a poll would end without a wake
  nanosleep(&(struct timespec){0, 5 * LONGEST_NAP}, NULL);
  CHECK_EQ(num_waits, 3);
  atomic_store(&word, 1);
  pp_os_wake_shared(&word, 0);
  CHECK_EQ(num_wakes, 0);
  // the one that sleeps last may not have got to it: it finds another value
  pp_os_wake_shared(&word, 2);
  pp_os_wake_shared(&word, INT32_MAX);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  CHECK_EQ(num_waits, 3);
  // the first that finds no one is the last
  atomic_store(&num_wakes, 0);
  pp_os_wake_shared(&word, 5);
  CHECK_EQ(num_wakes, 1);
  fake_macos(false);
}

TEST(macos_never_times_out_early_and_returns_other_values_at_once) {
  _Atomic uint32_t word = 7;
  const int64_t timeout = 3000000;
  fake_macos(true);
  int64_t before = pp_os_now();
  CHECK_EQ(pp_os_wait_shared(&word, 7, timeout), PP_AGAIN);
  CHECK(pp_os_now() - before >= timeout);
  int waits = atomic_load(&num_waits);
  CHECK(waits >= 1);
  CHECK_EQ(pp_os_wait_shared(&word, 7, 0), PP_AGAIN);
  CHECK_EQ(pp_os_wait_shared(&word, 8, -1), PP_OK);
  CHECK_EQ(pp_os_wait_shared(&word, 8, INT64_MAX), PP_OK);
  // without a call, which refuses a timeout of 0
  CHECK_EQ(num_waits, waits);
  atomic_store(&refusal, EINTR);
  CHECK_EQ(pp_os_wait_shared(&word, 7, -1), PP_AGAIN);
  fake_macos(false);
}

/* after the first wait: a word that differs before it would need no call */
static void *store_later(void *word) {
  while (atomic_load(&num_waits) < 1) sched_yield();
  nanosleep(&(struct timespec){0, 2 * LONGEST_NAP}, NULL);
  atomic_store((_Atomic uint32_t *)word, 1);
  return NULL;
}

TEST(macos_polls_where_its_calls_refuse) {
  static _Atomic uint32_t word;
  pthread_t thread;
  fake_macos(true);
  atomic_store(&refusal, EINVAL);
  REQUIRE(pp_os_thread_start(&thread, store_later, &word, "stores") == PP_OK);
  CHECK_EQ(pp_os_wait_shared(&word, 0, -1), PP_OK);
  CHECK_EQ(num_waits, 1);
  pthread_join(thread, NULL);
  fake_macos(false);
}

/* ---------------------------------------------------------------------- shared words, again -- */

static void ignore_alarm(int number) {
  (void)number;
}

TEST(shared_wait_ends_on_a_signal) {
  _Atomic uint32_t word = 0;
  struct sigaction action = {.sa_handler = ignore_alarm}, before;
  // again and again, because the first signal may come before the sleep
  struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &action, &before);
  setitimer(ITIMER_REAL, &often, NULL);
  CHECK_EQ(pp_os_wait_shared(&word, 0, -1), PP_AGAIN);
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &before, NULL);
}

enum {
  TURNS = 100,
  HANGS = 60,  // seconds after which a test that hangs fails
  LIVES = 300  // milliseconds during which a test watches that a process does not end
};

/* Takes every second turn at a gate that two processes share. who: 0 in the parent, 1 in the child.
 * Returns 0 if a turn does not come in time. */
static int take_turns(pp_gate *gate, _Atomic uint32_t *turn, uint32_t who) {
  int64_t deadline = pp_os_now() + HANGS * INT64_C(1000000000);
  for (uint32_t next = who; next < TURNS; next += 2) {
    while (atomic_load(turn) != next) {
      uint32_t epoch = pp_gate_enter(gate);
      int64_t left = deadline - pp_os_now();
      if (left > 0 && atomic_load(turn) != next) pp_gate_sleep(gate, epoch, left);
      pp_gate_leave(gate);
      if (pp_os_now() >= deadline) return 0;
    }
    atomic_store(turn, next + 1);
    pp_gate_wake(gate, 1);
  }
  return 1;
}

TEST(shared_gates_wake_across_processes) {
  struct shared {
    pp_gate gate;
    _Atomic uint32_t turn;
  } *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
  int status = -1;
  REQUIRE(shared != MAP_FAILED);
  pp_gate_init(&shared->gate, 1);
  pid_t child = fork();
  if (child == 0) _exit(take_turns(&shared->gate, &shared->turn, 1) ? 0 : 1);
  CHECK(take_turns(&shared->gate, &shared->turn, 0));
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(shared->turn, TURNS);
  CHECK_EQ(shared->gate.sleepers, 0);
  CHECK(shared->gate.waits > 0);
  munmap(shared, sizeof(*shared));
}

/* -------------------------------------------------------------------------- shared memory -- */

/* makes a folder for temporary files that already holds the count names that are tried first */
static int make_folder(char *folder, int count) {
  char path[MAX_PATH];
  if (!mkdtemp(folder)) return 0;
  for (int i = 0; i < count; ++i) {
    snprintf(path, sizeof(path), "%s/parallel_pool-%ld-%d", folder, (long)getpid(), i);
    close(open(path, O_CREAT | O_WRONLY, 0600));
  }
  return setenv("TMPDIR", folder, 1) == 0;
}

/* Removes the folder. Returns how many files were in it. */
static int remove_folder(const char *folder) {
  char path[MAX_PATH];
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (*entry->d_name == '.') continue;
    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
    unlink(path);
    ++count;
  }
  if (entries) closedir(entries);
  rmdir(folder);
  unsetenv("TMPDIR");
  return count;
}

TEST(shared_file_leaves_no_name) {
  enum { TAKEN = 5 };
  char folder[] = "/tmp/parallel_pool-test-XXXXXX";
  REQUIRE(make_folder(folder, TAKEN));
  int fd = pp_os_shared_create(1000, "test");
  CHECK(fd >= 0);
  CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  close(fd);
  CHECK_EQ(remove_folder(folder), TAKEN);
}

TEST(shared_file_needs_a_folder) {
  char longest[2 * MAX_PATH] = "/";
  setenv("TMPDIR", "/nowhere/at/all", 1);
  CHECK_EQ(pp_os_shared_create(1000, "test"), PP_ERR_SYSTEM);
  memset(longest, '/', sizeof(longest) - 1);
  setenv("TMPDIR", longest, 1);
  CHECK_EQ(pp_os_shared_create(1000, "test"), PP_ERR_SYSTEM);
  unsetenv("TMPDIR");
}

TEST(shared_file_grows_while_it_is_mapped) {
  const int64_t page = sysconf(_SC_PAGESIZE), size = 2 * CHUNK + page;
  struct stat seen;
  int fd = pp_os_shared_create(page, "test");
  REQUIRE(fd >= 0);
  char *memory = pp_os_shared_map(fd, 2 * size);
  REQUIRE(memory);
  memory[0] = 1;
  CHECK_EQ(pp_os_shared_grow(fd, page, size), PP_OK);
  CHECK_EQ(fstat(fd, &seen), 0);
  CHECK_EQ(seen.st_size, size);
  CHECK(512 * (int64_t)seen.st_blocks >= size);
  memory[size - 1] = 2;
  CHECK_EQ(memory[0], 1);
  CHECK_EQ(memory[size / 2], 0);

  // a file can't give memory back, so there is nothing to allocate again
  CHECK_EQ(pp_os_shared_release(fd, 0, page), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_shared_allocate(fd, 0, page), PP_OK);
  CHECK_EQ(memory[0], 1);
  CHECK_EQ(pp_os_shared_grow(fd, size, INT64_MAX - 1), PP_ERR_MEMORY);
  CHECK_EQ(fstat(fd, &seen), 0);
  CHECK_EQ(seen.st_size, size);
  pp_os_shared_unmap(memory, 2 * size);
  close(fd);
}

/* ------------------------------------------------------------------------------- ending with -- */

#include "follow_tests.h"

TEST(process_ends_with_another_that_is_not_its_parent) {
  int said[2];
  char status = -1;
  REQUIRE(pipe(said) == 0);
  pid_t other = fork_idle(), follower = fork_follower(other, said[1]);
  REQUIRE(other > 0 && follower > 0);
  CHECK_EQ(read(said[0], &status, 1), 1);
  CHECK_EQ(status, PP_OK);
  // a process that has ended keeps its number until it is reaped
  kill_and_reap(other);
  CHECK_EQ(await_end(follower), 0);
  for (int i = 0; i < 2; ++i) close(said[i]);
}

TEST(ended_process_can_not_be_followed) {
  pid_t gone = fork_idle();
  REQUIRE(gone > 0);
  kill_and_reap(gone);
  CHECK_EQ(answer_about(gone), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about(0), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about(-1), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about((INT64_C(1) << 32) + getpid()), PP_ERR_SYSTEM);
}
