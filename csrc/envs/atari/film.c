// film.c: pooling over the ends of episodes, the ring of pictures, and its layout for Python.
#include "film.h"

#include <string.h>

#include "resize.h"

static size_t screen_bytes(const pp_camera *camera) {
  return (size_t)camera->screen->rows * PP_SCREEN_WIDTH;
}

// colours need one more frame, to make the others in
size_t pp_film_bytes(const pp_camera *camera) {
  size_t frames = (size_t)camera->stack + (camera->screen->planes > 1);
  return sizeof(pp_film) + camera->screen->frame_bytes * frames;
}

// ---------------------------------------------------------------------------- the ring

static const uint8_t *frame_at(const pp_film *film, const pp_camera *camera, int32_t i) {
  return film->frames + camera->screen->frame_bytes * (size_t)i;
}

static const uint8_t *newest(const pp_film *film, const pp_camera *camera) {
  return frame_at(film, camera, (film->oldest + camera->stack - 1) % camera->stack);
}

// the frame to write, in the place of the oldest
static uint8_t *push(pp_film *film, const pp_camera *camera) {
  uint8_t *frame = film->frames + camera->screen->frame_bytes * (size_t)film->oldest;
  film->oldest = (film->oldest + 1) % camera->stack;
  return frame;
}

static void push_again(pp_film *film, const pp_camera *camera) {
  const uint8_t *last = newest(film, camera);
  uint8_t *frame = push(film, camera);
  if (frame != last) memcpy(frame, last, camera->screen->frame_bytes);
}

// where to make a frame, plane by plane, before it is added
static uint8_t *draft(pp_film *film, const pp_camera *camera) {
  int32_t i = camera->screen->planes > 1 ? camera->stack : film->oldest;
  return film->frames + camera->screen->frame_bytes * (size_t)i;
}

// adds the draft, with red, green and blue of each pixel side by side
static void push_draft(pp_film *film, const pp_camera *camera) {
  uint8_t *frame = push(film, camera);
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
  for (int32_t i = 1; !camera->pads_zero && i < camera->stack; i++) push_again(film, camera);
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
    push_again(film, camera);
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

void pp_film_show(const pp_film *film, const pp_camera *camera, void *row) {
  const size_t all = camera->screen->frame_bytes * (size_t)camera->stack;
  const size_t newer = camera->screen->frame_bytes * (size_t)film->oldest;
  const uint8_t *oldest = film->frames + newer;
  if (!camera->scales) {
    memcpy(row, oldest, all - newer);
    memcpy((uint8_t *)row + (all - newer), film->frames, newer);
    return;
  }
  float *values = row;
  for (size_t i = 0; i < all - newer; i++) *values++ = camera->scaled[oldest[i]];
  for (size_t i = 0; i < newer; i++) *values++ = camera->scaled[film->frames[i]];
}
