/* Preprocessing: pools screens, also in steps that an episode's end cuts short, and stacks the
 * frames. */
#include "preprocessing.h"

#include <string.h>

#include "base/frame_stack.h"
#include "base/resize.h"
#include "base/state_check.h"

static size_t screen_bytes(const pp_preprocessor *preprocessor) {
  return (size_t)preprocessor->screen->rows * PP_SCREEN_WIDTH;
}

/* with colours there is one more frame, in which the planes are made */
size_t pp_frames_size(const pp_preprocessor *preprocessor) {
  size_t frames = (size_t)preprocessor->stack + (preprocessor->screen->planes > 1);
  return sizeof(pp_frames) + preprocessor->screen->frame_bytes * frames;
}

bool pp_frames_check(const pp_env *env, const pp_frames *frames,
                     const pp_preprocessor *preprocessor) {
  const uint8_t flags[] = {frames->is_plain, frames->is_pair, frames->is_synced};
  return pp_state_check_range(env, "oldest", frames->oldest, 0, preprocessor->stack - 1) &&
         pp_state_check_bytes(env, "flags", flags, sizeof(flags), 1);
}

/* --------------------------------------------------------------------------------- the stack -- */

static pp_stack stack_of(pp_frames *frames, const pp_preprocessor *preprocessor) {
  return (pp_stack){frames->ring, &frames->oldest, preprocessor->stack,
                    preprocessor->screen->frame_bytes};
}

/* Returns the memory in which a frame is made, plane by plane, before it is added. */
static uint8_t *draft(pp_frames *frames, const pp_preprocessor *preprocessor) {
  if (preprocessor->screen->planes == 1) return pp_stack_oldest(stack_of(frames, preprocessor));
  return frames->ring + preprocessor->screen->frame_bytes * (size_t)preprocessor->stack;
}

/* Adds the draft, with red, green and blue of each pixel side by side. */
static void push_draft(pp_frames *frames, const pp_preprocessor *preprocessor) {
  uint8_t *frame = pp_stack_push(stack_of(frames, preprocessor));
  if (preprocessor->screen->planes == 1) return;
  const size_t pixels = preprocessor->screen->frame_bytes / PP_SCREEN_MAX_PLANES;
  const uint8_t *planes = draft(frames, preprocessor);
  for (size_t i = 0; i < pixels; i++) {
    frame[3 * i] = planes[i];
    frame[3 * i + 1] = planes[i + pixels];
    frame[3 * i + 2] = planes[i + 2 * pixels];
  }
}

/* ------------------------------------------------------------------------- screens to frames -- */

/* Adds a frame made of the console's last screen, pooled with `first` unless that is NULL. Sets
 * changed[y] to 0 if row y of both screens is as it was when the frame before was made. */
static void add_frame(pp_frames *frames, const pp_preprocessor *preprocessor, pp_console *console,
                      const uint8_t *first, uint8_t changed[PP_LINES_MAX]) {
  const pp_screen *screen = preprocessor->screen;
  const pp_stack stack = stack_of(frames, preprocessor);
  uint8_t *frame = draft(frames, preprocessor);
  // with colours, the draft still has the planes of the newest frame
  pp_screen_past past = {screen->planes == 1 ? pp_stack_newest(stack) : frame, changed};
  pp_console_changed(console, changed);
  pp_screen_frame(screen, pp_console_screen(console), first, frames->is_plain ? &past : NULL,
                  frame);
  push_draft(frames, preprocessor);
  frames->is_plain = 1;
}

void pp_frames_start(pp_frames *frames, const pp_preprocessor *preprocessor, pp_console *console) {
  size_t all = preprocessor->screen->frame_bytes * (size_t)preprocessor->stack;
  if (preprocessor->pads_zero) memset(frames->ring, 0, all);
  memcpy(frames->own, pp_console_screen(console), screen_bytes(preprocessor));
  frames->is_plain = frames->is_pair = frames->is_synced = 0;
  uint8_t changed[PP_LINES_MAX];
  add_frame(frames, preprocessor, console, NULL, changed);
  if (preprocessor->pads_zero) return;
  for (int32_t i = 1; i < preprocessor->stack; i++)
    pp_stack_push_again(stack_of(frames, preprocessor));
}

/* Copies stretches of rows that have changed. */
static void copy_changed(const pp_preprocessor *preprocessor, const uint8_t *changed,
                         const uint8_t *from, uint8_t *to) {
  const int rows = preprocessor->screen->rows;
  for (int y = 0, end = 0; y < rows; y = end + 1) {
    for (end = y; end < rows && changed[end];) end++;
    const size_t at = (size_t)y * PP_SCREEN_WIDTH;
    if (end > y) memcpy(to + at, from + at, (size_t)(end - y) * PP_SCREEN_WIDTH);
  }
}

void pp_frames_add(pp_frames *frames, const pp_preprocessor *preprocessor, pp_console *console,
                   const uint8_t *first) {
  uint8_t changed[PP_LINES_MAX];
  add_frame(frames, preprocessor, console, first, changed);
  frames->is_pair = first != NULL;
  if (!first) return;
  // rows that have not changed since both screens were copied need no copy
  if (!frames->is_synced) memset(changed, 1, sizeof(changed));
  frames->is_synced = first == pp_console_screen_before(console);
  if (!frames->is_synced) memset(changed, 1, sizeof(changed));
  copy_changed(preprocessor, changed, pp_console_screen(console), frames->own);
  copy_changed(preprocessor, changed, first, frames->partner);
}

/* The wrapper pools in place, so the screens of the previous step are pooled again. */
void pp_frames_cut(pp_frames *frames, const pp_preprocessor *preprocessor, const uint8_t *first) {
  if (!first) {
    pp_stack_push_again(stack_of(frames, preprocessor));
    return;
  }
  const pp_screen *screen = preprocessor->screen;
  const uint8_t *partner = frames->is_pair ? frames->partner : frames->own;
  size_t plane_bytes = screen->frame_bytes / (size_t)screen->planes;
  uint8_t *planes = draft(frames, preprocessor);
  uint8_t picture[PP_SCREEN_BYTES];
  for (int plane = 0; plane < screen->planes; plane++) {
    const uint8_t *table = screen->table[plane];
    for (size_t i = 0; i < screen_bytes(preprocessor); i++) {
      uint8_t value = table[frames->own[i]];
      if (table[partner[i]] > value) value = table[partner[i]];
      picture[i] = table[first[i]] > value ? table[first[i]] : value;
    }
    pp_resize_apply(screen->resize, picture, NULL, NULL, planes + plane_bytes * (size_t)plane);
  }
  push_draft(frames, preprocessor);
  frames->is_plain = 0;
}

/* ------------------------------------------------------------------------------ observations -- */

void pp_frames_show(pp_frames *frames, const pp_preprocessor *preprocessor, void *row) {
  if (!preprocessor->scales) {
    pp_stack_copy(stack_of(frames, preprocessor), row);
    return;
  }
  const size_t all = preprocessor->screen->frame_bytes * (size_t)preprocessor->stack;
  const size_t newer = preprocessor->screen->frame_bytes * (size_t)frames->oldest;
  float *values = row;
  for (size_t i = newer; i < all; i++) *values++ = preprocessor->scaled[frames->ring[i]];
  for (size_t i = 0; i < newer; i++) *values++ = preprocessor->scaled[frames->ring[i]];
}
