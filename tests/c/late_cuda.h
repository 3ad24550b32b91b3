/* Late CUDA: stands in for CUDA's driver, as late as streams permit. Memory of the host is also
 * that of its GPU. A copy is made only when something waits for an event behind it, or when the
 * test says that the GPU has come so far; those of one stream are made in order. So what is read,
 * written or freed too early shows as wrong bytes, or is counted as a fault.
 *
 * The functions have the names of CUDA's, so that a shared library made of this file takes the
 * place of libcuda.so.1. */
#ifndef PP_TESTS_LATE_CUDA_H
#define PP_TESTS_LATE_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla/abi.h"

enum {
  LATE_MOST_COPIES = 256,
  LATE_MOST_MEMORIES = 256,
  LATE_MOST_EVENTS = 256,
  LATE_FAILURE = 719
};

typedef struct late_copy {
  char *to;
  const char *from;
  size_t bytes;
} late_copy;

typedef struct late_stream {
  int context;                        /* its address is CUDA's context, unless there is another */
  void *other_context;                /* null: there is none */
  late_copy copies[LATE_MOST_COPIES]; /* a ring */
  int64_t queued, made;
} late_stream;

typedef struct late_event {
  void *context; /* in which it was made */
  late_stream *stream;
  int64_t position; /* it is behind so many copies of the stream */
} late_event;

/* guards streams, events and memories */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char *start;
  size_t bytes;
} late_memories[LATE_MOST_MEMORIES];
static late_event late_events[LATE_MOST_EVENTS];
static int late_num_events;
static _Thread_local void *late_contexts[4]; /* a stack; the last is the current one */
static _Thread_local int late_depth;

static atomic_int late_faults;      /* what must not happen */
static atomic_int late_allocations; /* of memory, in all */
static atomic_int late_calls;       /* of the functions that may fail */
static atomic_int late_failing;     /* the call that fails, counted down; 0: none */

static inline void *late_context_of(late_stream *stream) {
  return stream->other_context ? stream->other_context : &stream->context;
}

static inline void late_fault_if(bool is_wrong) {
  if (is_wrong) atomic_fetch_add(&late_faults, 1);
}

/* counts a call of CUDA's; returns its error */
static inline int late_result(void) {
  atomic_fetch_add(&late_calls, 1);
  if (atomic_load(&late_failing) == 0) return 0;
  return atomic_fetch_sub(&late_failing, 1) == 1 ? LATE_FAILURE : 0;
}

static inline void *late_current(void) {
  return late_depth > 0 ? late_contexts[late_depth - 1] : NULL;
}

/* makes the copies of a stream up to a position */
static inline void late_make_locked(late_stream *stream, int64_t position) {
  for (; stream->made < position; stream->made++) {
    const late_copy *copy = &stream->copies[stream->made % LATE_MOST_COPIES];
    memcpy(copy->to, copy->from, copy->bytes);
  }
}

/* The GPU has done all of a stream's work. */
static inline void late_finish(late_stream *stream) {
  pthread_mutex_lock(&late_lock);
  late_make_locked(stream, stream->queued);
  pthread_mutex_unlock(&late_lock);
}

/* The same for a stream that is never used again. */
static inline void late_end(late_stream *stream) {
  late_finish(stream);
  pthread_mutex_lock(&late_lock);
  for (int i = 0; i < late_num_events; i++) {
    if (late_events[i].stream == stream) late_events[i].stream = NULL;
  }
  pthread_mutex_unlock(&late_lock);
}

static inline bool late_is_pinned_locked(const char *start, size_t bytes) {
  for (int i = 0; i < LATE_MOST_MEMORIES; i++) {
    const char *first = late_memories[i].start;
    if (first && start >= first && start + bytes <= first + late_memories[i].bytes) return true;
  }
  return false;
}

/* ------------------------------------------------------------------------- CUDA's functions -- */

int cuStreamGetCtx(void *stream, void **context) {
  *context = late_context_of(stream);
  return late_result();
}

int cuCtxPushCurrent_v2(void *context) {
  int failed = late_result();
  if (!failed) late_contexts[late_depth++] = context;
  return failed;
}

int cuCtxPopCurrent_v2(void **context) {
  late_fault_if(late_depth == 0);
  *context = late_contexts[--late_depth];
  return 0;
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags) {
  int i = 0, failed = late_result();
  if (failed) return failed;
  late_fault_if(!late_current() || flags != 1);
  atomic_fetch_add(&late_allocations, 1);
  *memory = malloc(bytes);
  memset(*memory, 0xcc, bytes);
  pthread_mutex_lock(&late_lock);
  while (i < LATE_MOST_MEMORIES && late_memories[i].start) i++;
  if (i == LATE_MOST_MEMORIES) abort();
  late_memories[i].start = *memory;
  late_memories[i].bytes = bytes;
  pthread_mutex_unlock(&late_lock);
  return 0;
}

int cuMemFreeHost(void *memory) {
  int failed = late_result();
  if (failed) return failed;
  pthread_mutex_lock(&late_lock);
  for (int i = 0; i < LATE_MOST_MEMORIES; i++) {
    if (late_memories[i].start == memory) late_memories[i].start = NULL;
  }
  pthread_mutex_unlock(&late_lock);
  // a copy that was not made yet is found by AddressSanitizer
  free(memory);
  return 0;
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes, void *queue) {
  late_stream *stream = queue;
  late_copy copy = {(char *)(uintptr_t)to, (const char *)(uintptr_t)from, bytes};
  int failed = late_result();
  if (failed) return failed;
  late_fault_if(late_current() != late_context_of(stream) || bytes == 0);
  pthread_mutex_lock(&late_lock);
  // one end is memory that the GPU can reach by itself
  late_fault_if(!late_is_pinned_locked(copy.to, bytes) && !late_is_pinned_locked(copy.from, bytes));
  late_fault_if(stream->queued - stream->made == LATE_MOST_COPIES);
  stream->copies[stream->queued++ % LATE_MOST_COPIES] = copy;
  pthread_mutex_unlock(&late_lock);
  return 0;
}

int cuEventCreate(void **event, unsigned int flags) {
  int failed = late_result();
  if (failed) return failed;
  late_fault_if(!late_current() || flags != 2);
  pthread_mutex_lock(&late_lock);
  if (late_num_events == LATE_MOST_EVENTS) abort();
  late_events[late_num_events].context = late_current();
  *event = &late_events[late_num_events++];
  pthread_mutex_unlock(&late_lock);
  return 0;
}

int cuEventRecord(void *event, void *queue) {
  late_event *it = event;
  late_stream *stream = queue;
  int failed = late_result();
  if (failed) return failed;
  late_fault_if(it->context != late_context_of(stream) || late_current() != it->context);
  pthread_mutex_lock(&late_lock);
  it->stream = stream;
  it->position = stream->queued;
  pthread_mutex_unlock(&late_lock);
  return 0;
}

int cuEventSynchronize(void *event) {
  late_event *it = event;
  int failed = late_result();
  if (failed) return failed;
  pthread_mutex_lock(&late_lock);
  if (it->stream) late_make_locked(it->stream, it->position);
  pthread_mutex_unlock(&late_lock);
  return 0;
}

int cuGetErrorName(int number, const char **name) {
  *name = number == LATE_FAILURE ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
  return *name ? 0 : 1;
}

/* ----------------------------------------------------------------------------- XLA's program -- */

/* the stream of the calls that this thread makes */
static _Thread_local late_stream *late_program_stream;

static inline void *late_get_stream(pp_xla_stream_args *args) {
  late_fault_if(args->struct_size != sizeof(*args));
  args->stream = late_program_stream;
  return NULL;
}

/* Calls a handler as XLA does for a program on CUDA: its frame tells the stream. */
static inline void *late_call(void *(*handler)(void *frame), const void *frame) {
  pp_xla_frame own = *(const pp_xla_frame *)frame;
  pp_xla_api api = {.struct_size = sizeof(api)};
  if (own.api) api = *own.api;
  api.get_stream = late_get_stream;
  own.api = &api;
  return handler(&own);
}

#endif
