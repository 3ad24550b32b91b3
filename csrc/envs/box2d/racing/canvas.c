/* A picture of 1000 x 800 pixels that is made to be shrunk to 96 x 96. */
#include "canvas.h"

#include <stddef.h>
#include <string.h>

#include "base/fail.h"

enum { ALPHA_ALL = 255, ROWS_LANES = CANVAS_CELL_HEIGHT * 4 };

/* the lowest byte of each lane */
#define BYTES 0x00ff00ff00ff00ffu

/* -------------------------------------------------------------------------------- the plan -- */

static int axis_init(canvas_axis *axis, int size, int bits, pp_error *error) {
  const int32_t one = 1 << bits;
  const int32_t space = (int32_t)((int64_t)one * size / CANVAS_CELLS);
  int32_t left = space; /* of the present cell, in fractions of a pixel */
  int cell = 0;

  axis->scale = (uint16_t)(((int64_t)1 << (16 + bits)) / space);
  for (int i = 0; i < size; i++) {
    // what rounding leaves at the end counts nowhere
    axis->cell[i] = (uint8_t)(cell < CANVAS_CELLS ? cell : CANVAS_CELLS - 1);
    if (left > one) {
      left -= one;
      continue;
    }
    int32_t last = left << (16 - bits), rest = (one - left) << (16 - bits);
    if (cell == CANVAS_CELLS || last > UINT16_MAX || rest > UINT16_MAX) {
      return pp_fail(error, PP_ERR_ARGUMENT, "a picture can't be shrunk with %d bits", bits);
    }
    axis->last[cell] = (uint16_t)last;
    axis->rest[cell] = (uint16_t)rest;
    axis->start[++cell] = (int16_t)(i + 1);
    left = space - (one - left);
  }
  if (cell == CANVAS_CELLS && axis->start[CANVAS_CELLS] == size) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "a picture can't be shrunk with %d bits", bits);
}

int canvas_plan_init(canvas_plan *plan, int bits, pp_error *error) {
  int status = axis_init(&plan->x, CANVAS_WIDTH, bits, error);
  if (status >= 0) status = axis_init(&plan->y, CANVAS_HEIGHT, bits, error);
  if (status < 0) return status;
  for (int i = 0; i < CANVAS_LANES; i++) {
    int cell = i / 4;
    plan->last[i] = plan->x.last[cell];
    plan->rest_before[i] = cell ? plan->x.rest[cell - 1] : 0;
    plan->inner[i] = (uint16_t)(plan->x.start[cell + 1] - plan->x.start[cell] - 1);
  }
  return PP_OK;
}

/* --------------------------------------------------------------------------------- drawing -- */

void canvas_clear(canvas *to) {
  memset(to->is_mixed, 0, sizeof(to->is_mixed));
  memset(to->colors, 0, sizeof(to->colors));
  to->bottom = CANVAS_HEIGHT;
  to->is_upside_down = false;
}

/* Returns the pixels of a cell, which from now on has several colors. */
static canvas_color *mix(canvas *to, int cell) {
  canvas_color *pixels = to->pixels[cell];
  if (!to->is_mixed[cell]) {
    canvas_color color = to->colors[cell];
    for (int i = 0; i < CANVAS_CELL_PIXELS; i++) pixels[i] = color;
    to->is_mixed[cell] = true;
  }
  return pixels;
}

/* fills a part of a row, not empty and inside the picture */
static void paint(canvas *to, int y, int low, int end, canvas_color color) {
  const canvas_axis *across = &to->plan->x, *down = &to->plan->y;
  const int row = down->cell[y], line = (y - down->start[row]) * CANVAS_CELL_WIDTH;

  for (int column = across->cell[low]; low < end; column++) {
    const int cell = row * CANVAS_CELLS + column, start = across->start[column];
    const int next = across->start[column + 1] < end ? across->start[column + 1] : end;
    if (to->is_mixed[cell] || to->colors[cell] != color) {
      canvas_color *pixels = mix(to, cell) + line - start;
      for (int x = low; x < next; x++) pixels[x] = color;
    }
    low = next;
  }
}

/* Fills rows of one row of cells. Cells that are covered are no longer mixed. */
static void fill_cells(canvas *to, int y, int count, const int *lows, const int *highs,
                       canvas_color color) {
  const canvas_axis *across = &to->plan->x, *down = &to->plan->y;
  const int row = down->cell[y];
  int low = 0, end = CANVAS_WIDTH; /* what is covered in all rows */

  for (int i = 0; i < count; i++) {
    if (lows[i] > low) low = lows[i];
    if (highs[i] + 1 < end) end = highs[i] + 1;
  }
  int from = CANVAS_WIDTH, to_x = CANVAS_WIDTH; /* what is filled as cells */
  if (count == down->start[row + 1] - down->start[row] && low < end) {
    int first = across->cell[low] + (across->start[across->cell[low]] < low);
    int last = end == CANVAS_WIDTH ? CANVAS_CELLS : across->cell[end];
    if (first < last) {
      from = across->start[first];
      to_x = across->start[last];
      for (int column = first; column < last; column++) {
        to->colors[row * CANVAS_CELLS + column] = color;
        to->is_mixed[row * CANVAS_CELLS + column] = false;
      }
    }
  }
  for (int i = 0; i < count; i++) {
    int start = lows[i] > 0 ? lows[i] : 0;
    int stop = highs[i] < CANVAS_WIDTH ? highs[i] + 1 : CANVAS_WIDTH;
    int middle = stop < from ? stop : from;
    if (start < middle) paint(to, y + i, start, middle, color);
    if (to_x < stop) paint(to, y + i, start > to_x ? start : to_x, stop, color);
  }
}

void canvas_fill(canvas *to, int y, int count, const int *lows, const int *highs,
                 canvas_color color) {
  int flipped_lows[CANVAS_CELL_HEIGHT], flipped_highs[CANVAS_CELL_HEIGHT];
  const canvas_axis *down = &to->plan->y;

  while (count) {
    // the rows that are in the same row of cells as the first one
    int top = to->is_upside_down ? CANVAS_HEIGHT - 1 - y : y, many = 1;
    if (top < 0 || top >= CANVAS_HEIGHT) {
      y++, lows++, highs++, count--;
      continue;
    }
    int row = down->cell[top];
    if (to->is_upside_down) {
      int most = top - down->start[row] + 1;
      many = count < most ? count : most;
      for (int i = 0; i < many; i++) {
        flipped_lows[many - 1 - i] = lows[i];
        flipped_highs[many - 1 - i] = highs[i];
      }
      if (top < to->bottom)
        fill_cells(to, top - many + 1, many, flipped_lows, flipped_highs, color);
    } else {
      int most = down->start[row + 1] - top;
      many = count < most ? count : most;
      fill_cells(to, top, many, lows, highs, color);
    }
    y += many, lows += many, highs += many, count -= many;
  }
}

/* Returns the number of a pixel's cell, and where in it the pixel is. */
static inline int locate(const canvas *to, int x, int y, int *offset) {
  const canvas_axis *across = &to->plan->x, *down = &to->plan->y;
  const int row = down->cell[y], column = across->cell[x];
  *offset = (y - down->start[row]) * CANVAS_CELL_WIDTH + (x - across->start[column]);
  return row * CANVAS_CELLS + column;
}

static inline bool is_outside(int x, int y) {
  return x < 0 || x >= CANVAS_WIDTH || y < 0 || y >= CANVAS_HEIGHT;
}

canvas_color *canvas_pixel(canvas *to, int x, int y) {
  int offset;
  if (to->is_upside_down) y = CANVAS_HEIGHT - 1 - y;
  if (is_outside(x, y)) return NULL;
  int cell = locate(to, x, y, &offset);
  return mix(to, cell) + offset;
}

void canvas_blend(canvas *to, int x, int y, canvas_color color, unsigned alpha) {
  int offset;
  if (to->is_upside_down) y = CANVAS_HEIGHT - 1 - y;
  if (is_outside(x, y) || y >= to->bottom || !alpha) return;
  const int cell = locate(to, x, y, &offset);
  if (!to->is_mixed[cell] && to->colors[cell] == color) return;
  canvas_color *pixel = mix(to, cell) + offset;
  // lanes stay below 65536: the weights add up to 256
  *pixel = alpha == ALPHA_ALL ? color : (*pixel * (256 - alpha) + color * alpha) >> 8 & BYTES;
}

/* ------------------------------------------------------------------------------- shrinking -- */

/* the upper half of a product */
static inline uint16_t times(uint16_t a, uint16_t b) {
  return (uint16_t)((uint32_t)a * b >> 16);
}

/* Averages the lines of a cell with several colors, or on the right of one. before is the last
 * pixel of each line of the cell on the left, and becomes that of this cell. Writes the sum of the
 * lines but the last, and the last. */
static void average_lines(const canvas *from, int cell, int lines, canvas_color *before,
                          uint16_t sum[4], uint16_t last_line[4]) {
  const canvas_plan *plan = from->plan;
  const int column = cell % CANVAS_CELLS, inner = plan->inner[4 * column];
  const uint16_t last = plan->last[4 * column], rest = plan->rest_before[4 * column];
  canvas_color sums[CANVAS_CELL_HEIGHT] = {0}, ends[CANVAS_CELL_HEIGHT] = {0};
  uint16_t left[ROWS_LANES], middle[ROWS_LANES], right[ROWS_LANES], averages[ROWS_LANES];

  for (int i = 0; i < lines; i++) {
    const canvas_color *pixels = from->pixels[cell] + i * CANVAS_CELL_WIDTH;
    if (from->is_mixed[cell]) {
      canvas_color total = 0;
      for (int x = 0; x < inner; x++) total += pixels[x];
      sums[i] = total;
      ends[i] = pixels[inner];
    } else {
      sums[i] = from->colors[cell] * (unsigned)inner;
      ends[i] = from->colors[cell];
    }
  }
  memcpy(left, before, sizeof(left));
  memcpy(middle, sums, sizeof(middle));
  memcpy(right, ends, sizeof(right));
  memcpy(before, ends, sizeof(ends));
  for (int i = 0; i < ROWS_LANES; i++) {
    averages[i] =
        times((uint16_t)(times(left[i], rest) + middle[i] + times(right[i], last)), plan->x.scale);
  }
  for (int lane = 0; lane < 4; lane++) {
    uint16_t total = 0;
    for (int i = 0; i < lines - 1; i++) total = (uint16_t)(total + averages[4 * i + lane]);
    sum[lane] = total;
    last_line[lane] = averages[4 * (lines - 1) + lane];
  }
}

/* one row of cells while it is shrunk, four lanes for each cell */
typedef struct shrunk_row {
  uint16_t color[4 + CANVAS_LANES]; /* the first four: left of the picture */
  uint16_t sum[CANVAS_LANES];       /* of all lines but the last */
  uint16_t last[CANVAS_LANES];      /* line */
} shrunk_row;

/* Averages the lines of all cells, as if each had one color. */
static void average_colors(const canvas_plan *plan, int lines, shrunk_row *row) {
  const uint16_t scale = plan->x.scale, others = (uint16_t)(lines - 1);
  for (int i = 0; i < CANVAS_LANES; i++) {
    uint16_t total = (uint16_t)(times(row->color[i], plan->rest_before[i]) +
                                (uint16_t)(row->color[4 + i] * plan->inner[i]) +
                                times(row->color[4 + i], plan->last[i]));
    row->last[i] = times(total, scale);
    row->sum[i] = (uint16_t)(row->last[i] * others);
  }
}

/* Averages the lines of cells that are mixed, and of their neighbors on the right. */
static void average_mixed(const canvas *from, int y, int lines, shrunk_row *row) {
  const int first = y * CANVAS_CELLS;
  canvas_color before[CANVAS_CELL_HEIGHT];

  for (int column = 0; column < CANVAS_CELLS; column++) {
    int cell = first + column;
    bool is_right_of_mixed = column && from->is_mixed[cell - 1];
    if (!from->is_mixed[cell] && !is_right_of_mixed) continue;
    if (!is_right_of_mixed) {
      canvas_color color = column ? from->colors[cell - 1] : 0;
      for (int i = 0; i < CANVAS_CELL_HEIGHT; i++) before[i] = color;
    }
    average_lines(from, cell, lines, before, row->sum + 4 * column, row->last + 4 * column);
  }
}

void canvas_shrink(const canvas *from, uint8_t *picture) {
  const canvas_plan *plan = from->plan;
  uint16_t carried[CANVAS_LANES] = {0}; /* what counts of the last line above */
  shrunk_row row = {0};

  for (int y = 0; y < CANVAS_CELLS; y++) {
    const int lines = plan->y.start[y + 1] - plan->y.start[y];
    const uint16_t last = plan->y.last[y], rest = plan->y.rest[y], scale = plan->y.scale;
    memcpy(row.color + 4, from->colors + y * CANVAS_CELLS, CANVAS_LANES * sizeof(uint16_t));
    average_colors(plan, lines, &row);
    average_mixed(from, y, lines, &row);
    for (int i = 0; i < CANVAS_LANES; i++) {
      uint16_t total = (uint16_t)(carried[i] + row.sum[i] + times(row.last[i], last));
      carried[i] = times(row.last[i], rest);
      row.sum[i] = times(total, scale);
    }
    for (int column = 0; column < CANVAS_CELLS; column++) {
      for (int lane = 0; lane < 3; lane++) *picture++ = (uint8_t)row.sum[4 * column + lane];
    }
  }
}
