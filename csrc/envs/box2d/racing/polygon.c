/* Polygons as pygame draws them: on a canvas, with the same pixels. */
#include "polygon.h"

#include <math.h>
#include <stdbool.h>

/* ---------------------------------------------------------------------------------- filling -- */

/* One side of a polygon that is not horizontal, from its upper to its lower end. */
typedef struct side {
  int32_t x, y;          /* of its upper end */
  int32_t width, height; /* to its lower one; the height is positive */
} side;

/* the sides of a polygon in order, and the rows that it has */
typedef struct outline {
  int32_t count;
  side sides[POLYGON_MOST];
  int32_t top, bottom;
} outline;

/* The rows of a fill that the canvas has not received yet: count of them, from y on. It gets as
 * many as possible at once, because whole cells are faster than their rows. */
typedef struct rows {
  canvas *to;
  canvas_color color;
  int32_t y, count;
  int lows[CANVAS_HEIGHT], highs[CANVAS_HEIGHT];
} rows;

static void rows_init(rows *filled, canvas *to, canvas_color color) {
  // the rows have no values yet
  filled->to = to;
  filled->color = color;
  filled->count = 0;
}

static void rows_flush(rows *filled) {
  if (filled->count) {
    canvas_fill(filled->to, filled->y, filled->count, filled->lows, filled->highs, filled->color);
  }
  filled->y += filled->count;
  filled->count = 0;
}

static outline trace(const polygon *shape) {
  outline line = {.top = INT32_MAX, .bottom = INT32_MIN};

  for (int32_t i = 0; i < shape->count; i++) {
    int32_t before = i ? i - 1 : shape->count - 1;
    int32_t from = shape->y[before] < shape->y[i] ? before : i, to = before + i - from;
    int32_t height = shape->y[to] - shape->y[from];
    if (shape->y[i] < line.top) line.top = shape->y[i];
    if (shape->y[i] > line.bottom) line.bottom = shape->y[i];
    if (height) {
      line.sides[line.count++] =
          (side){shape->x[from], shape->y[from], shape->x[to] - shape->x[from], height};
    }
  }
  return line;
}

/* A side crosses the rows from its upper end to its lower one, without that; the lowest row of a
 * polygon belongs to it, too. */
static inline bool crosses(const side *it, int32_t y, int32_t bottom) {
  int32_t end = it->y + it->height;
  return it->y <= y && (y < end || (y == bottom && y == end));
}

static void sort(int32_t *numbers, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    int32_t moved = numbers[i], at = i;
    for (; at && numbers[at - 1] > moved; at--) numbers[at] = numbers[at - 1];
    numbers[at] = moved;
  }
}

/* The rows of an outline that the canvas has. */
static void clip_rows(const outline *line, int32_t *first, int32_t *last) {
  *first = line->top > 0 ? line->top : 0;
  *last = line->bottom < CANVAS_HEIGHT ? line->bottom : CANVAS_HEIGHT - 1;
}

/* Adds the stretches between pairs of crossings, which are in order, as the row after the last. */
static void add_row(rows *filled, const int32_t *lows, const int32_t *highs, int32_t count) {
  if (count == 1) {
    filled->lows[filled->count] = lows[0];
    filled->highs[filled->count++] = highs[0];
    return;
  }
  rows_flush(filled);
  for (int32_t i = 0; i < count; i++) {
    canvas_fill_row(filled->to, filled->y, lows[i], highs[i], filled->color);
  }
  filled->y++;
}

static inline int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static inline int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* Writes the stretches of a row that are inside of an outline, in order; returns how many. */
typedef int32_t (*find_stretches)(const outline *line, int32_t y, int32_t *lows, int32_t *highs);

/* Fills an outline. It is compiled once for each of the two ways to find stretches. */
static inline __attribute__((always_inline)) void fill(canvas *to, const outline *line,
                                                       canvas_color color, find_stretches find) {
  rows filled;
  int32_t last;

  rows_init(&filled, to, color);
  clip_rows(line, &filled.y, &last);
  for (int32_t y = filled.y; y <= last; y++) {
    int32_t lows[POLYGON_MOST / 2], highs[POLYGON_MOST / 2];
    add_row(&filled, lows, highs, find(line, y, lows, highs));
  }
  rows_flush(&filled);
}

/* Crossings are rounded away from the inside, if each pair of sides has the left one first. */
static inline int32_t find_plain(const outline *line, int32_t y, int32_t *lows, int32_t *highs) {
  int32_t found[POLYGON_MOST], count = 0;
  for (int32_t i = 0; i < line->count; i++) {
    const side *it = &line->sides[i];
    if (!crosses(it, y, line->bottom)) continue;
    float away = (float)((y - it->y) * it->width) / (float)it->height;
    found[count] = (int32_t)(count % 2 ? ceilf(away) : floorf(away)) + it->x;
    count++;
  }
  sort(found, count);
  for (int32_t i = 0; i < count / 2; i++) lows[i] = found[2 * i], highs[i] = found[2 * i + 1];
  return count / 2;
}

void polygon_draw(canvas *to, const polygon *shape, canvas_color color) {
  const outline line = trace(shape);

  if (line.top == line.bottom) {
    int32_t low = shape->x[0], high = shape->x[0];
    for (int32_t i = 1; i < shape->count; i++) {
      low = smaller(low, shape->x[i]);
      high = larger(high, shape->x[i]);
    }
    canvas_fill_row(to, line.top, low, high, color);
    return;
  }
  fill(to, &line, color, find_plain);
  // horizontal sides, which no row crosses
  for (int32_t i = 0; i < shape->count; i++) {
    int32_t before = i ? i - 1 : shape->count - 1, y = shape->y[i];
    if (shape->y[before] != y || y == line.top || y == line.bottom) continue;
    canvas_fill_row(to, y, smaller(shape->x[before], shape->x[i]),
                    larger(shape->x[before], shape->x[i]), color);
  }
}

/* ------------------------------------------------------------------------- smooth polygons -- */

/* a whole number of pixels in the units of crossings */
#define UNIT 65536

/* Rounds a number of units to pixels, halves upwards. */
static inline int32_t round_units(int32_t units) {
  return (units >> 16) + (units >> 15 & 1);
}

static inline int32_t find_smooth(const outline *line, int32_t y, int32_t *lows, int32_t *highs) {
  int32_t found[POLYGON_MOST], count = 0;
  for (int32_t i = 0; i < line->count; i++) {
    const side *it = &line->sides[i];
    if (!crosses(it, y, line->bottom)) continue;
    found[count++] = UNIT * (y - it->y) / it->height * it->width + UNIT * it->x;
  }
  sort(found, count);
  for (int32_t i = 0; i < count / 2; i++) {
    int32_t low = round_units(found[2 * i] + 1), high = round_units(found[2 * i + 1] - 1);
    lows[i] = smaller(low, high);
    highs[i] = larger(low, high);
  }
  return count / 2;
}

/* the sides of the picture beyond which a point is */
enum { BEYOND_LEFT = 1, BEYOND_RIGHT = 2, BEYOND_BOTTOM = 4, BEYOND_TOP = 8 };

static int beyond(int32_t x, int32_t y) {
  int sides = x < 0 ? BEYOND_LEFT : x >= CANVAS_WIDTH ? BEYOND_RIGHT : 0;
  return sides | (y < 0 ? BEYOND_TOP : y >= CANVAS_HEIGHT ? BEYOND_BOTTOM : 0);
}

typedef struct line {
  int32_t x0, y0, x1, y1;
} line;

/* Cuts off what is outside of the picture; the ends may change places. Returns whether anything is
 * left. An end moves to the border along the slope in float32, and steps towards 0. */
static bool clip(line *it) {
  for (;;) {
    int first = beyond(it->x0, it->y0), second = beyond(it->x1, it->y1);
    if (!(first | second)) return true;
    if (first & second) return false;
    if (!first) {
      *it = (line){it->x1, it->y1, it->x0, it->y0};
      first = second;
    }
    const int32_t dx = it->x1 - it->x0;
    const float slope = dx ? (float)(it->y1 - it->y0) / (float)dx : 1.0f;
    if (first & (BEYOND_LEFT | BEYOND_RIGHT)) {
      int32_t border = first & BEYOND_LEFT ? 0 : CANVAS_WIDTH - 1;
      it->y0 += (int32_t)((float)(border - it->x0) * slope);
      it->x0 = border;
    } else {
      int32_t border = first & BEYOND_TOP ? 0 : CANVAS_HEIGHT - 1;
      if (dx) it->x0 += (int32_t)((float)(border - it->y0) / slope);
      it->y0 = border;
    }
  }
}

/* Draws a line with smooth edges, without its last pixel: X. Wu, "An efficient antialiasing
 * technique" (SIGGRAPH 1991), with a fraction of 32 bits, of which the upper eight are the weight
 * of the second of two neighbors. */
static void draw_line(canvas *to, line it, canvas_color color) {
  if (!clip(&it)) return;
  const int32_t first_x = it.x0, first_y = it.y0;
  if (it.y0 > it.y1) it = (line){it.x1, it.y1, it.x0, it.y0};
  const int32_t direction = it.x1 < it.x0 ? -1 : 1;
  const int32_t width = (it.x1 - it.x0) * direction, height = it.y1 - it.y0;
  const bool is_steep = height > width;

  if (!width || !height) {
    int32_t low = smaller(it.x0, it.x1), high = larger(it.x0, it.x1);
    for (int32_t y = it.y0; y <= it.y1; y++) canvas_fill_row(to, y, low, high, color);
    return;
  }
  const int32_t longer = is_steep ? height : width, shorter = is_steep ? width : height;
  const uint32_t step = (uint32_t)((shorter << 16) / longer) << 16;
  uint32_t fraction = 0;
  int32_t x = it.x0, y = it.y0;

  canvas_blend(to, first_x, first_y, color, 255);
  for (int32_t i = 1; i < longer; i++) {
    fraction += step;
    // true also if the step is 1, of which no fraction is left
    bool wraps = fraction <= fraction - step;
    x += is_steep ? direction * wraps : direction;
    y += is_steep ? 1 : wraps;
    unsigned weight = fraction >> 24;
    canvas_blend(to, x, y, color, 255 * (255 - weight) >> 8);
    canvas_blend(to, is_steep ? x + direction : x, is_steep ? y : y + 1, color, 255 * weight >> 8);
  }
}

void polygon_draw_smooth(canvas *to, const polygon *shape, canvas_color color) {
  const outline line_of_shape = trace(shape);

  for (int32_t i = 0; i < shape->count; i++) {
    int32_t next = i + 1 < shape->count ? i + 1 : 0;
    draw_line(to, (line){shape->x[i], shape->y[i], shape->x[next], shape->y[next]}, color);
  }
  fill(to, &line_of_shape, color, find_smooth);
}
