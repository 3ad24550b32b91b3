/* A picture of 1000 x 800 pixels that is made to be shrunk to 96 x 96.
 *
 * It consists of cells, one for each pixel of the small picture. Most cells have one color, and
 * only the others need memory for their pixels. So the time to draw depends on the length of
 * borders between colors, and not on areas.
 *
 * Shrinking equals pygame's transform.smoothscale, which averages over first columns and then rows,
 * in integers, with a fraction of each pixel at the border of two cells in both of them. */
#ifndef PP_ENVS_BOX2D_RACING_CANVAS_H
#define PP_ENVS_BOX2D_RACING_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "pp_env.h"

enum {
  CANVAS_WIDTH = 1000,
  CANVAS_HEIGHT = 800,
  CANVAS_CELLS = 96,      /* in each direction */
  CANVAS_CELL_WIDTH = 11, /* at most */
  CANVAS_CELL_HEIGHT = 9, /* at most */
  CANVAS_CELL_PIXELS = CANVAS_CELL_WIDTH * CANVAS_CELL_HEIGHT,
  CANVAS_SIZE = CANVAS_CELLS * CANVAS_CELLS * 3, /* bytes of the small picture */
  CANVAS_LANES = CANVAS_CELLS * 4
};

/* a color: red, green and blue in the lowest bytes of 16-bit lanes, so that lanes can be added */
typedef uint64_t canvas_color;

/* How the pixels of one direction belong to cells. Fractions are 65536ths. */
typedef struct canvas_axis {
  uint8_t cell[CANVAS_WIDTH];
  int16_t start[CANVAS_CELLS + 1]; /* of each cell */
  uint16_t last[CANVAS_CELLS];     /* how much of a cell's last pixel counts in it */
  uint16_t rest[CANVAS_CELLS];     /* and in the next cell */
  uint16_t scale;                  /* from sums to averages */
} canvas_axis;

/* what all canvases share */
typedef struct canvas_plan {
  canvas_axis x, y;
  /* of x, for each lane of a row of cells: the fractions, and one less than the cell's width */
  uint16_t last[CANVAS_LANES];
  uint16_t rest_before[CANVAS_LANES]; /* of the cell on the left */
  uint16_t inner[CANVAS_LANES];
} canvas_plan;

typedef struct canvas {
  const canvas_plan *plan;
  int32_t bottom;      /* drawing leaves the rows from here on as they are */
  bool is_upside_down; /* y counts from the last row upwards */
  bool is_mixed[CANVAS_CELLS * CANVAS_CELLS];
  canvas_color colors[CANVAS_CELLS * CANVAS_CELLS];                     /* of cells not mixed */
  canvas_color pixels[CANVAS_CELLS * CANVAS_CELLS][CANVAS_CELL_PIXELS]; /* of mixed ones */
} canvas;

/* Computes the plan for one of smoothscale's backends, which count fractions of a pixel in 2^bits:
 * 16 for the one without vector instructions, 14 for the others. */
int canvas_plan_init(canvas_plan *plan, int bits, pp_error *error);

/* makes all pixels black, and lets drawing reach all of them */
void canvas_clear(canvas *to);

/* Fills rows y .. y + count - 1 from lows[i] to highs[i], both included, in row y + i. Ends may be
 * outside. */
void canvas_fill(canvas *to, int y, int count, const int *lows, const int *highs,
                 canvas_color color);

/* fills one row from low to high, both included */
static inline void canvas_fill_row(canvas *to, int y, int low, int high, canvas_color color) {
  canvas_fill(to, y, 1, &low, &high, color);
}

/* Mixes a color into a pixel, which may be outside: alpha is 0 .. 255 in 256ths, and 255 stands for
 * all of it. */
void canvas_blend(canvas *to, int x, int y, canvas_color color, unsigned alpha);

/* Returns a pixel inside the picture for reading and writing; null: it is outside. */
canvas_color *canvas_pixel(canvas *to, int x, int y);

/* writes the small picture, RGB bytes of 96 rows */
void canvas_shrink(const canvas *from, uint8_t *picture);

static inline canvas_color canvas_rgb(unsigned red, unsigned green, unsigned blue) {
  return (canvas_color)red | (canvas_color)green << 16 | (canvas_color)blue << 32;
}

#endif
