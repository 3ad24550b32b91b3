/* Thread: starts threads, and binds them to cores. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "os.h"
#include "pp_env.h"

/* ----------------------------------------------------------------------------------- start -- */

enum { STACK_SIZE = 8 << 20 }; /* of a main thread; musl and macOS have far less by default */

/* the arguments of a new thread, which frees them */
typedef struct thread_args {
  void *(*run)(void *);
  void *arg;
  char name[16];
} thread_args;

static void name_this_thread(const char *name) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
  pthread_setname_np(name);
#else
  (void)name;
#endif
}

static void *run_thread(void *arg) {
  thread_args args = *(thread_args *)arg;
  free(arg);
  name_this_thread(args.name);
  return args.run(args.arg);
}

/* Collects all signals that come from outside. A fault of the thread itself must reach its handler,
 * or faulthandler and the sanitizers could not report where an environment crashed. */
static void outside_signals(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigfillset(set);
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) sigdelset(set, own[i]);
}

static int create_thread(pthread_t *thread, thread_args *args) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return PP_ERR_MEMORY;
  pthread_attr_setstacksize(&attributes, STACK_SIZE);

  // a thread inherits its mask, so it can't receive a signal before it has blocked them
  sigset_t blocked, before;
  outside_signals(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  int failed = pthread_create(thread, &attributes, run_thread, args);
  pthread_sigmask(SIG_SETMASK, &before, NULL);

  pthread_attr_destroy(&attributes);
  return failed ? PP_ERR_SYSTEM : PP_OK;
}

int pp_os_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, const char *name) {
  thread_args *args = malloc(sizeof(*args));
  if (!args) return PP_ERR_MEMORY;
  args->run = run;
  args->arg = arg;
  snprintf(args->name, sizeof(args->name), "%s", name);
  int status = create_thread(thread, args);
  if (status != PP_OK) free(args);
  return status;
}

/* ----------------------------------------------------------------------------------- cores -- */

#if defined(__linux__)

int pp_os_thread_bind(const int32_t *cpus, int32_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int32_t i = 0; i < count; i++) {
    if (cpus[i] < 0 || cpus[i] >= CPU_SETSIZE) return PP_ERR_SYSTEM;
    CPU_SET(cpus[i], &set);
  }
  return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0 ? PP_OK : PP_ERR_SYSTEM;
}

int pp_os_thread_avoid(const int32_t *taken, int32_t count) {
  cpu_set_t own, free, one;
  int32_t cpu = 0;
  if (pthread_getaffinity_np(pthread_self(), sizeof(own), &own)) return PP_ERR_SYSTEM;
  free = own;
  for (int32_t i = 0; i < count; i++) {
    if (taken[i] >= 0 && taken[i] < CPU_SETSIZE) CPU_CLR(taken[i], &free);
  }
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &free)) cpu++;
  if (cpu == CPU_SETSIZE) return PP_AGAIN;
  // bound to that core and then to all again, it stays there until the system moves it
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one)) return PP_ERR_SYSTEM;
  return pthread_setaffinity_np(pthread_self(), sizeof(own), &own) ? PP_ERR_SYSTEM : PP_OK;
}

int32_t pp_os_current_cpu(void) {
  return sched_getcpu();
}

#else

int pp_os_thread_bind(const int32_t *cpus, int32_t count) {
  (void)cpus;
  (void)count;
  return PP_ERR_SYSTEM;
}

int pp_os_thread_avoid(const int32_t *taken, int32_t count) {
  (void)taken;
  (void)count;
  return PP_ERR_SYSTEM;
}

int32_t pp_os_current_cpu(void) {
  return -1;
}

#endif

void pp_os_yield(void) {
  sched_yield();
}
