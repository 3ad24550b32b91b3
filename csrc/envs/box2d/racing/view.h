/* The picture that a driver of CarRacing sees: road, car, and indicators below. */
#ifndef PP_ENVS_BOX2D_RACING_VIEW_H
#define PP_ENVS_BOX2D_RACING_VIEW_H

#include "canvas.h"
#include "car.h"
#include "polygon.h"
#include "text.h"
#include "track.h"

enum { VIEW_CAR_PARTS = BOX2D_CAR_PARTS + 1 /* those of the hull, and a wheel */ };

/* the corners of a part of the car, in the order in which Box2D has them */
typedef struct view_part {
  int32_t count;
  float corners[POLYGON_MOST][2];
} view_part;

/* What the pictures of a pool need of pygame. parallel_pool/_families/racing_kit.py writes it. */
typedef struct view_kit {
  int32_t bits; /* of canvas_plan_init */
  view_part parts[VIEW_CAR_PARTS];
  text_font font;
} view_kit;

/* colors of an episode, red, green and blue from 0 to 255 */
typedef struct view_colors {
  double road[3];
  double background[3];
  double grass[3];
} view_colors;

/* what a picture shows */
typedef struct view_scene {
  const box2d_library *library;
  const view_kit *kit;
  const car *driver;
  const track *road;
  const view_colors *colors;
  double seconds; /* since the episode began */
  double score;
} view_scene;

/* draws a scene on a canvas, whose plan is given */
void view_draw(const view_scene *scene, canvas *to);

#endif
