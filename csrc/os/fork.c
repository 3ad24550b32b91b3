/* Fork: forks a child that waits, and detects that this process is a forked child. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "os.h"
#include "pp_env.h"

/* Written by the only thread of a new child, read by any thread. Relaxed, as it publishes nothing
 * else. */
static _Atomic uint32_t fork_generation;
static bool has_no_counter; /* set once, before any reader passes pthread_once */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void) {
  atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
}

static void register_counter(void) {
  has_no_counter = pthread_atfork(NULL, NULL, count_fork) != 0;
}

uint32_t pp_os_fork_generation(void) {
  pthread_once(&fork_once, register_counter);
  if (has_no_counter) return (uint32_t)getpid();
  return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

int64_t pp_os_fork_waiting(int fd) {
  struct pollfd gate = {.fd = fd, .events = POLLIN};
  sigset_t none;
  pid_t pid = fork();
  if (pid > 0) return pid;
  if (pid < 0) return PP_ERR_SYSTEM;
  setpgid(0, 0);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  while (poll(&gate, 1, -1) < 0 && errno == EINTR) {
  }
  return 0;
}
