/* Grain: how many environments a thread takes at once, from the measured cost of a step. */
#include "grain.h"

int64_t pp_grain_estimate(const pp_grain *grain, int64_t count) {
  uint32_t cost = atomic_load_explicit(&grain->cost, memory_order_relaxed);
  return cost ? (int64_t)cost * count / 16 : INT64_MAX;
}

int32_t pp_grain_chunk(const pp_grain *grain, int64_t available, bool is_shared) {
  uint32_t cost = atomic_load_explicit(&grain->cost, memory_order_relaxed);
  int64_t chunk, least, most;

  // a step of unknown cost may take a second: one at a time
  if (!cost) return 1;
  least = PP_GRAIN_LEAST * 16 / cost + 1;
  most = PP_GRAIN_MOST * 16 / cost + 1;

  // half of what is left, so that other threads can help and the last chunk is small
  chunk = is_shared ? available / 2 : most;
  if (chunk > most) chunk = most;
  if (chunk < least) chunk = least;
  if (chunk > PP_GRAIN_ROWS) chunk = PP_GRAIN_ROWS;
  return (int32_t)(chunk < available ? chunk : available);
}

int64_t pp_grain_threads(const pp_grain *grain, int64_t count) {
  int64_t work = pp_grain_estimate(grain, count);
  return work == INT64_MAX ? count : work / PP_GRAIN_WAKE + 1;
}

int32_t pp_grain_run(const pp_grain *grain) {
  uint32_t cost = atomic_load_explicit(&grain->cost, memory_order_relaxed);
  int64_t run = cost ? PP_GRAIN_LEAST * 16 / cost : 1;
  if (run > PP_GRAIN_RUN) return PP_GRAIN_RUN;
  return run > 1 ? (int32_t)run : 1;
}

bool pp_grain_is_near(const pp_grain *grain, int64_t nanoseconds, int32_t count) {
  int64_t estimate = pp_grain_estimate(grain, count);
  int64_t difference = nanoseconds - estimate;
  // INT64_MAX is no estimate, so nothing is near it
  return (difference < 0 ? -difference : difference) < estimate / 4 && estimate != INT64_MAX;
}

void pp_grain_learn(pp_grain *grain, int64_t nanoseconds, int32_t count) {
  uint32_t old = atomic_load_explicit(&grain->cost, memory_order_relaxed);
  int64_t sample = nanoseconds * 16 / count, cost;

  if (sample < 1) sample = 1;
  // limited, because the thread may have lost its core for a while
  if (old && sample > 4 * (int64_t)old) sample = 4 * (int64_t)old;
  cost = old ? old + (sample - old) / 8 : sample;
  // a small difference must not be lost in the division
  if (old && cost == old && sample != old) cost += sample > old ? 1 : -1;
  if (cost < 1) cost = 1;
  if (cost > UINT32_MAX) cost = UINT32_MAX;
  atomic_store_explicit(&grain->cost, (uint32_t)cost, memory_order_relaxed);
}
