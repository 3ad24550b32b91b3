/* Branches: workers that fork, and lanes that are given to their copies. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "process_tests.h"

enum { BRANCHES = 2, ABANDONED = 7 };

/* connections to the branches: the ends of this process, and theirs */
static int32_t here[BRANCHES], there[BRANCHES];

/* ----------------------------------------------------------------------------- in workers -- */

static pp_worker *open_lane(const pp_pool *pool, int32_t lane) {
  pp_worker *worker;
  if (pp_worker_open(pp_pool_memory_fd(pool), pp_pool_reserve(pool), pp_pool_reply_fd(pool, lane),
                     lane, &worker, NULL) < 0) {
    _exit(3);
  }
  return worker;
}

/* Works until the pool is closed. A request makes it fork; a branch serves the lane after its
 * number. */
static void serve(const pp_pool *pool, pp_worker *worker) {
  int32_t count, pids[BRANCHES], forked;
  int64_t size;
  char go;
  while ((count = pp_worker_take(worker, SECOND)) >= 0) {
    if (count) {
      pp_turns *turns = pp_worker_turns(worker);
      turns->kinds[0] = turns->command[0] == PP_COMMAND_RESET ? PP_TURN_RESET : PP_TURN_STEP;
      *(int64_t *)pp_worker_staged(worker, 1, 0) = getpid();
      pp_worker_deliver(worker, 0, 1);
    } else if (pp_worker_request(worker, &size)) {
      forked = pp_worker_fork(there, BRANCHES, pids);
      if (forked < 0) {
        int32_t i = -1 - forked;
        // nothing of the worker that was forked works here
        if (pp_worker_take(worker, 0) != PP_ERR_FORKED) _exit(4);
        if (read(there[i], &go, 1) != 1) _exit(ABANDONED);
        pp_worker_close(worker);
        worker = open_lane(pool, 1 + i);
        continue;
      }
      for (int32_t i = 0; i < BRANCHES; i++) close(there[i]);
      if (pp_worker_answer(worker, pids, sizeof(pids), NULL) < 0) _exit(4);
    }
  }
  pp_worker_close(worker);
  _exit(0);
}

/* -------------------------------------------------------------------------- in the caller -- */

/* opens a pool whose first lane alone has a worker, which is about to be asked for branches */
static test_pool open_pool(void) {
  test_pool w = test_pool_open(1 + BRANCHES, 1, 1 + BRANCHES, PP_DISABLED);
  int32_t affected[1], ends[2];
  for (int32_t i = 0; i < BRANCHES; i++) {
    CHECK_EQ(pp_pool_worker_died(w.c.pool, 1 + i, PP_DEATH_FAIL, affected, &w.c.error), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here[i] = ends[0];
    there[i] = ends[1];
  }
  w.pids[0] = fork();
  if (!w.pids[0]) {
    alarm(240);
    for (int32_t i = 0; i < BRANCHES; i++) close(here[i]);
    serve(w.c.pool, open_lane(w.c.pool, 0));
  }
  for (int32_t i = 0; i < BRANCHES; i++) close(there[i]);
  return w;
}

static void ask_for_branches(test_pool *w, int32_t *pids) {
  const void *answered;
  int64_t size;
  CHECK_EQ(pp_pool_request(w->c.pool, 0, "fork", 4, &w->c.error), PP_OK);
  while (pp_pool_answer(w->c.pool, 0, SECOND, &answered, &size, &w->c.error) == 0) {
  }
  REQUIRE(size == sizeof(int32_t[BRANCHES]));
  memcpy(pids, answered, (size_t)size);
}

/* sends a step, or a reset, and returns which process has done it; 0 if it was refused */
static int64_t author_of(test_pool *w, int32_t env_id, int32_t is_reset, int32_t elapsed) {
  int64_t action = 1;
  int status;
  if (is_reset) {
    status = pp_pool_send_reset(w->c.pool, &env_id, 1, NULL, NULL, NULL, &w->c.error);
  } else {
    status = pp_pool_send(w->c.pool, &env_id, 1, &action, PP_UINT8, &w->c.error);
  }
  if (status < 0) return 0;
  CHECK_EQ(client_recv(&w->c), 1);
  w->rows++;
  CHECK_EQ(*(int32_t *)column(&w->c, "env_id"), env_id);
  CHECK_EQ(*(int32_t *)column(&w->c, "elapsed_step"), elapsed);
  return *(int64_t *)column(&w->c, "mark");
}

/* waits until a branch and all that have its end have ended */
static void wait_for_end(int32_t i) {
  char byte;
  CHECK_EQ(read(here[i], &byte, 1), 0);
}

TEST(branches_go_on_from_the_state_of_their_worker) {
  int32_t pids[BRANCHES] = {0};
  test_pool w = open_pool();
  CHECK_EQ(author_of(&w, 0, 1, 0), w.pids[0]);
  CHECK_EQ(author_of(&w, 0, 0, 1), w.pids[0]);
  CHECK_EQ(author_of(&w, 0, 0, 2), w.pids[0]);
  CHECK_EQ(author_of(&w, 1, 1, 0), 0);
  ask_for_branches(&w, pids);
  for (int32_t i = 0; i < BRANCHES; i++) {
    // one that waits leads a group of its own already
    while (getpgid(pids[i]) != pids[i]) pp_os_yield();
    CHECK_EQ(pp_pool_worker_branched(w.c.pool, 1 + i, 0, &w.c.error), PP_OK);
    CHECK_EQ(write(here[i], "!", 1), 1);
    // without a reset
    CHECK_EQ(author_of(&w, 1 + i, 0, 3), pids[i]);
    CHECK_EQ(author_of(&w, 1 + i, 0, 4), pids[i]);
  }
  CHECK_EQ(author_of(&w, 0, 0, 3), w.pids[0]);
  CHECK_EQ(author_of(&w, 1, 1, 0), pids[0]);
  test_pool_close(&w);
  for (int32_t i = 0; i < BRANCHES; i++) {
    wait_for_end(i);
    close(here[i]);
  }
}

TEST(branches_end_with_their_connections) {
  int32_t pids[BRANCHES] = {0};
  test_pool w = open_pool();
  ask_for_branches(&w, pids);
  for (int32_t i = 0; i < BRANCHES; i++) CHECK_EQ(shutdown(here[i], SHUT_WR), 0);
  for (int32_t i = 0; i < BRANCHES; i++) {
    wait_for_end(i);
    close(here[i]);
  }
  CHECK_EQ(author_of(&w, 0, 1, 0), w.pids[0]);
  test_pool_close(&w);
}

TEST(a_branch_that_waits_can_be_ended_by_a_signal) {
  int32_t ends[2];
  int how = 0;
  sigset_t all, former;
  int64_t pid;
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &former);
  pid = pp_os_fork_waiting(ends[1]);
  sigprocmask(SIG_SETMASK, &former, NULL);
  if (!pid) _exit(0);
  REQUIRE(pid > 0);
  CHECK_EQ(kill((pid_t)pid, SIGTERM), 0);
  CHECK_EQ(waitpid((pid_t)pid, &how, 0), pid);
  CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM);
  close(ends[0]);
  close(ends[1]);
}

TEST(lanes_that_no_branch_can_have) {
  test_pool w = test_pool_open(4, 2, 3, PP_NEXT_STEP);
  const int64_t action = 1;
  const int32_t in_flight = 0;
  pp_pool *pool = w.c.pool;
  pp_error *error = &w.c.error;
  CHECK_EQ(pp_pool_worker_branched(pool, 3, 0, error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_worker_branched(pool, -1, 0, error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_worker_branched(pool, 0, 4, error), PP_ERR_ARGUMENT);
  // the last lane has two environments
  CHECK_EQ(pp_pool_worker_branched(pool, 2, 0, error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_send(pool, &in_flight, 1, &action, PP_UINT8, error), PP_OK);
  CHECK_EQ(pp_pool_worker_branched(pool, 0, 1, error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_worker_branched(pool, 1, 0, error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_worker_branched(pool, 1, 3, error), PP_OK);
  test_pool_close(&w);
}
