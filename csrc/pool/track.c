/* Track: a record of what one thread or worker process does, and when, while the user wants it. */
#include "track.h"

#include "os/os.h"

enum {
  MERGE_STEP_NS = 2000, /* ns: spans of shorter steps are merged */
  MERGE_CALL_NS =
      20000, /* ns: spans of shorter calls are merged, if they lie less than this apart */
  MERGE_MAX_NS = 1000000 /* ns: merged spans are shorter */
};

/* --------------------------------------------------------------------------------- tracks -- */

pp_track *pp_track_alloc(void) {
  return pp_os_pages_alloc(pp_track_size(PP_TRACK_THREAD));
}

void pp_track_free(pp_track *track) {
  pp_os_pages_free(track, pp_track_size(PP_TRACK_THREAD));
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
  return span->kind == PP_SPAN_WORK &&
         span->end - span->start < (int64_t)MERGE_STEP_NS * span->count;
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
  atomic_store_explicit(&recorder->is_busy, false, memory_order_release);
}

void pp_recorder_work(pp_recorder *recorder, const pp_span *span) {
  pp_span *pending = &recorder->pending;
  if (pending->count && span->start == pending->end && span->end - pending->start < MERGE_MAX_NS &&
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
  if (kind == PP_SPAN_INLINE && count && end - start < MERGE_CALL_NS) {
    if (pending->count && pending->kind == kind && start - pending->end < MERGE_CALL_NS &&
        end - pending->start < MERGE_MAX_NS) {
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
