/* Threads: starting them, and keeping them on cores. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "os.h"
#include "pp_env.h"

/* ----------------------------------------------------------------------------------- start -- */

enum { STACK_SIZE = 8 << 20 };  // what a main thread has; musl and macOS give far less

/* what a new thread is told; it frees this */
typedef struct start {
  void *(*run)(void *);
  void *arg;
  char name[16];
} start;

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
  start told = *(start *)arg;
  free(arg);
  name_this_thread(told.name);
  return told.run(told.arg);
}

/* every signal that comes from outside. A fault of the thread's own must reach its handler, or
 * faulthandler and the sanitizers could not say where an environment crashed */
static void foreign_signals(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigfillset(set);
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); ++i) sigdelset(set, own[i]);
}

static int create_thread(pthread_t *thread, start *told) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return PP_ERR_MEMORY;
  pthread_attr_setstacksize(&attributes, STACK_SIZE);

  // a thread inherits its mask, so there is no moment in which it could take a signal
  sigset_t blocked, before;
  foreign_signals(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  int failed = pthread_create(thread, &attributes, run_thread, told);
  pthread_sigmask(SIG_SETMASK, &before, NULL);

  pthread_attr_destroy(&attributes);
  return failed ? PP_ERR_SYSTEM : PP_OK;
}

int pp_os_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, const char *name) {
  start *told = malloc(sizeof(*told));
  if (!told) return PP_ERR_MEMORY;
  told->run = run;
  told->arg = arg;
  snprintf(told->name, sizeof(told->name), "%s", name);
  int status = create_thread(thread, told);
  if (status != PP_OK) free(told);
  return status;
}

/* ----------------------------------------------------------------------------------- cores -- */

#if defined(__linux__)

int pp_os_thread_bind(const int32_t *cpus, int32_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int32_t i = 0; i < count; ++i) {
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
  for (int32_t i = 0; i < count; ++i) {
    if (taken[i] >= 0 && taken[i] < CPU_SETSIZE) CPU_CLR(taken[i], &free);
  }
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &free)) ++cpu;
  if (cpu == CPU_SETSIZE) return PP_AGAIN;
  // there and free again: it starts where it stands
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
