/* Thread: a worker thread, which serves one lane. */
#ifndef PP_THREADS_THREAD_H
#define PP_THREADS_THREAD_H

#include <pthread.h>

#include "lane.h"

/* Bytes that cores exchange at once: a cache line of 128 bytes (Apple), or two of 64, as many
 * processors fetch the neighbour of a line, too. */
enum { PP_EXCHANGED_BYTES = 128 };

/* A thread that serves one lane. Nothing of it shares a line with the next thread, as every thread
 * writes to its own all the time. */
typedef struct pp_thread {
  _Alignas(PP_EXCHANGED_BYTES) pthread_t thread;
  pp_lane *lane;
  pp_step_thread state;
  pp_recorder recorder;
  const int32_t *cpus; /* where it may run; null: anywhere */
  int32_t num_cpus;
  _Atomic int32_t was_refused; /* 1: the system refused its affinity; relaxed, statistics only */
} pp_thread;

/* The main function of a worker thread. argument: its pp_thread. */
void *pp_thread_run(void *argument);

#endif
