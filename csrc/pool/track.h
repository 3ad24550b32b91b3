/* Track: a record of what one thread or worker process does, and when, while the user wants it.
 *
 * Each writes spans to a track of its own, a ring from which one thread of the user reads.
 * The caller has two tracks, as one thread may send while another receives. A track may be in
 * memory that a worker process shares. */
#ifndef PP_POOL_TRACK_H
#define PP_POOL_TRACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "pp_pool.h"

typedef struct pp_track {
  /* Spans written so far. Release: publishes them, and acquire in the reader. The writer alone
   * changes it. */
  _Alignas(64) _Atomic uint64_t written;
  /* spans that found no room; relaxed, a number to show */
  _Atomic int64_t lost;
  /* Spans read so far. Release: their places may be written again, and acquire in the writer. The
   * reader alone changes it. */
  _Alignas(64) _Atomic uint64_t read;
  _Alignas(64) pp_span spans[];
} pp_track;

/* the numbers of spans that a track has room for: of a thread, and of a worker process */
enum { PP_TRACK_THREAD = 1 << 16, PP_TRACK_WORKER = 1 << 14 };

/* Returns the bytes of a track for `capacity` spans. Zeroed memory is an empty track. */
static inline size_t pp_track_size(int32_t capacity) {
  return sizeof(pp_track) + sizeof(pp_span) * (size_t)capacity;
}

/* Returns a track for a thread, null if there is no memory; and frees it, if it is not null. */
pp_track *pp_track_alloc(void);
void pp_track_free(pp_track *track);

/* Adds a span; called by one thread. If there is no room, it is counted as lost. */
void pp_track_add(pp_track *track, int32_t capacity, const pp_span *span);

/* Moves the oldest spans to out; called by one thread. Returns how many, at most room; PP_ERR_STATE
 * if the numbers in the track are impossible, and the track is then empty. */
int32_t pp_track_read(pp_track *track, int32_t capacity, pp_span *out, int32_t room);

/* what one thread of this process needs to record */
typedef struct pp_recorder {
  /* Null: nothing is recorded. Stored with release by the thread that starts a trace, which has
   * made the track, and loaded with acquire. A track lives until its pool is destroyed, so a thread
   * may add one more span after the end of the trace. */
  _Atomic(pp_track *) track;
  /* Whether the thread may have done something that is not yet in the track. Stored by the thread:
   * true, relaxed, before it counts rows as done, which publishes it; false with release, after the
   * last span. Loaded with acquire by the thread that ends a trace, of worker threads only. */
  _Atomic bool is_busy;
  pp_span pending; /* span not yet in the track, as the next one may continue it; count 0: none */
} pp_recorder;

/* Returns the track, null if nothing is recorded. */
static inline pp_track *pp_recorder_track(const pp_recorder *recorder) {
  return atomic_load_explicit(&recorder->track, memory_order_acquire);
}

/* Announces steps that pp_recorder_work will record. Returns false if nothing is recorded. */
static inline bool pp_recorder_begin(pp_recorder *recorder) {
  if (!pp_recorder_track(recorder)) return false;
  atomic_store_explicit(&recorder->is_busy, true, memory_order_relaxed);
  return true;
}

/* Returns whether a thread has not yet recorded all that it has done. */
static inline bool pp_recorder_is_busy(const pp_recorder *recorder) {
  return atomic_load_explicit(&recorder->is_busy, memory_order_acquire);
}

/* Records the steps of cheap environments as one span, if they follow one another without a gap. */
void pp_recorder_work(pp_recorder *recorder, const pp_span *span);

/* Records what is pending. */
void pp_recorder_flush(pp_recorder *recorder);

/* Records a call that began at `start`, and what is pending. */
void pp_recorder_call(pp_recorder *recorder, int32_t kind, int64_t start, int32_t count);

#endif
