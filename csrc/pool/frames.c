/* Frames: observations that are stacks of frames, with each frame stored once in a log. */
#include <stdbool.h>
#include <string.h>

#include "pp_pool.h"

/* returns the i-th of consecutive frames */
static uint8_t *frame_at(const pp_frames *log, int64_t i) {
  return (uint8_t *)log->memory + i * log->frame_bytes;
}

/* Returns whether the older frames of a stack are the newer ones of the stack before, whose places
 * are given: an environment has shown one more frame. */
static bool follows(const pp_frames *log, const int32_t *before, const uint8_t *frames) {
  if (before[0] < 0) return false;
  // the newest first, which differs after a reset
  for (int32_t i = log->stack - 2; i >= 0; i--) {
    if (memcmp(frame_at(log, before[i + 1]), frames + i * log->frame_bytes,
               (size_t)log->frame_bytes) != 0) {
      return false;
    }
  }
  return true;
}

/* stores a frame; returns its place */
static int32_t append(pp_frames *log, const uint8_t *frame) {
  int32_t place = (int32_t)(log->count++ % log->capacity);
  memcpy(frame_at(log, place), frame, (size_t)log->frame_bytes);
  return place;
}

void pp_frames_put(pp_frames *log, const void *stacks, const int32_t *env_ids, int32_t count,
                   int32_t *places) {
  const size_t row = sizeof(*places) * (size_t)log->stack;
  for (int32_t i = 0; i < count; i++) {
    const uint8_t *frames = (const uint8_t *)stacks + log->frame_bytes * log->stack * i;
    int32_t *last = log->last + (size_t)(env_ids ? env_ids[i] : i) * (size_t)log->stack;
    int32_t first = follows(log, last, frames) ? log->stack - 1 : 0;
    if (first) memmove(last, last + 1, row - sizeof(*last));
    for (int32_t j = first; j < log->stack; j++) {
      last[j] = append(log, frames + log->frame_bytes * j);
    }
    memcpy(places + (size_t)i * (size_t)log->stack, last, row);
  }
}

/* Begins to load a frame into the caches: frames lie anywhere, and the processor would begin anew
 * with each. */
static void fetch_ahead(const uint8_t *frame, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(frame + at);
}

/* copies the frames of one stack */
static void copy_stack(const pp_frames *log, const int32_t *places, uint8_t *to) {
  for (int32_t i = 0; i < log->stack; i++) {
    memcpy(to + log->frame_bytes * i, frame_at(log, places[i]), (size_t)log->frame_bytes);
  }
}

void pp_frames_gather(const pp_frames *log, const int32_t *places, const int32_t *following,
                      int64_t count, void *stacks, void *next_stacks) {
  const int64_t bytes = log->frame_bytes * log->stack;
  for (int64_t i = 0; i < count; i++) {
    const int32_t *row = places + i * log->stack;
    for (int32_t j = 0; i + 1 < count && j < log->stack; j++) {
      fetch_ahead(frame_at(log, row[log->stack + j]), log->frame_bytes);
    }
    copy_stack(log, row, (uint8_t *)stacks + bytes * i);
    // most of these frames are in the caches now
    if (following) {
      copy_stack(log, following + i * log->stack, (uint8_t *)next_stacks + bytes * i);
    }
  }
}
