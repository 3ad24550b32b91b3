/* Polygons as pygame draws them: on a canvas, with the same pixels.
 *
 * All coordinates are whole pixels. They may be outside of the picture. */
#ifndef PP_ENVS_BOX2D_RACING_POLYGON_H
#define PP_ENVS_BOX2D_RACING_POLYGON_H

#include <stdint.h>

#include "canvas.h"

enum { POLYGON_MOST = 8 /* corners */ };

/* the corners of a polygon in order */
typedef struct polygon {
  int32_t count;
  int32_t x[POLYGON_MOST];
  int32_t y[POLYGON_MOST];
} polygon;

/* pygame.draw.polygon, of more than three corners */
void polygon_draw(canvas *to, const polygon *shape, canvas_color color);

/* pygame.gfxdraw's aapolygon, and then its filled_polygon. Coordinates have 16 bits. */
void polygon_draw_smooth(canvas *to, const polygon *shape, canvas_color color);

#endif
