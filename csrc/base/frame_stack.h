/* Frame stack: the last frames of an environment, in a ring buffer. */
#ifndef PP_BASE_FRAME_STACK_H
#define PP_BASE_FRAME_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* a view of a ring buffer; the buffer itself is part of a state without pointers */
typedef struct pp_stack {
  uint8_t *frames; /* `count` frames of frame_bytes each */
  int32_t *oldest;
  int32_t count;
  size_t frame_bytes;
} pp_stack;

static inline uint8_t *pp_stack_oldest(pp_stack stack) {
  return stack.frames + stack.frame_bytes * (size_t)*stack.oldest;
}

static inline uint8_t *pp_stack_newest(pp_stack stack) {
  return stack.frames +
         stack.frame_bytes * (size_t)((*stack.oldest + stack.count - 1) % stack.count);
}

/* Makes the oldest frame the newest one and returns it. The caller writes the new frame there. */
static inline uint8_t *pp_stack_push(pp_stack stack) {
  uint8_t *frame = pp_stack_oldest(stack);
  *stack.oldest = (*stack.oldest + 1) % stack.count;
  return frame;
}

/* Replaces the oldest frame with a copy of the newest. */
static inline void pp_stack_push_again(pp_stack stack) {
  const uint8_t *last = pp_stack_newest(stack);
  uint8_t *frame = pp_stack_push(stack);
  if (frame != last) memcpy(frame, last, stack.frame_bytes);
}

/* Writes all frames, the oldest first. */
static inline void pp_stack_copy(pp_stack stack, uint8_t *row) {
  const size_t newer = stack.frame_bytes * (size_t)*stack.oldest;
  const size_t older = stack.frame_bytes * (size_t)stack.count - newer;
  memcpy(row, stack.frames + newer, older);
  memcpy(row + older, stack.frames, newer);
}

#endif
