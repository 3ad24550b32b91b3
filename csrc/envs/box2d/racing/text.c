/* A number in white on black, as pygame's default font draws it. */
#include "text.h"

#include <stddef.h>
#include <stdio.h>

enum {
  MOST_CHARACTERS = 330, /* of a float64 */
  UNITS = 64             /* of a pixel */
};

static int character_of(char letter) {
  return letter == '-' ? TEXT_CHARACTERS - 1 : letter - '0';
}

bool text_check(const text_font *font) {
  bool is_good = 0 < font->height && font->height <= TEXT_MOST_HEIGHT;
  for (int i = 0; i < TEXT_CHARACTERS; i++) {
    is_good &= 0 < font->widths[i] && font->widths[i] <= TEXT_MOST_WIDTH;
    for (int j = 0; j < TEXT_CHARACTERS; j++) {
      is_good &= 0 <= font->advances[i][j] && font->advances[i][j] <= UNITS * TEXT_MOST_WIDTH;
    }
  }
  return is_good;
}

/* draws one character; where two overlap, the lighter pixel counts */
static void draw_character(canvas *to, const text_font *font, int character, int left, int top) {
  for (int y = 0; y < font->height; y++) {
    for (int x = 0; x < font->widths[character]; x++) {
      unsigned gray = font->pixels[character][y][x];
      canvas_color *pixel = gray ? canvas_pixel(to, left + x, top + y) : NULL;
      if (pixel && gray > (uint8_t)*pixel) *pixel = canvas_rgb(gray, gray, gray);
    }
  }
}

void text_draw(canvas *to, const text_font *font, double number, int x, int y) {
  char text[MOST_CHARACTERS];
  int at = 0; /* in 64ths of a pixel */

  snprintf(text, sizeof(text), "%04.0f", number);
  int last = character_of(text[0]);
  for (const char *next = text + 1; *next; next++) {
    at += font->advances[last][character_of(*next)];
    last = character_of(*next);
  }
  const int width = at / UNITS + font->widths[last];
  const int left = x - width / 2, top = y - font->height / 2;
  for (int row = 0; row < font->height; row++) {
    canvas_fill_row(to, top + row, left, left + width - 1, 0);
  }
  at = 0;
  for (const char *next = text; *next; next++) {
    int character = character_of(*next);
    if (next > text) at += font->advances[last][character];
    draw_character(to, font, character, left + at / UNITS, top);
    last = character;
  }
}
