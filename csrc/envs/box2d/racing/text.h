/* A number in white on black, as pygame's default font draws it. */
#ifndef PP_ENVS_BOX2D_RACING_TEXT_H
#define PP_ENVS_BOX2D_RACING_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "canvas.h"

enum {
  TEXT_CHARACTERS = 11, /* ten digits and a minus sign */
  TEXT_MOST_WIDTH = 32,
  TEXT_MOST_HEIGHT = 64
};

/* The font's characters. parallel_pool/_families/racing_kit.py writes it. */
typedef struct text_font {
  int32_t height;
  int32_t widths[TEXT_CHARACTERS];
  /* from the start of a character to the start of the next one, in 64ths of a pixel */
  int32_t advances[TEXT_CHARACTERS][TEXT_CHARACTERS];
  uint8_t pixels[TEXT_CHARACTERS][TEXT_MOST_HEIGHT][TEXT_MOST_WIDTH]; /* 255: white */
} text_font;

/* Returns whether a font's numbers are such that text_draw can use it. */
bool text_check(const text_font *font);

/* draws a number, rounded to an integer of at least four characters, around a point */
void text_draw(canvas *to, const text_font *font, double number, int x, int y);

#endif
