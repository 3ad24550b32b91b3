/* Trace: starts, reads and stops the tracks of a pool. */
#include "trace.h"

#include <stdlib.h>

#include "error.h"
#include "os/os.h"
#include "pool.h"

enum {
  /* ns that pp_pool_trace_stop waits for spans that threads have yet to record: with nothing in
   * flight, and with environments in flight, whose steps may take any time */
  STOP_WAIT_NS = 1000000000,
  STOP_WAIT_IN_FLIGHT_NS = 20000000
};

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
  // room for the most tracks that this pool can have: a later trace may have more than this one
  int32_t max_tracks = OTHERS + pool->num_threads;
  if (!pool->tracks) pool->tracks = calloc((size_t)max_tracks, sizeof(pp_track *));
  if (!pool->tracks) return PP_ERR_MEMORY;
  for (; pool->num_tracks < count; pool->num_tracks++) {
    int32_t i = pool->num_tracks;
    pool->tracks[i] = i < OTHERS ? pp_track_alloc() : pool->ops.alloc_track(pool);
    if (!pool->tracks[i]) return PP_ERR_MEMORY;
  }
  return PP_OK;
}

static int32_t capacity_of(const pp_pool *pool, int32_t track) {
  return track < OTHERS ? PP_TRACK_THREAD : pool->ops.track_capacity;
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
  while (pool->ops.is_recording && pool->ops.is_recording(pool)) {
    if (pp_os_now() - start > (pp_pool_count(pool) ? STOP_WAIT_IN_FLIGHT_NS : STOP_WAIT_NS)) return;
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
    if (i < OTHERS) {
      pp_track_free(pool->tracks[i]);
    } else if (pool->ops.free_track) {
      pool->ops.free_track(pool->tracks[i]);
    }
  }
  free(pool->tracks);
  pool->tracks = NULL;
  pool->num_tracks = 0;
}
