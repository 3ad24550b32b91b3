/* Trace: what the caller, threads and workers do, and when, recorded while the user wants it. */
#include "trace.h"

#include <stdlib.h>

#include "error.h"
#include "os/os.h"
#include "pool.h"

enum {
  CHEAP = 2000,      /* ns of a step: such steps are shown together */
  SHORT = 20000,     /* ns of a call, and of the time between two, that are shown together */
  LONGEST = 1000000, /* ns of what is shown together */
  /* ns to wait for threads that have yet to record what they have done: if all results have been
   * received, and if environments are in flight, which may take any time */
  PATIENCE = 1000000000,
  BRIEFLY = 20000000
};

/* --------------------------------------------------------------------------------- tracks -- */

pp_track *pp_track_alloc(void) {
  return pp_os_pages_alloc(pp_track_size(PP_TRACK_THREAD));
}

void pp_track_add(pp_track *track, int32_t capacity, const pp_span *span) {
  uint64_t written = atomic_load_explicit(&track->written, memory_order_relaxed);
  uint64_t read = atomic_load_explicit(&track->read, memory_order_acquire);
  if (written - read >= (uint64_t)capacity) {
    int64_t lost = atomic_load_explicit(&track->lost, memory_order_relaxed);
    atomic_store_explicit(&track->lost, lost + 1, memory_order_relaxed);
    return;
  }
  track->spans[written & (uint64_t)(capacity - 1)] = *span;
  atomic_store_explicit(&track->written, written + 1, memory_order_release);
}

int32_t pp_track_read(pp_track *track, int32_t capacity, pp_span *out, int32_t room) {
  uint64_t written = atomic_load_explicit(&track->written, memory_order_acquire);
  uint64_t read = atomic_load_explicit(&track->read, memory_order_relaxed);
  int32_t count;
  // a worker's environments may have overwritten the numbers: go on with what comes next
  if (written - read > (uint64_t)capacity) {
    atomic_store_explicit(&track->read, written, memory_order_release);
    return PP_ERR_STATE;
  }
  count = written - read < (uint64_t)room ? (int32_t)(written - read) : room;
  for (int32_t i = 0; i < count; i++) {
    out[i] = track->spans[(read + (uint64_t)i) & (uint64_t)(capacity - 1)];
  }
  atomic_store_explicit(&track->read, read + (uint64_t)count, memory_order_release);
  return count;
}

/* ------------------------------------------------------------------------------ recording -- */

static bool is_cheap(const pp_span *span) {
  return span->kind == PP_SPAN_WORK && span->end - span->start < (int64_t)CHEAP * span->count;
}

static void add_pending(pp_recorder *recorder) {
  pp_track *track = pp_recorder_track(recorder);
  if (track && recorder->pending.count) {
    pp_track_add(track, PP_TRACK_THREAD, &recorder->pending);
  }
  recorder->pending.count = 0;
}

void pp_recorder_flush(pp_recorder *recorder) {
  add_pending(recorder);
  atomic_store_explicit(&recorder->is_open, false, memory_order_release);
}

void pp_recorder_work(pp_recorder *recorder, const pp_span *span) {
  pp_span *pending = &recorder->pending;
  if (pending->count && span->start == pending->end && span->end - pending->start < LONGEST &&
      is_cheap(pending) && is_cheap(span)) {
    pending->end = span->end;
    pending->count += span->count;
    return;
  }
  add_pending(recorder);
  *pending = *span;
  // nothing can continue it, and the thread may be away for long
  if (!is_cheap(span)) pp_recorder_flush(recorder);
}

void pp_recorder_call(pp_recorder *recorder, int32_t kind, int64_t start, int32_t count) {
  pp_track *track = pp_recorder_track(recorder);
  pp_span *pending = &recorder->pending;
  int64_t end;
  if (!track) {
    // the trace has ended during the call
    pending->count = 0;
    return;
  }
  end = pp_os_now();
  if (count < 0) count = 0;
  if (kind == PP_SPAN_INLINE && count && end - start < SHORT) {
    if (pending->count && pending->kind == kind && start - pending->end < SHORT &&
        end - pending->start < LONGEST) {
      pending->gaps += (int32_t)(start - pending->end);
      pending->end = end;
      pending->count += count;
      return;
    }
    add_pending(recorder);
    *pending = (pp_span){start, end, kind, -1, count, 0};
    return;
  }
  add_pending(recorder);
  pp_track_add(track, PP_TRACK_THREAD, &(pp_span){start, end, kind, -1, count, 0});
}

/* ---------------------------------------------------------------------------------- calls -- */

/* the first two tracks are the caller's, all others those of threads or workers */
enum { RECEIVER, SENDER, OTHERS };

static void set_track(pp_pool *pool, int32_t i, pp_track *track) {
  if (i >= OTHERS) {
    pool->ops.set_track(pool, i - OTHERS, track);
  } else {
    pp_recorder *recorder = i == RECEIVER ? &pool->receiver : &pool->sender;
    atomic_store_explicit(&recorder->track, track, memory_order_release);
  }
}

static int alloc_tracks(pp_pool *pool, int32_t count) {
  // there are at most so many, and may be more in a later trace
  int32_t most = OTHERS + pool->num_threads;
  if (!pool->tracks) pool->tracks = calloc((size_t)most, sizeof(pp_track *));
  if (!pool->tracks) return PP_ERR_MEMORY;
  for (; pool->num_tracks < count; pool->num_tracks++) {
    int32_t i = pool->num_tracks;
    pool->tracks[i] = i < OTHERS ? pp_track_alloc() : pool->ops.alloc_track(pool);
    if (!pool->tracks[i]) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

static int32_t capacity_of(const pp_pool *pool, int32_t track) {
  return track < OTHERS || pool->threads ? PP_TRACK_THREAD : PP_TRACK_WORKER;
}

int32_t pp_pool_trace_start(pp_pool *pool, pp_error *error) {
  int32_t count = OTHERS + pool->ops.num_tracks(pool), status = pp_pool_check(pool, error);
  if (status < 0) return status;
  if (pool->is_traced) {
    return pp_error_set(error, PP_ERR_STATE,
                        "another trace of this pool is running: let it end first");
  }
  status = alloc_tracks(pool, count);
  if (status < 0) return pp_error_set(error, status, "no memory for a trace");
  pool->is_traced = true;
  pthread_mutex_lock(&pool->lock);
  for (int32_t i = 0; i < count; i++) set_track(pool, i, pool->tracks[i]);
  pthread_mutex_unlock(&pool->lock);
  return count;
}

/* Waits until threads have recorded the steps whose results have been received. */
static void wait_for_threads(const pp_pool *pool) {
  int64_t start = pp_os_now();
  while (pool->ops.is_recording(pool)) {
    if (pp_os_now() - start > (pp_pool_count(pool) ? BRIEFLY : PATIENCE)) return;
    pp_os_yield();
  }
}

void pp_pool_trace_stop(pp_pool *pool) {
  int32_t idle = PP_IDLE;
  if (pool->fork_generation != pp_os_fork_generation()) return;
  wait_for_threads(pool);
  // what is pending belongs to the thread that receives; acquire and release as for any receive
  if (atomic_compare_exchange_strong_explicit(&pool->receiving, &idle, PP_FLUSHING,
                                              memory_order_acquire, memory_order_relaxed)) {
    pp_recorder_flush(&pool->receiver);
    atomic_store_explicit(&pool->receiving, PP_IDLE, memory_order_release);
  }
  pthread_mutex_lock(&pool->lock);
  for (int32_t i = 0; i < pool->num_tracks; i++) set_track(pool, i, NULL);
  pthread_mutex_unlock(&pool->lock);
  pool->is_traced = false;
}

int32_t pp_pool_trace_read(pp_pool *pool, int32_t track, pp_span *out, int32_t room, int64_t *lost,
                           pp_error *error) {
  int32_t status;
  // the parent reads what a forked child shares with it
  if (pool->fork_generation != pp_os_fork_generation()) {
    return pp_error_set(error, PP_ERR_FORKED, "a forked child can't read the parent's trace");
  }
  if (track < 0 || track >= pool->num_tracks || room < 1) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "track=%d, room=%d: choose 0 to %d, and 1 or more",
                        track, room, pool->num_tracks - 1);
  }
  status = pp_track_read(pool->tracks[track], capacity_of(pool, track), out, room);
  if (lost) *lost = atomic_load_explicit(&pool->tracks[track]->lost, memory_order_relaxed);
  if (status >= 0) return status;
  return pp_error_set(error, status, "a worker process has written over its trace");
}

void pp_trace_fini(pp_pool *pool) {
  for (int32_t i = 0; i < pool->num_tracks; i++) {
    bool is_shared = i >= OTHERS && !pool->threads;
    if (!is_shared) pp_os_pages_free(pool->tracks[i], pp_track_size(PP_TRACK_THREAD));
  }
  free(pool->tracks);
  pool->tracks = NULL;
  pool->num_tracks = 0;
}
