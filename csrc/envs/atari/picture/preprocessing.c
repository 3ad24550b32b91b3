// preprocessing.c: pooling over the ends of episodes, the stack of pictures, and its layout for
// Python.
#include "preprocessing.h"

#include <string.h>

#include "frame_stack.h"
#include "resize.h"

static size_t screen_bytes(const pp_camera *camera) {
  return (size_t)camera->screen->rows * PP_SCREEN_WIDTH;
}

// colours need one more frame, to make the others in
size_t pp_film_bytes(const pp_camera *camera) {
  size_t frames = (size_t)camera->stack + (camera->screen->planes > 1);
  return sizeof(pp_film) + camera->screen->frame_bytes * frames;
}

// ---------------------------------------------------------------------------- the stack

static pp_stack stack_of(pp_film *film, const pp_camera *camera) {
  return (pp_stack){film->frames, &film->oldest, camera->stack, camera->screen->frame_bytes};
}

// where to make a frame, plane by plane, before it is added
static uint8_t *draft(pp_film *film, const pp_camera *camera) {
  if (camera->screen->planes == 1) return pp_stack_oldest(stack_of(film, camera));
  return film->frames + camera->screen->frame_bytes * (size_t)camera->stack;
}

// adds the draft, with red, green and blue of each pixel side by side
static void push_draft(pp_film *film, const pp_camera *camera) {
  uint8_t *frame = pp_stack_push(stack_of(film, camera));
  if (camera->screen->planes == 1) return;
  const size_t pixels = camera->screen->frame_bytes / PP_SCREEN_MAX_PLANES;
  const uint8_t *planes = draft(film, camera);
  for (size_t i = 0; i < pixels; i++) {
    frame[3 * i] = planes[i];
    frame[3 * i + 1] = planes[i + pixels];
    frame[3 * i + 2] = planes[i + 2 * pixels];
  }
}

// ---------------------------------------------------------------------------- taking pictures

void pp_film_start(pp_film *film, const pp_camera *camera, const uint8_t *screen) {
  size_t all = camera->screen->frame_bytes * (size_t)camera->stack;
  if (camera->pads_zero) memset(film->frames, 0, all);
  memcpy(film->own, screen, screen_bytes(camera));
  film->is_pair = 0;
  pp_screen_frame(camera->screen, screen, NULL, draft(film, camera));
  push_draft(film, camera);
  if (camera->pads_zero) return;
  for (int32_t i = 1; i < camera->stack; i++) pp_stack_push_again(stack_of(film, camera));
}

void pp_film_take_first(pp_film *film, const pp_camera *camera, const uint8_t *screen) {
  memcpy(film->pair[film->partner ^ 1], screen, screen_bytes(camera));
}

void pp_film_take_last(pp_film *film, const pp_camera *camera, const uint8_t *screen, bool pools) {
  film->is_pair = pools;
  if (pools) {
    film->partner ^= 1;
    memcpy(film->own, screen, screen_bytes(camera));
  }
  const uint8_t *before = pools ? film->pair[film->partner] : NULL;
  pp_screen_frame(camera->screen, screen, before, draft(film, camera));
  push_draft(film, camera);
}

// The wrapper pools in place, so the picture of the step before is pooled once more.
void pp_film_cut(pp_film *film, const pp_camera *camera, bool has_first) {
  if (!has_first) {
    pp_stack_push_again(stack_of(film, camera));
    return;
  }
  const pp_screen *screen = camera->screen;
  const uint8_t *partner = film->is_pair ? film->pair[film->partner] : film->own;
  const uint8_t *first = film->pair[film->partner ^ 1];
  size_t plane_bytes = screen->frame_bytes / (size_t)screen->planes;
  uint8_t *planes = draft(film, camera);
  uint8_t picture[PP_SCREEN_BYTES];
  for (int plane = 0; plane < screen->planes; plane++) {
    const uint8_t *table = screen->table[plane];
    for (size_t i = 0; i < screen_bytes(camera); i++) {
      uint8_t value = table[film->own[i]];
      if (table[partner[i]] > value) value = table[partner[i]];
      picture[i] = table[first[i]] > value ? table[first[i]] : value;
    }
    pp_resize_apply(screen->resize, picture, NULL, planes + plane_bytes * (size_t)plane);
  }
  push_draft(film, camera);
}

// ---------------------------------------------------------------------------- showing them

void pp_film_show(pp_film *film, const pp_camera *camera, void *row) {
  if (!camera->scales) {
    pp_stack_copy(stack_of(film, camera), row);
    return;
  }
  const size_t all = camera->screen->frame_bytes * (size_t)camera->stack;
  const size_t newer = camera->screen->frame_bytes * (size_t)film->oldest;
  float *values = row;
  for (size_t i = newer; i < all; i++) *values++ = camera->scaled[film->frames[i]];
  for (size_t i = 0; i < newer; i++) *values++ = camera->scaled[film->frames[i]];
}
