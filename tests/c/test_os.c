/* The operating-system layer: clock, futexes, gates, threads, forks, processes, pages. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/gate.h"
#include "wait_tests.h"

#if defined(__linux__)
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#endif

/* ----------------------------------------------------------------------------------- clock -- */

/* a kernel whose timer ticks as often as the test says */
static int64_t tick;
static clockid_t read_last;

int __wrap_clock_getres(clockid_t clock, struct timespec *resolution);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_getres(clockid_t clock, struct timespec *resolution) {
  (void)clock;
  *resolution = (struct timespec){tick / 1000000000, tick % 1000000000};
  return tick < 0 ? -1 : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  read_last = clock;
  return __real_clock_gettime(clock, now);
}

/* returns the clock that a process reads roughly on such a kernel */
static clockid_t rough_clock(int64_t nanoseconds) {
  int status;
  pid_t child = fork();
  if (!child) {
    tick = nanoseconds;
    pp_os_now_roughly();
    pp_os_now_roughly();
    _exit(read_last);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* first, as the choice of this process is made at its first use */
TEST(a_clock_that_ticks_too_seldom_is_not_read) {
  CHECK_EQ(rough_clock(1000000), CLOCK_MONOTONIC_COARSE);
  CHECK_EQ(rough_clock(PP_OS_ROUGH_NS), CLOCK_MONOTONIC_COARSE);
  CHECK_EQ(rough_clock(10000000), CLOCK_MONOTONIC);
  CHECK_EQ(rough_clock(1004000000), CLOCK_MONOTONIC);
  CHECK_EQ(rough_clock(-1), CLOCK_MONOTONIC);
}

TEST(clock_advances_and_never_goes_back) {
  int64_t first = pp_os_now(), last = first;
  int steps_back = 0;
  while (last == first) last = pp_os_now();
  for (int i = 0; i < 10000; ++i) {
    int64_t now = pp_os_now();
    steps_back += now < last;
    last = now;
  }
  CHECK(last > first);
  CHECK_EQ(steps_back, 0);
}

/* ----------------------------------------------------------------------------------- futex -- */

static void ignore_signal(int number) {
  (void)number;
}

/* sends signals to its target until is_done is set */
struct signaller {
  pthread_t target;
  _Atomic int is_done;
};

static void *send_signals(void *arg) {
  struct signaller *signaller = arg;
  while (!atomic_load(&signaller->is_done)) {
    pthread_kill(signaller->target, SIGUSR1);
    sched_yield();
  }
  return NULL;
}

TEST(wait_ends_on_a_signal) {
  _Atomic uint32_t word = 0;
  struct signaller signaller = {.target = pthread_self()};
  struct sigaction action = {.sa_handler = ignore_signal}, before;
  pthread_t thread;
  sigaction(SIGUSR1, &action, &before);
  REQUIRE(pp_os_thread_start(&thread, send_signals, &signaller, "signaller") == PP_OK);
  CHECK_EQ(pp_os_wait(&word, 0, -1), PP_AGAIN);
  atomic_store(&signaller.is_done, 1);
  pthread_join(thread, NULL);
  sigaction(SIGUSR1, &before, NULL);
}

/* ------------------------------------------------------------------------- gates, shared -- */

enum {
  HANGS = 60,  // seconds after which a test that hangs fails
  LIVES = 50,  // milliseconds during which a test watches that a process does not end
  ROUNDS = 2000
};

/* what two processes share: even turns are the parent's, odd ones the child's */
struct shared {
  pp_gate gates[2];
  _Atomic uint32_t turn;
  int64_t deadline;
};

/* maps a new file at two addresses: one for the parent, one for a child */
static int map_shared(struct shared *places[2]) {
  FILE *file = tmpfile();
  int is_sized = file && ftruncate(fileno(file), sizeof(struct shared)) == 0;
  for (int i = 0; is_sized && i < 2; ++i) {
    places[i] =
        mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    is_sized = places[i] != MAP_FAILED;
  }
  if (file) fclose(file);
  if (!is_sized) return 0;
  for (int i = 0; i < 2; ++i) pp_gate_init(&places[0]->gates[i], 1);
  places[0]->deadline = pp_os_now() + HANGS * INT64_C(1000000000);
  return 1;
}

static void unmap_shared(struct shared *places[2]) {
  for (int i = 0; i < 2; ++i) munmap(places[i], sizeof(struct shared));
}

/* Sleeps at its gate until the turn has come. Returns 0 if it is not woken in time. */
static int await_turn(struct shared *shared, int who, uint32_t turn) {
  pp_gate *gate = &shared->gates[who];
  while (atomic_load(&shared->turn) != turn) {
    uint32_t epoch = pp_gate_enter(gate);
    int64_t left = shared->deadline - pp_os_now();
    if (left > 0 && atomic_load(&shared->turn) != turn) pp_gate_sleep(gate, epoch, left);
    pp_gate_leave(gate);
    if (pp_os_now() >= shared->deadline) return 0;
  }
  return 1;
}

/* Takes every second turn and wakes the other process after each. Returns the number of turns. */
static int take_turns(struct shared *shared, int who) {
  for (uint32_t i = 0; i < ROUNDS; ++i) {
    if (!await_turn(shared, who, 2 * i + (uint32_t)who)) return (int)i;
    atomic_fetch_add(&shared->turn, 1);
    pp_gate_wake(&shared->gates[1 - who], 1);
  }
  return ROUNDS;
}

/* returns whether the child has exited with status 0 */
static int ends_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST(gates_wake_across_processes_that_map_them_elsewhere) {
  struct shared *places[2];
  REQUIRE(map_shared(places));
  pid_t child = fork();
  if (child == 0) {
    munmap(places[0], sizeof(struct shared));
    _exit(take_turns(places[1], 1) == ROUNDS ? 0 : 1);
  }
  CHECK_EQ(take_turns(places[0], 0), ROUNDS);
  CHECK(ends_well(child));
  CHECK_EQ(places[0]->turn, 2 * ROUNDS);
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(places[0]->gates[i].sleepers, 0);
    // a test without a sleep would have shown nothing
    CHECK(places[0]->gates[i].waits > 0);
  }
  unmap_shared(places);
}

/* Forks a child that sleeps at gate 1 for ever. Returns -1 if it does not sleep in time. */
static pid_t fork_sleeper(struct shared *places[2]) {
  int32_t before = places[0]->gates[1].sleepers;
  pid_t child = fork();
  if (child == 0) {
    alarm(2 * HANGS);
    uint32_t epoch = pp_gate_enter(&places[1]->gates[1]);
    for (;;) pp_gate_sleep(&places[1]->gates[1], epoch, -1);
  }
  while (child > 0 && atomic_load(&places[0]->gates[1].sleepers) == before) {
    if (pp_os_now() >= places[0]->deadline) return -1;
    sched_yield();
  }
  return child;
}

static void kill_sleeper(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

TEST(gate_outlives_a_killed_sleeper) {
  struct shared *places[2];
  REQUIRE(map_shared(places));
  pp_gate *gate = &places[0]->gates[1];
  pid_t dead = fork_sleeper(places);
  REQUIRE(dead > 0);
  kill_sleeper(dead);
  CHECK_EQ(gate->sleepers, 1);

  // the dead sleeper costs one needless wake, no more
  pp_gate_wake(gate, 1);
  CHECK_EQ(gate->wakes, 1);

  // and takes no wake from a living one
  pid_t child = fork();
  if (child == 0) _exit(take_turns(places[1], 1) == ROUNDS ? 0 : 1);
  CHECK_EQ(take_turns(places[0], 0), ROUNDS);
  CHECK(ends_well(child));
  CHECK_EQ(gate->sleepers, 1);
  unmap_shared(places);
}

TEST(gate_forgets_killed_sleepers) {
  struct shared *places[2];
  REQUIRE(map_shared(places));
  pp_gate *gate = &places[0]->gates[1];
  pid_t dead[2] = {fork_sleeper(places), fork_sleeper(places)};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(dead[i] > 0);
    kill_sleeper(dead[i]);
  }
  CHECK_EQ(gate->sleepers, 2);
  pp_gate_forget(gate, 1);
  CHECK_EQ(gate->sleepers, 1);
  pp_gate_forget(gate, gate->sleepers);
  CHECK_EQ(gate->sleepers, 0);

  uint32_t epoch = gate->epoch;
  pp_gate_wake(gate, 1);
  CHECK_EQ(gate->wakes, 0);
  CHECK_EQ(gate->epoch, epoch);
  unmap_shared(places);
}

/* ----------------------------------------------------------------------------------- start -- */

/* what a thread saw of itself */
struct seen {
  sigset_t blocked;
  char name[64];
};

static void *look_around(void *arg) {
  struct seen *seen = arg;
  pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
  pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
  return &seen->name;
}

TEST(thread_gets_its_argument_name_and_result) {
  struct seen seen = {.name = ""};
  pthread_t thread;
  void *result = NULL;
  REQUIRE(pp_os_thread_start(&thread, look_around, &seen, "pp/lane0/7") == PP_OK);
  pthread_join(thread, &result);
  CHECK(result == &seen.name);
  CHECK_TEXT(seen.name, "pp/lane0/7");
}

TEST(thread_name_is_cut_where_the_system_would_refuse_it) {
  struct seen seen = {.name = ""};
  pthread_t thread;
  REQUIRE(pp_os_thread_start(&thread, look_around, &seen, "0123456789abcdefghij") == PP_OK);
  pthread_join(thread, NULL);
  CHECK_TEXT(seen.name, "0123456789abcde");
}

TEST(thread_blocks_all_signals_but_its_own_faults) {
  static const int foreign[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF};
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct seen seen;
  sigset_t before, after;
  pthread_t thread;
  pthread_sigmask(SIG_BLOCK, NULL, &before);
  REQUIRE(pp_os_thread_start(&thread, look_around, &seen, "masked") == PP_OK);
  pthread_sigmask(SIG_BLOCK, NULL, &after);
  pthread_join(thread, NULL);
  for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); ++i) {
    CHECK_EQ(sigismember(&seen.blocked, foreign[i]), 1);
    // the thread that starts it keeps taking them
    CHECK_EQ(sigismember(&before, foreign[i]), 0);
    CHECK_EQ(sigismember(&after, foreign[i]), 0);
  }
  for (size_t i = 0; i < sizeof(own) / sizeof(*own); ++i) {
    CHECK_EQ(sigismember(&seen.blocked, own[i]), 0);
  }
}

static void *use_stack(void *arg) {
  // half of the 8 MB that a thread is promised; sanitizers need some for themselves
  volatile char space[4 << 20];
  for (size_t i = 0; i < sizeof(space); i += 4096) space[i] = 1;
  *(int *)arg = space[0] + space[(4 << 20) - 4096];
  return NULL;
}

TEST(thread_has_a_large_stack) {
  int sum = 0;
  pthread_t thread;
  REQUIRE(pp_os_thread_start(&thread, use_stack, &sum, "deep") == PP_OK);
  pthread_join(thread, NULL);
  CHECK_EQ(sum, 2);
}

/* ----------------------------------------------------------------------------------- cores -- */

#if defined(__linux__)

static void *bind_to_each(void *arg) {
  cpu_set_t allowed, seen;
  (void)arg;
  CPU_ZERO(&allowed);
  CHECK_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  for (int32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CHECK_EQ(pp_os_thread_bind(&cpu, 1), PP_OK);
    CHECK_EQ(pp_os_current_cpu(), cpu);
    sched_getaffinity(0, sizeof(seen), &seen);
    CHECK_EQ(CPU_COUNT(&seen), 1);
  }
  return NULL;
}

static void *bind_to_all(void *arg) {
  cpu_set_t allowed, seen;
  int32_t cpus[CPU_SETSIZE], count = 0;
  (void)arg;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  for (int32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus[count++] = cpu;
  }
  CHECK_EQ(pp_os_thread_bind(cpus, 1), PP_OK);
  CHECK_EQ(pp_os_thread_bind(cpus, count), PP_OK);
  sched_getaffinity(0, sizeof(seen), &seen);
  CHECK(CPU_EQUAL(&seen, &allowed));
  return NULL;
}

static void *bind_to_nothing(void *arg) {
  int32_t missing = CPU_SETSIZE - 1, beyond = CPU_SETSIZE, negative = -1;
  const int32_t one_and_beyond[] = {pp_os_current_cpu(), beyond};
  (void)arg;
  CHECK_EQ(pp_os_thread_bind(&missing, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_thread_bind(&beyond, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_thread_bind(&negative, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_thread_bind(one_and_beyond, 2), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_thread_bind(NULL, 0), PP_ERR_SYSTEM);
  return NULL;
}

#else

static void *bind_to_each(void *arg) {
  int32_t cpu = 0;
  (void)arg;
  CHECK_EQ(pp_os_thread_bind(&cpu, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_current_cpu(), -1);
  return NULL;
}

static void *bind_to_all(void *arg) {
  return bind_to_each(arg);
}
static void *bind_to_nothing(void *arg) {
  return bind_to_each(arg);
}

#endif

/* in a thread of its own, so that the other tests keep all cores */
static void in_thread(void *(*run)(void *)) {
  pthread_t thread;
  REQUIRE(pp_os_thread_start(&thread, run, NULL, "bound") == PP_OK);
  pthread_join(thread, NULL);
}

TEST(thread_binds_to_one_core) {
  in_thread(bind_to_each);
}
TEST(thread_binds_to_several_cores) {
  in_thread(bind_to_all);
}
TEST(thread_bind_refuses_missing_cores) {
  in_thread(bind_to_nothing);
}

/* ------------------------------------------------------------------------------------ fork -- */

/* runs check in a child and returns its result */
static int in_child(int (*check)(uint32_t parent), uint32_t parent) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(check(parent) ? 0 : 1);
  waitpid(child, &status, 0);
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int is_another(uint32_t parent) {
  return pp_os_fork_generation() != parent;
}

static int is_another_and_so_is_the_grandchild(uint32_t parent) {
  uint32_t own = pp_os_fork_generation();
  // the grandchild differs from its parent, and from the first process too
  return own != parent && in_child(is_another, own) && in_child(is_another, parent);
}

TEST(fork_changes_the_generation_of_the_child_only) {
  uint32_t before = pp_os_fork_generation();
  CHECK(in_child(is_another, before));
  CHECK(in_child(is_another_and_so_is_the_grandchild, before));
  CHECK_EQ(pp_os_fork_generation(), before);
}

static void *ask_generation(void *arg) {
  *(uint32_t *)arg = pp_os_fork_generation();
  return NULL;
}

TEST(fork_generation_is_the_same_in_all_threads) {
  uint32_t answers[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    REQUIRE(pp_os_thread_start(&threads[i], ask_generation, &answers[i], "asking") == PP_OK);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(answers[i], pp_os_fork_generation());
  }
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
  kill(other, SIGKILL);
  CHECK_EQ(await_end(follower), 0);
  waitpid(other, NULL, 0);
  for (int i = 0; i < 2; ++i) close(said[i]);
}

TEST(ended_process_can_not_be_followed) {
  pid_t gone = fork_idle();
  REQUIRE(gone > 0);
  // ended, but not reaped yet
  siginfo_t info;
  kill(gone, SIGKILL);
  waitid(P_PID, (id_t)gone, &info, WEXITED | WNOWAIT);
  CHECK_EQ(answer_about(gone), PP_ERR_SYSTEM);
  kill_and_reap(gone);
  CHECK_EQ(answer_about(gone), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about(0), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about(-1), PP_ERR_SYSTEM);
  CHECK_EQ(answer_about((INT64_C(1) << 32) + getpid()), PP_ERR_SYSTEM);
}

/* The parent ends, and its pid passes to another process, between the two looks at it: a stranger
 * must not be followed. */
static pid_t parents[3];
static int looks;

pid_t __wrap_getppid(void);
pid_t __real_getppid(void);

pid_t __wrap_getppid(void) {
  return parents[0] ? parents[looks < 2 ? looks++ : 2] : __real_getppid();
}

TEST(a_stranger_with_the_pid_of_the_parent_is_not_followed) {
  pid_t stranger = fork_idle();
  REQUIRE(stranger > 0);
  parents[0] = stranger;
  parents[1] = parents[2] = 1;
  CHECK_EQ(pp_os_exit_with_process(stranger), PP_ERR_SYSTEM);
  CHECK_EQ(looks, 2);
  parents[0] = 0;
  kill_and_reap(stranger);
}

#if defined(__linux__)
TEST(a_process_dies_with_its_parent_and_with_no_other) {
  int said[2];
  char status = 1;
  REQUIRE(pipe(said) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    pid_t own = getpid();
    if (fork() == 0) {
      char answers = (char)(pp_os_die_with_parent(own + 1) == PP_ERR_SYSTEM &&
                            pp_os_die_with_parent(own) == PP_OK);
      if (write(said[1], &answers, 1) != 1) _exit(1);
    } else {
      close(said[1]);
    }
    never_come_back();
  }
  close(said[1]);
  CHECK_EQ(read(said[0], &status, 1), 1);
  CHECK_EQ(status, 1);
  CHECK(is_open(said[0]));
  kill(child, SIGKILL);
  CHECK(is_closed_by_all(said[0]));
  waitpid(child, NULL, 0);
  close(said[0]);
}
#endif

/* ----------------------------------------------------------------------------------- pages -- */

TEST(pages_are_zeroed_and_writable) {
  const size_t size = (1 << 20) + 1;
  unsigned char *memory = pp_os_pages_alloc(size);
  size_t nonzero = 0;
  REQUIRE(memory);
  CHECK_EQ((uintptr_t)memory % 4096, 0);
  for (size_t i = 0; i < size; ++i) nonzero += memory[i] != 0;
  CHECK_EQ(nonzero, 0);
  memset(memory, 0xff, size);
  pp_os_pages_free(memory, size);
}

TEST(pages_alloc_of_zero_bytes_returns_memory) {
  void *memory = pp_os_pages_alloc(0);
  CHECK(memory);
  pp_os_pages_free(memory, 0);
  pp_os_pages_free(NULL, 0);
  pp_os_pages_free(NULL, 4096);
}

TEST(pages_run_out_without_a_crash) {
  CHECK(!pp_os_pages_alloc((size_t)1 << 62));
  CHECK(!pp_os_pages_alloc(SIZE_MAX));
}

/* Returns the kernel's policy for the page at this address; -1: the kernel does not say. */
static int policy_of(const void *address, unsigned long *nodes) {
  int mode = -1;
  *nodes = 0;
#if defined(__linux__)
  unsigned long mask[16] = {0};
  if (syscall(SYS_get_mempolicy, &mode, mask, 1024ul, address, MPOL_F_ADDR) != 0) return -1;
  *nodes = mask[0];
#else
  (void)address;
#endif
  return mode;
}

#if defined(__linux__)
enum { DEFAULT = MPOL_DEFAULT, PREFERRED = MPOL_PREFERRED, INTERLEAVE = MPOL_INTERLEAVE };
#else
enum { DEFAULT, PREFERRED, INTERLEAVE };
#endif

TEST(pages_bind_places_whole_pages_only) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const int32_t node = 0;
  char *memory = pp_os_pages_alloc(4 * page);
  unsigned long nodes;
  REQUIRE(memory);

  // a system that does not allow the query (containers, macOS) must not allow binding either
  int can_bind = policy_of(memory, &nodes) >= 0;
  int status = pp_os_pages_bind(memory + 1, 3 * page, &node, 1);
  CHECK_EQ(status, can_bind ? PP_OK : PP_ERR_SYSTEM);
  if (can_bind) {
    CHECK_EQ(policy_of(memory, &nodes), DEFAULT);
    CHECK_EQ(policy_of(memory + page, &nodes), PREFERRED);
    CHECK_EQ(nodes, 1);
    CHECK_EQ(policy_of(memory + 2 * page, &nodes), PREFERRED);
    CHECK_EQ(policy_of(memory + 3 * page, &nodes), DEFAULT);
  }
  memset(memory, 1, 4 * page);
  pp_os_pages_free(memory, 4 * page);
}

TEST(pages_bind_interleaves_over_several_nodes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  // naming a node twice makes several of one, which every machine has
  const int32_t twice[] = {0, 0};
  char *memory = pp_os_pages_alloc(2 * page);
  unsigned long nodes;
  REQUIRE(memory);
  int can_bind = policy_of(memory, &nodes) >= 0;
  CHECK_EQ(pp_os_pages_bind(memory, 2 * page, twice, 2), can_bind ? PP_OK : PP_ERR_SYSTEM);
  if (can_bind) CHECK_EQ(policy_of(memory + page, &nodes), INTERLEAVE);
  pp_os_pages_free(memory, 2 * page);
}

TEST(pages_bind_refuses_missing_nodes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const int32_t missing = 1023, beyond = 1024, negative = -1;
  char *memory = pp_os_pages_alloc(page);
  REQUIRE(memory);
  CHECK_EQ(pp_os_pages_bind(memory, page, &missing, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_pages_bind(memory, page, &beyond, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_pages_bind(memory, page, &negative, 1), PP_ERR_SYSTEM);
  CHECK_EQ(pp_os_pages_bind(memory, page, NULL, 0), PP_ERR_SYSTEM);
  pp_os_pages_free(memory, page);
}

#if defined(__linux__)
TEST(pages_bind_has_nothing_to_do_for_less_than_a_page) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const int32_t node = 0;
  char *memory = pp_os_pages_alloc(2 * page);
  REQUIRE(memory);
  CHECK_EQ(pp_os_pages_bind(memory + 8, page - 8, &node, 1), PP_OK);
  CHECK_EQ(pp_os_pages_bind(memory + 8, page, &node, 1), PP_OK);
  CHECK_EQ(pp_os_pages_bind(memory, 0, &node, 1), PP_OK);
  pp_os_pages_free(memory, 2 * page);
}
#endif
