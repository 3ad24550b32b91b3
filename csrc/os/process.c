/* Processes: ending this one with another one.
 *
 * A worker must not outlive the pool it works for, and can't be told when that was killed. This is
 * the one place of the engine that ends a process, and it is a worker's own: its creator is gone,
 * nobody reads its results or its exit status, and what it runs may never come back to look.
 */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <poll.h>
#include <sys/syscall.h>
#elif defined(__APPLE__)
#include <fcntl.h>
#include <sys/event.h>
#endif

#include "os.h"
#include "pp_env.h"

enum { LOOK_EVERY = 200000000 };  // nanoseconds, where the system can't tell when it happens

/* the process that is waited for */
typedef struct watched {
  pid_t pid;
  int fd;        /* tells when it has ended; -1: it has to be asked for by its number */
  int is_parent; /* of this process */
} watched;

/* ------------------------------------------------------------------------------- being told -- */

/* open_watch: a descriptor that tells when the process ends. -1 with errno ESRCH: it has ended;
 * with another: the system has no such thing.
 * is_told: waits at most timeout milliseconds (< 0: no limit) for it to tell; 1 when it has, -1
 * when it never will */

#if defined(SYS_pidfd_open) && !defined(PP_OS_ASK)

static int open_watch(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);  // closed by exec
}

static int is_told(int fd, int timeout) {
  struct pollfd seen = {.fd = fd, .events = POLLIN};
  if (poll(&seen, 1, timeout) < 0) return errno == EINTR ? 0 : -1;
  if (seen.revents & POLLIN) return 1;
  return seen.revents ? -1 : 0;  // somebody else has closed it
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

static int is_told(int fd, int timeout) {
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

static int is_told(int fd, int timeout) {
  (void)fd;
  (void)timeout;
  return -1;
}

#endif

/* ----------------------------------------------------------------------------------- asking -- */

/* a process that nobody has waited for still has its number; this one's parent is known to have
 * ended all the same, as another one takes its place */
static int is_gone(const watched *other) {
  if (other->is_parent) return getppid() != other->pid;
  return kill(other->pid, 0) != 0 && errno == ESRCH;
}

/* asks the processes of this one's group to end, if it leads one: those that it has started */
static void end_group(void) {
  if (getpgrp() != getpid()) return;
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
}

static void *wait_and_end(void *arg) {
  watched other = *(watched *)arg;
  const struct timespec nap = {0, LOOK_EVERY};
  int told = 0;
  free(arg);
  while (other.fd >= 0 && !told) told = is_told(other.fd, -1);
  if (told != 1) {
    while (!is_gone(&other)) nanosleep(&nap, NULL);
  }
  end_group();
  _exit(0);
}

/* other is the thread's, if it starts */
static int start_waiting(watched *other) {
  pthread_t thread;
  int has_ended = other->fd >= 0 ? is_told(other->fd, 0) == 1 : is_gone(other);
  if (has_ended) return PP_ERR_SYSTEM;
  int status = pp_os_thread_start(&thread, wait_and_end, other, "pp/follow");
  if (status == PP_OK) pthread_detach(thread);
  return status;
}

int pp_os_exit_with_process(int64_t pid) {
  // 0: the parent's number when it lives in another namespace
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
