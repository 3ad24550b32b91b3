/* Tests of pp_os_exit_with_process. test_os.c runs them with pidfds, test_os_table.c with the
 * polling by process number that other systems use. A file that includes this one defines HANGS,
 * the seconds after which a test that hangs fails, and LIVES, the milliseconds during which it
 * watches that a process does not end. */
#ifndef PP_TESTS_FOLLOW_TESTS_H
#define PP_TESTS_FOLLOW_TESTS_H

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "include/pp_env.h"
#include "os/os.h"

static void never_come_back(void) {
  alarm(2 * HANGS);
  for (;;) pause();
}

/* Forks a child that follows another process and does nothing besides. It writes the status of
 * pp_os_exit_with_process to the pipe `said`. */
static pid_t fork_follower(pid_t other, int said) {
  pid_t child = fork();
  if (child != 0) return child;
  atexit(never_come_back);  // it must end at once, without running exit handlers
  char status = (char)pp_os_exit_with_process(other);
  if (write(said, &status, 1) != 1) _exit(1);
  never_come_back();
  return 0;
}

static pid_t fork_idle(void) {
  pid_t child = fork();
  if (child == 0) never_come_back();
  return child;
}

static void kill_and_reap(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/* Returns the exit status of a child; -1: it was killed, or it did not end in time. */
static int await_end(pid_t child) {
  int status = -1;
  for (int64_t deadline = pp_os_now() + HANGS * INT64_C(1000000000); pp_os_now() < deadline;) {
    if (waitpid(child, &status, WNOHANG)) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    usleep(1000);
  }
  kill_and_reap(child);
  return -1;
}

/* Forks a child, which forks a grandchild that follows it. The grandchild writes its status to the
 * pipe `said`, and is the only one that keeps the writing end open. */
static pid_t fork_family(int said[2]) {
  pid_t child = fork();
  if (child == 0) {
    fork_follower(getpid(), said[1]);
    close(said[1]);
    never_come_back();
  }
  close(said[1]);
  return child;
}

/* Returns whether all processes close the other end of a pipe in time. */
static int is_closed_by_all(int fd) {
  struct pollfd seen = {.fd = fd, .events = POLLIN};
  char byte;
  return poll(&seen, 1, HANGS * 1000) == 1 && read(fd, &byte, 1) == 0;
}

static int is_open(int fd) {
  struct pollfd seen = {.fd = fd, .events = POLLIN};
  return poll(&seen, 1, LIVES) == 0;
}

TEST(process_ends_with_its_killed_parent) {
  int said[2];
  char status = -1;
  REQUIRE(pipe(said) == 0);
  pid_t child = fork_family(said);
  REQUIRE(child > 0);
  CHECK_EQ(read(said[0], &status, 1), 1);
  CHECK_EQ(status, PP_OK);
  CHECK(is_open(said[0]));
  kill(child, SIGKILL);
  // before the parent is reaped, which may take long
  CHECK(is_closed_by_all(said[0]));
  waitpid(child, NULL, 0);
  close(said[0]);
}

/* Returns what pp_os_exit_with_process returns in a child. In this process, success would let the
 * test program end unnoticed. */
static int answer_about(int64_t pid) {
  enum { OFFSET = 100 };  // an exit status can't be negative
  pid_t child = fork();
  if (child == 0) _exit(OFFSET + pp_os_exit_with_process(pid));
  return await_end(child) - OFFSET;
}

#endif
