/* Screen: turns the screens of a console into the frames of an observation.
 *
 * A screen holds one palette index per pixel, 160 in a row. A frame is the last screen, or pixel
 * by pixel the brighter of the last two, as a gray plane or as red, green and blue planes,
 * resized. */
#ifndef PP_ENVS_ATARI_PICTURE_SCREEN_H
#define PP_ENVS_ATARI_PICTURE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/resize.h"

enum {
  PP_SCREEN_WIDTH = 160,
  PP_SCREEN_MAX_ROWS = 256,
  PP_SCREEN_MAX_PLANES = 3,
};

/* What one option set makes of a screen; read-only after creation and shared by all threads. */
typedef struct pp_screen {
  pp_resize *resize;
  pp_isa isa;
  int rows;                                 /* rows of a screen that are used, from its top */
  bool odd;                                 /* odd palette indices differ from the even ones */
  int planes;                               /* 1: gray, 3: red, green, blue */
  size_t frame_bytes;                       /* planes x height x width of the observation */
  uint8_t table[PP_SCREEN_MAX_PLANES][256]; /* value of each palette index in each plane */
} pp_screen;

/* What to make of a screen. */
typedef struct pp_screen_options {
  const uint8_t (*palette)[3]; /* 256 colours; an odd index has what ALE shows for it */
  int rows;                    /* 1..PP_SCREEN_MAX_ROWS */
  int height;                  /* of a frame: 1..PP_RESIZE_MAX_SIDE */
  int width;
  bool gray;  /* luminance 0.2989 R + 0.5870 G + 0.1140 B of even indices */
  bool area;  /* INTER_AREA; otherwise INTER_LINEAR */
  pp_isa isa; /* lowered to what the machine has */
} pp_screen_options;

/* Returns NULL when a size is outside its range or memory is short. */
pp_screen *pp_screen_create(const pp_screen_options *options);

/* Frees it; NULL is allowed. */
void pp_screen_destroy(pp_screen *screen);

/* An earlier frame of the same screens, and what has changed in them since it was made. */
typedef struct pp_screen_past {
  const uint8_t *frame;
  /* one byte for each row; 0: it was the same in both screens then, and is now what it was */
  const uint8_t *changed;
} pp_screen_past;

/* Writes frame_bytes to `frame`. Of `last` and `before`, rows x 160 bytes are read; `before` is
 * the screen to pool with, or NULL. past: what spares the work for rows that have not changed, or
 * NULL; its frame may be `frame` itself. Allocates nothing. */
void pp_screen_frame(const pp_screen *screen, const uint8_t *last, const uint8_t *before,
                     const pp_screen_past *past, uint8_t *frame);

#endif
