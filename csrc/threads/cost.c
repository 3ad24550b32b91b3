/* Cost: what a step of a lane's environments takes, learned from the time of chunks, and how much
 * work follows from it: for a queue entry, a chunk, a thread, a step in the caller's thread. */
#include "cost.h"

enum { LEARN_EVERY = 8 /* chunks of a thread */ };

static uint32_t read(const pp_cost *cost) {
  return atomic_load_explicit(&cost->step, memory_order_relaxed);
}

int64_t pp_cost_estimate(const pp_cost *cost, int64_t count) {
  uint32_t step = read(cost);
  return step ? (int64_t)step * count / 16 : INT64_MAX;
}

int32_t pp_cost_chunk(const pp_cost *cost, int64_t available, bool is_shared) {
  uint32_t step = read(cost);
  int64_t chunk, min, max;

  // a step of unknown cost may take a second: one at a time
  if (!step) return 1;
  min = PP_CHUNK_MIN_NS * 16 / step + 1;
  max = PP_CHUNK_MAX_NS * 16 / step + 1;

  // half of what is left, so that other threads can help and the last chunk is small
  chunk = is_shared ? available / 2 : max;
  if (chunk > max) chunk = max;
  if (chunk < min) chunk = min;
  // what is not worth a chunk of its own is taken along
  if (available <= max && (available - chunk) * step < PP_CHUNK_MIN_NS * 16) chunk = available;
  if (chunk > PP_MAX_CHUNK) chunk = PP_MAX_CHUNK;
  return (int32_t)(chunk < available ? chunk : available);
}

int64_t pp_cost_threads(const pp_cost *cost, int64_t count) {
  int64_t work = pp_cost_estimate(cost, count);
  return work == INT64_MAX ? count : work / PP_WAKE_NS + 1;
}

int32_t pp_cost_entry(const pp_cost *cost) {
  uint32_t step = read(cost);
  int64_t length = step ? PP_CHUNK_MIN_NS * 16 / step : 1;
  if (length > PP_MAX_ENTRY) return PP_MAX_ENTRY;
  return length > 1 ? (int32_t)length : 1;
}

/* returns whether a chunk took about as long as estimated */
static bool is_near(const pp_cost *cost, int64_t nanoseconds, int32_t count) {
  int64_t estimate = pp_cost_estimate(cost, count);
  int64_t difference = nanoseconds - estimate;
  // INT64_MAX is no estimate, so nothing is near it
  return (difference < 0 ? -difference : difference) < estimate / 4 && estimate != INT64_MAX;
}

void pp_cost_learn(pp_cost *cost, int64_t nanoseconds, int32_t count, int64_t nth) {
  uint32_t old = read(cost);
  int64_t sample = nanoseconds * 16 / count, step;

  if (nth % LEARN_EVERY && is_near(cost, nanoseconds, count)) return;
  if (sample < 1) sample = 1;
  // limited, because the thread may have lost its core for a while
  if (old && sample > 4 * (int64_t)old) sample = 4 * (int64_t)old;
  step = old ? old + (sample - old) / 8 : sample;
  // a small difference must not be lost in the division
  if (old && step == old && sample != old) step += sample > old ? 1 : -1;
  if (step < 1) step = 1;
  if (step > UINT32_MAX) step = UINT32_MAX;
  atomic_store_explicit(&cost->step, (uint32_t)step, memory_order_relaxed);
}
