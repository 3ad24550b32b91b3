// film.c: pooling over the ends of episodes, the ring of pictures, and its layout for Python.
#include "film.h"

#include <string.h>

#include "resize.h"

static size_t screen_bytes(const pp_camera *camera) {
  return (size_t)camera->screen->rows * PP_SCREEN_WIDTH;
}

size_t pp_film_bytes(const pp_camera *camera) {
  return sizeof(pp_film) + camera->screen->frame_bytes * (size_t)camera->stack;
}

size_t pp_film_row_bytes(const pp_camera *camera) {
  size_t values = camera->screen->frame_bytes * (size_t)camera->stack;
  return camera->scales ? values * sizeof(float) : values;
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

// ---------------------------------------------------------------------------- taking pictures

void pp_film_start(pp_film *film, const pp_camera *camera, const uint8_t *screen) {
  size_t all = camera->screen->frame_bytes * (size_t)camera->stack;
  if (camera->pads_zero) memset(film->frames, 0, all);
  memcpy(film->own, screen, screen_bytes(camera));
  film->is_pair = 0;
  pp_screen_frame(camera->screen, screen, NULL, push(film, camera));
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
  pp_screen_frame(camera->screen, screen, before, push(film, camera));
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
  uint8_t *frame = push(film, camera);
  uint8_t picture[PP_SCREEN_BYTES];
  for (int plane = 0; plane < screen->planes; plane++) {
    const uint8_t *table = screen->table[plane];
    for (size_t i = 0; i < screen_bytes(camera); i++) {
      uint8_t value = table[film->own[i]];
      if (table[partner[i]] > value) value = table[partner[i]];
      picture[i] = table[first[i]] > value ? table[first[i]] : value;
    }
    pp_resize_apply(screen->resize, picture, NULL, frame + plane_bytes * (size_t)plane);
  }
}

// ---------------------------------------------------------------------------- showing them

// one frame with its planes side by side in each pixel, as bytes or as floats
static void show_frame(const pp_camera *camera, const uint8_t *frame, void *row) {
  const int planes = camera->screen->planes;
  const size_t pixels = camera->screen->frame_bytes / (size_t)planes;
  for (int plane = 0; plane < planes; plane++, frame += pixels) {
    float *values = (float *)row + plane;
    uint8_t *bytes = (uint8_t *)row + plane;
    for (size_t i = 0; camera->scales && i < pixels; i++) {
      values[i * (size_t)planes] = camera->scaled[frame[i]];
    }
    for (size_t i = 0; !camera->scales && i < pixels; i++) bytes[i * (size_t)planes] = frame[i];
  }
}

void pp_film_show(const pp_film *film, const pp_camera *camera, void *row) {
  const size_t step = pp_film_row_bytes(camera) / (size_t)camera->stack;
  for (int32_t i = 0; i < camera->stack; i++) {
    const uint8_t *frame = frame_at(film, camera, (film->oldest + i) % camera->stack);
    show_frame(camera, frame, (uint8_t *)row + step * (size_t)i);
  }
}
