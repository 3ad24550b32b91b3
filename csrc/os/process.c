/* Process: ends this process when another one has ended.
 *
 * A worker must not outlive the process of its pool. If that process is killed, it can't send the
 * worker a message. This is the only place in the engine that ends a process, and it ends only a
 * worker: the pool's process is gone, so no one reads results or an exit status, and the worker's
 * own code may never return to a place where it could check. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#elif defined(__APPLE__)
#include <fcntl.h>
#include <sys/event.h>
#endif

#include "os.h"
#include "pp_env.h"

enum { POLL_NS = 200000000 }; /* time between two checks, if the system can't notify */

/* the process that is waited for */
typedef struct watched {
  pid_t pid;
  int fd;         /* becomes readable when it has ended; -1: its pid must be polled */
  bool is_parent; /* it is the parent of this process */
} watched;

/* ----------------------------------------------------------------------------- notification -- */

/* open_watch: returns a descriptor that reports the end of the process; -1 with errno ESRCH if it
 * has ended already, or with another errno if the system has no such descriptors. wait_for_end:
 * waits at most timeout milliseconds (< 0: no limit). Returns 1 if the process has ended, 0 if not
 * yet, -1 if the descriptor will never report it. */

#if defined(SYS_pidfd_open) && !defined(PP_OS_ASK)

static int open_watch(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);  // closed by exec
}

static int wait_for_end(int fd, int timeout) {
  struct pollfd seen = {.fd = fd, .events = POLLIN};
  if (poll(&seen, 1, timeout) < 0) return errno == EINTR ? 0 : -1;
  if (seen.revents & POLLIN) return 1;
  return seen.revents ? -1 : 0;  // other code has closed it
}

#elif defined(__APPLE__) && !defined(PP_OS_ASK)

static int open_watch(pid_t pid) {
  struct kevent change;
  int fd = kqueue();
  if (fd < 0) return -1;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  EV_SET(&change, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
  if (kevent(fd, &change, 1, NULL, 0, NULL) == 0) return fd;
  int failed = errno;
  close(fd);
  errno = failed;
  return -1;
}

static int wait_for_end(int fd, int timeout) {
  struct kevent seen;
  struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  int count = kevent(fd, NULL, 0, &seen, 1, timeout < 0 ? NULL : &limit);
  if (count < 0) return errno == EINTR ? 0 : -1;
  return count > 0;
}

#else

static int open_watch(pid_t pid) {
  (void)pid;
  errno = ENOSYS;
  return -1;
}

static int wait_for_end(int fd, int timeout) {
  (void)fd;
  (void)timeout;
  return -1;
}

#endif

/* ---------------------------------------------------------------------------------- polling -- */

/* Returns whether the process has ended, by its pid. A zombie keeps its pid. But if it was the
 * parent of this process, this process now has another parent. */
static bool is_gone(const watched *other) {
  if (other->is_parent) return getppid() != other->pid;
  return kill(other->pid, 0) != 0 && errno == ESRCH;
}

/* sends SIGTERM to this process's group, if it leads one: to the processes that it has started */
static void end_group(void) {
  if (getpgrp() != getpid()) return;
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
}

static void *wait_and_end(void *arg) {
  watched other = *(watched *)arg;
  const struct timespec nap = {0, POLL_NS};
  int ended = 0;
  free(arg);
  while (other.fd >= 0 && !ended) ended = wait_for_end(other.fd, -1);
  if (ended != 1) {
    while (!is_gone(&other)) nanosleep(&nap, NULL);
  }
  end_group();
  _exit(0);
}

/* starts the thread that waits, which frees other; on failure the caller keeps it */
static int start_waiting(watched *other) {
  pthread_t thread;
  // Checked after the descriptor was opened: before that, the pid may have passed to a stranger. A
  // parent that is still the parent can't have.
  bool has_ended = is_gone(other) || (other->fd >= 0 && wait_for_end(other->fd, 0) == 1);
  if (has_ended) return PP_ERR_SYSTEM;
  int status = pp_os_thread_start(&thread, wait_and_end, other, "pp/follow");
  if (status == PP_OK) pthread_detach(thread);
  return status;
}

int pp_os_exit_with_process(int64_t pid) {
  // getppid returns 0 if the parent is in another namespace
  if (pid <= 0 || pid > INT_MAX) return PP_ERR_SYSTEM;
  watched *other = malloc(sizeof(*other));
  if (!other) return PP_ERR_MEMORY;
  other->pid = (pid_t)pid;
  other->is_parent = getppid() == other->pid;
  other->fd = open_watch(other->pid);

  int status = PP_ERR_SYSTEM;
  if (other->fd >= 0 || errno != ESRCH) status = start_waiting(other);
  if (status == PP_OK) return PP_OK;
  if (other->fd >= 0) close(other->fd);
  free(other);
  return status;
}

int pp_os_die_with_parent(int64_t pid) {
#if defined(__linux__)
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return PP_ERR_SYSTEM;
  // checked afterwards: a parent that ended before sends no signal
  return getppid() == pid ? PP_OK : PP_ERR_SYSTEM;
#else
  (void)pid;
  return PP_ERR_SYSTEM;
#endif
}
