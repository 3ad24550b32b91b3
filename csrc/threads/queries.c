/* Queries: what the threads have counted, what they step now, and their tracks in a trace. */
#include "queries.h"

#include "lanes.h"

void pp_threads_stats(const pp_pool *pool, pp_stats *out) {
  const pp_threads *threads = pool->threads;
  out->num_lanes = threads->num_lanes;
  out->num_workers = atomic_load_explicit(&threads->has_stand_in, memory_order_acquire);
  out->chunks = atomic_load_explicit(&threads->caller.chunks, memory_order_relaxed);
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    out->num_workers += lane->num_workers;
    out->worker_waits += atomic_load_explicit(&lane->gate.waits, memory_order_relaxed);
    out->worker_wakes += atomic_load_explicit(&lane->gate.wakes, memory_order_relaxed);
    for (int32_t w = 0; w < lane->num_threads; w++) {
      const pp_thread *worker = &lane->workers[w];
      out->chunks += atomic_load_explicit(&worker->state.chunks, memory_order_relaxed);
      out->refused_binds += atomic_load_explicit(&worker->was_refused, memory_order_relaxed);
    }
  }
}

int32_t pp_threads_stepping(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room) {
  const pp_threads *threads = pool->threads;
  int32_t found = 0;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    for (int32_t w = 0; w < lane->num_threads && found < room; w++) {
      pp_entry run = atomic_load_explicit(&lane->workers[w].state.stepping, memory_order_relaxed);
      if (!PP_ENTRY_PLACE(run)) continue;
      env_ids[found] = PP_ENTRY_ENV(run);
      counts[found++] = PP_ENTRY_LENGTH(run);
    }
  }
  return found;
}

/* --------------------------------------------------------------------------------- traces -- */

/* the last is the stand-in's, if it has started */
int32_t pp_threads_num_tracks(const pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  return threads->num_workers + atomic_load_explicit(&threads->has_stand_in, memory_order_acquire);
}

void pp_threads_set_track(pp_pool *pool, int32_t i, pp_track *track) {
  pp_lane *lane = pool->threads->lanes;
  if (i == pool->threads->num_workers) {
    lane += pool->threads->home_lane;
    i = lane->num_workers;
  } else {
    for (; i >= lane->num_workers; lane++) i -= lane->num_workers;
  }
  atomic_store_explicit(&lane->workers[i].recorder.track, track, memory_order_release);
}

bool pp_threads_is_recording(const pp_pool *pool) {
  const pp_threads *threads = pool->threads;
  for (int32_t i = 0; i < threads->num_lanes; i++) {
    const pp_lane *lane = &threads->lanes[i];
    for (int32_t w = 0; w < lane->num_threads; w++) {
      if (pp_recorder_is_busy(&lane->workers[w].recorder)) return true;
    }
  }
  return false;
}
