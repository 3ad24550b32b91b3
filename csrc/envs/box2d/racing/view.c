/* The picture that a driver of CarRacing sees: road, car, and indicators below.
 *
 * Coordinates are computed in float64, as in Python, and cut off to whole pixels. */
#include "view.h"

#include <math.h>
#include <string.h>

#include "base/sincos.h"

#define PI 3.141592653589793
#define HALF_PI 1.5707963267948966

#define ZOOM 2.7
#define GRASS (RACING_PLAYFIELD / 20.0) /* of one side of a patch */
/* how far outside of the picture a polygon with a corner in it must be */
#define MARGIN (GRASS * 1.4142135623730951 * ZOOM * RACING_SCALE)
/* Vector2.epsilon of pygame */
#define EPSILON 1e-6

enum {
  CENTER_X = CANVAS_WIDTH / 2,
  CENTER_Y = CANVAS_HEIGHT / 4,
  PATCHES = 20, /* of grass, in each half of a direction every other one */
  UNIT_X = CANVAS_WIDTH / 40,
  UNIT_Y = CANVAS_HEIGHT / 40,
  PANEL = 5 * UNIT_Y, /* height of the indicators' part */
  SCORE_X = 60,
  SCORE_Y = CANVAS_HEIGHT - PANEL / 2
};

/* from meters to pixels */
typedef struct camera {
  double sine, cosine;
  double zoom;
  double x, y; /* where the origin is */
} camera;

/* ---------------------------------------------------------------------------------- camera -- */

/* Sine and cosine as pygame's Vector2.rotate_rad has them: exact if close to a right angle. */
static void turn(double angle, double *sine, double *cosine) {
  angle = fmod(angle, 2 * PI);
  if (angle < 0) angle += 2 * PI;
  if (fmod(angle + EPSILON, HALF_PI) < 2 * EPSILON) {
    static const double sines[] = {0, 1, 0, -1};
    int quarters = (int)((angle + EPSILON) / HALF_PI);
    *sine = sines[quarters % 4];
    *cosine = sines[(quarters + 1) % 4];
  } else {
    pp_sincos(angle, sine, cosine);
  }
}

static camera aim(const view_scene *scene) {
  void *hull = scene->driver->hull;
  const box2d_vector *at = box2d_pair(hull, scene->library->position);
  const double t = scene->seconds;
  camera it;

  it.zoom = 0.1 * RACING_SCALE * fmax(1 - t, 0) + ZOOM * RACING_SCALE * fmin(t, 1);
  turn(-(double)*box2d_number(hull, scene->library->angle), &it.sine, &it.cosine);
  double x = -(double)at->x * it.zoom, y = -(double)at->y * it.zoom;
  it.x = CENTER_X + (it.cosine * x - it.sine * y);
  it.y = CENTER_Y + (it.sine * x + it.cosine * y);
  return it;
}

static inline void see(const camera *it, double x, double y, double seen[2]) {
  seen[0] = (it->cosine * x - it->sine * y) * it->zoom + it->x;
  seen[1] = (it->sine * x + it->cosine * y) * it->zoom + it->y;
}

/* ------------------------------------------------------------------------------------- road -- */

static canvas_color color_of(const double rgb[3]) {
  return canvas_rgb((unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
}

/* draws a quadrilateral, unless all of its corners are far outside */
static void draw_ground(canvas *to, const camera *from, const double corners[4][2],
                        canvas_color color, bool is_far_visible) {
  polygon shape = {.count = 4};
  bool is_visible = is_far_visible;

  for (int i = 0; i < 4; i++) {
    double seen[2];
    see(from, corners[i][0], corners[i][1], seen);
    is_visible |= -MARGIN <= seen[0] && seen[0] <= CANVAS_WIDTH + MARGIN && -MARGIN <= seen[1] &&
                  seen[1] <= CANVAS_HEIGHT + MARGIN;
    shape.x[i] = (int32_t)seen[0];
    shape.y[i] = (int32_t)seen[1];
  }
  if (is_visible) polygon_draw_smooth(to, &shape, color);
}

static void draw_field(canvas *to, const camera *from, const view_colors *colors) {
  const double end = RACING_PLAYFIELD;
  const track_corners field = {{end, end}, {end, -end}, {-end, -end}, {-end, end}};
  const canvas_color grass = color_of(colors->grass);

  draw_ground(to, from, field, color_of(colors->background), true);
  for (int x = -PATCHES; x < PATCHES; x += 2) {
    for (int y = -PATCHES; y < PATCHES; y += 2) {
      const double left = GRASS * x + 0, right = GRASS * x + GRASS;
      const double low = GRASS * y + 0, high = GRASS * y + GRASS;
      const track_corners patch = {{right, low}, {left, low}, {left, high}, {right, high}};
      draw_ground(to, from, patch, grass, false);
    }
  }
}

/* the color of a tile: neighbors have different shades until something was on them */
static canvas_color tile_color(const track_tile *tile, int32_t i, const double road[3]) {
  double shade = tile->is_plain ? 0 : 0.01 * (i % 3) * 255;
  const double rgb[3] = {road[0] + shade, road[1] + shade, road[2] + shade};
  return color_of(rgb);
}

static void draw_road(canvas *to, const camera *from, const view_scene *scene) {
  const canvas_color white = canvas_rgb(255, 255, 255), red = canvas_rgb(255, 0, 0);

  for (int32_t i = 0; i < scene->road->count; i++) {
    const track_tile *tile = &scene->road->tiles[i];
    draw_ground(to, from, tile->corners, tile_color(tile, i, scene->colors->road), false);
    if (tile->has_border) draw_ground(to, from, tile->border, i % 2 ? red : white, false);
  }
}

/* ------------------------------------------------------------------------------------- car -- */

/* draws a polygon that moves with a body */
static void draw_part(canvas *to, const camera *from, const view_scene *scene, void *body,
                      const view_part *part, canvas_color color) {
  const box2d_vector *at = box2d_pair(body, scene->library->position);
  const float *rotation = box2d_number(body, scene->library->rotation);
  polygon shape = {.count = part->count};

  for (int i = 0; i < part->count; i++) {
    const float x = part->corners[i][0], y = part->corners[i][1];
    double seen[2];
    see(from, (double)((rotation[1] * x - rotation[0] * y) + at->x),
        (double)((rotation[0] * x + rotation[1] * y) + at->y), seen);
    shape.x[i] = (int32_t)seen[0];
    shape.y[i] = (int32_t)seen[1];
  }
  polygon_draw(to, &shape, color);
}

static double sign(double number) {
  return number > 0 ? 1 : number < 0 ? -1 : 0;
}

/* draws the lighter part of a wheel, which shows that it rolls */
static void draw_mark(canvas *to, const camera *from, const view_scene *scene,
                      const car_wheel *wheel) {
  double first_sine, first, second_sine, second;

  pp_sincos(wheel->phase, &first_sine, &first);
  pp_sincos(wheel->phase + 1.2, &second_sine, &second);
  if (first_sine > 0 && second_sine > 0) return;
  if (first_sine > 0) first = sign(first);
  if (second_sine > 0) second = sign(second);
  const float left = (float)(-CAR_WHEEL_WIDTH * CAR_SIZE), right = -left;
  const float upper = (float)(CAR_WHEEL_RADIUS * first * CAR_SIZE);
  const float lower = (float)(CAR_WHEEL_RADIUS * second * CAR_SIZE);
  const view_part mark = {4, {{left, upper}, {right, upper}, {right, lower}, {left, lower}}};
  draw_part(to, from, scene, wheel->body, &mark, canvas_rgb(77, 77, 77));
}

static void draw_car(canvas *to, const camera *from, const view_scene *scene) {
  const view_part *parts = scene->kit->parts;

  for (int i = 0; i < CAR_WHEELS; i++) {
    const car_wheel *wheel = &scene->driver->wheels[i];
    draw_part(to, from, scene, wheel->body, &parts[BOX2D_CAR_PARTS], 0);
    draw_mark(to, from, scene, wheel);
  }
  // all have the same color, so their order does not matter
  for (int i = 0; i < BOX2D_CAR_PARTS; i++) {
    draw_part(to, from, scene, scene->driver->hull, &parts[i], canvas_rgb(204, 0, 0));
  }
}

/* ------------------------------------------------------------------------------- indicators -- */

static void draw_bar(canvas *to, const double corners[4][2], double value, canvas_color color) {
  polygon shape = {.count = 4};
  if (!(fabs(value) > 1e-4)) return;
  for (int i = 0; i < 4; i++) {
    shape.x[i] = (int32_t)corners[i][0];
    shape.y[i] = (int32_t)corners[i][1];
  }
  polygon_draw(to, &shape, color);
}

static void draw_upright(canvas *to, int place, double factor, double value, canvas_color color) {
  const double top = CANVAS_HEIGHT - (UNIT_Y + UNIT_Y * (factor * value));
  const double low = CANVAS_HEIGHT - UNIT_Y, left = place * UNIT_X, right = (place + 1) * UNIT_X;
  const double corners[4][2] = {{left, top}, {right, top}, {right, low}, {left, low}};
  draw_bar(to, corners, value, color);
}

static void draw_sideways(canvas *to, int place, double factor, double value, canvas_color color) {
  const double top = CANVAS_HEIGHT - 4 * UNIT_Y, low = CANVAS_HEIGHT - 2 * UNIT_Y;
  const double left = place * UNIT_X, right = (place + factor * value) * UNIT_X;
  const double corners[4][2] = {{left, top}, {right, top}, {right, low}, {left, low}};
  draw_bar(to, corners, value, color);
}

static void draw_panel(canvas *to, const view_scene *scene) {
  const box2d_library *library = scene->library;
  const car *it = scene->driver;
  const box2d_vector *velocity = box2d_pair(it->hull, library->velocity);
  const double x = (double)velocity->x, y = (double)velocity->y;
  const canvas_color blue = canvas_rgb(0, 0, 255), violet = canvas_rgb(51, 0, 255);

  for (int row = CANVAS_HEIGHT - PANEL; row < CANVAS_HEIGHT; row++) {
    canvas_fill_row(to, row, 0, CANVAS_WIDTH - 1, 0);
  }
  draw_upright(to, 5, 0.02, sqrt(x * x + y * y), canvas_rgb(255, 255, 255));
  for (int i = 0; i < CAR_WHEELS; i++) {
    draw_upright(to, 7 + i, 0.01, it->wheels[i].omega, i < 2 ? blue : violet);
  }
  draw_sideways(to, 20, -10.0, (double)library->joint_angle(it->wheels[0].joint),
                canvas_rgb(0, 255, 0));
  draw_sideways(to, 30, -0.8, (double)*box2d_number(it->hull, library->angular_velocity),
                canvas_rgb(255, 0, 0));
  text_draw(to, &scene->kit->font, scene->score, SCORE_X, SCORE_Y);
}

void view_draw(const view_scene *scene, canvas *to) {
  const camera from = aim(scene);

  canvas_clear(to);
  // what is below the panel would not be seen
  to->is_upside_down = true;
  to->bottom = CANVAS_HEIGHT - PANEL;
  draw_field(to, &from, scene->colors);
  draw_road(to, &from, scene);
  draw_car(to, &from, scene);
  to->is_upside_down = false;
  to->bottom = CANVAS_HEIGHT;
  draw_panel(to, scene);
}
