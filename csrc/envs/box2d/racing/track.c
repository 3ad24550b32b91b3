/* The track of CarRacing: a closed road of tiles, and borders in sharp bends. */
#include "track.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/random.h"

#define PI 3.141592653589793

#define RADIUS (900 / RACING_SCALE)
#define STEP (21 / RACING_SCALE) /* from point to point */
#define TURN_RATE 0.31
#define WIDTH (40 / RACING_SCALE) /* of one half of the road */
#define BORDER (8 / RACING_SCALE)

enum {
  CHECKPOINTS = 12,
  BEND = 4, /* points that turn sharply, all to one side, have a border */
  MOST_LAPS = 4,
  FIRST_ROOM = 512
};

/* one point of the middle of the road */
typedef struct point {
  double alpha; /* direction from the center */
  double beta;  /* direction across the road */
  double x, y;
} point;

typedef struct checkpoint {
  double alpha, x, y;
} checkpoint;

/* where the road has come to */
typedef struct pen {
  double x, y, beta;
  int32_t destination; /* counts on, lap by lap */
} pen;

/* ------------------------------------------------------------------------------- the middle -- */

static void draw_checkpoints(checkpoint *checkpoints, pp_rng *rng) {
  for (int i = 0; i < CHECKPOINTS; i++) {
    double noise = pp_rng_uniform(rng, 0, 2 * PI * 1 / CHECKPOINTS);
    double alpha = 2 * PI * i / CHECKPOINTS + noise;
    double radius = pp_rng_uniform(rng, RADIUS / 3, RADIUS);
    if (i == 0) alpha = 0;
    if (i == CHECKPOINTS - 1) alpha = 2 * PI * i / CHECKPOINTS;
    if (i == 0 || i == CHECKPOINTS - 1) radius = 1.5 * RADIUS;
    checkpoints[i] = (checkpoint){alpha, radius * cos(alpha), radius * sin(alpha)};
  }
}

/* Returns the next checkpoint. alpha loses whole turns until one is ahead of it. */
static const checkpoint *find_destination(const checkpoint *checkpoints, pen *at, double *alpha) {
  for (;;) {
    do {
      const checkpoint *next = &checkpoints[at->destination % CHECKPOINTS];
      if (*alpha <= next->alpha) return next;
      at->destination++;
    } while (at->destination % CHECKPOINTS);
    *alpha -= 2 * PI;
  }
}

/* Goes on by one point, and turns towards the checkpoint. */
static point go_on(pen *at, const checkpoint *to, double alpha) {
  const double x = cos(at->beta), y = sin(at->beta);
  double aside = x * (to->x - at->x) + y * (to->y - at->y);

  while (at->beta - alpha > 1.5 * PI) at->beta -= 2 * PI;
  while (at->beta - alpha < -1.5 * PI) at->beta += 2 * PI;
  const double before = at->beta;
  aside *= RACING_SCALE;
  const double turn = fmin(TURN_RATE, fabs(0.001 * aside));
  if (aside > 0.3) at->beta -= turn;
  if (aside < -0.3) at->beta += turn;
  at->x += -y * STEP;
  at->y += x * STEP;
  return (point){alpha, before * 0.5 + at->beta * 0.5, at->x, at->y};
}

/* Draws a road of several laps. Returns the number of points. */
static int32_t draw_laps(point *points, pp_rng *rng) {
  checkpoint checkpoints[CHECKPOINTS];
  pen at = {.x = 1.5 * RADIUS};
  bool was_behind = false; /* on the other side of the start */
  int32_t laps = 0, count = 0;

  draw_checkpoints(checkpoints, rng);
  do {
    double alpha = atan2(at.y, at.x);
    if (was_behind && alpha > 0) {
      laps++;
      was_behind = false;
    }
    if (alpha < 0) {
      was_behind = true;
      alpha += 2 * PI;
    }
    const checkpoint *next = find_destination(checkpoints, &at, &alpha);
    points[count++] = go_on(&at, next, alpha);
  } while (laps <= MOST_LAPS && count < TRACK_MOST_TILES);
  return count;
}

/* Finds the last lap that is complete, and whose ends fit together. Returns the number of its
 * points, or 0. */
static int32_t find_lap(const point *points, int32_t count, const point **lap) {
  const double start = 2 * PI * -0.5 / CHECKPOINTS;
  int32_t end = -1;

  for (int32_t i = count - 1; i > 0; i--) {
    if (!(points[i].alpha > start && points[i - 1].alpha <= start)) continue;
    if (end < 0) {
      end = i;
      continue;
    }
    const point *first = points + i, *last = points + end - 2;
    double x = cos(first->beta) * (first->x - last->x);
    double y = sin(first->beta) * (first->y - last->y);
    *lap = first;
    return sqrt(x * x + y * y) > STEP ? 0 : end - 1 - i;
  }
  return 0;
}

/* --------------------------------------------------------------------------------- the road -- */

/* Returns a point of a lap; negative numbers count from its end, as in Python. */
static const point *at_index(const point *lap, int32_t count, int32_t i) {
  return lap + (i < 0 ? i + count : i);
}

static double sign(double number) {
  return number > 0 ? 1 : number < 0 ? -1 : 0;
}

static bool is_sharp(const point *lap, int32_t count, int32_t i) {
  bool is_good = true;
  double side = 0;
  for (int32_t back = 0; back < BEND; back++) {
    double turn = at_index(lap, count, i - back)->beta - at_index(lap, count, i - back - 1)->beta;
    is_good &= fabs(turn) > TURN_RATE * 0.2;
    side += sign(turn);
  }
  return is_good && fabs(side) == BEND;
}

static void find_borders(track *road, const point *lap) {
  const int32_t count = road->count;
  for (int32_t i = 0; i < count; i++) road->tiles[i].has_border = is_sharp(lap, count, i);
  for (int32_t i = 0; i < count; i++) {
    for (int32_t back = 1; back < BEND && road->tiles[i].has_border; back++) {
      road->tiles[i < back ? i - back + count : i - back].has_border = true;
    }
  }
}

/* writes the ends of the stretch across the road at a point, from one distance to another */
static void cut(const point *at, double from, double to, double *first, double *second) {
  double x = cos(at->beta), y = sin(at->beta);
  first[0] = at->x + from * x;
  first[1] = at->y + from * y;
  second[0] = at->x + to * x;
  second[1] = at->y + to * y;
}

static void *add_body(const box2d_library *library, void *world, track_corners corners) {
  box2d_vector rounded[4];
  for (int i = 0; i < 4; i++) {
    rounded[i] = (box2d_vector){(float)corners[i][0], (float)corners[i][1]};
  }
  void *body = library->create_body(world, library->static_body);
  box2d_add_polygon(library, body, library->tile_fixture, rounded, 4);
  return body;
}

static void lay_tile(track_tile *tile, const point *here, const point *before) {
  cut(here, -WIDTH, WIDTH, tile->corners[0], tile->corners[1]);
  cut(before, -WIDTH, WIDTH, tile->corners[3], tile->corners[2]);
  tile->is_visited = tile->is_plain = false;
  if (!tile->has_border) return;
  double side = sign(before->beta - here->beta);
  cut(here, side * WIDTH, side * (WIDTH + BORDER), tile->border[0], tile->border[1]);
  cut(before, side * WIDTH, side * (WIDTH + BORDER), tile->border[3], tile->border[2]);
}

static int reserve(track *road, int32_t count, pp_error *error) {
  if (count <= road->room) return PP_OK;
  int32_t room = count > FIRST_ROOM ? TRACK_MOST_TILES : FIRST_ROOM;
  track_tile *tiles = realloc(road->tiles, (size_t)room * sizeof(*tiles));
  if (!tiles) return pp_fail(error, PP_ERR_MEMORY, "no memory for a track of %d tiles", room);
  road->tiles = tiles;
  road->room = room;
  return PP_OK;
}

int track_create(track *road, const box2d_library *library, void *world, pp_rng *rng,
                 pp_error *error) {
  point points[TRACK_MOST_TILES];
  const point *lap;
  int32_t count;

  do {
    count = find_lap(points, draw_laps(points, rng), &lap);
  } while (count <= BEND);  // a lap has hundreds of points
  int status = reserve(road, count, error);
  if (status < 0) return status;
  road->count = count;
  road->start[0] = lap->beta;
  road->start[1] = lap->x;
  road->start[2] = lap->y;
  find_borders(road, lap);
  for (int32_t i = 0; i < count; i++) {
    track_tile *tile = &road->tiles[i];
    lay_tile(tile, lap + i, at_index(lap, count, i - 1));
    tile->body = add_body(library, world, tile->corners);
  }
  return PP_OK;
}

void track_destroy(track *road, const box2d_library *library, void *world) {
  for (int32_t i = 0; i < road->count; i++) library->destroy_body(world, road->tiles[i].body);
  road->count = 0;
}

track_tile *track_find(track *road, const void *body) {
  for (int32_t i = 0; i < road->count; i++) {
    if (road->tiles[i].body == body) return &road->tiles[i];
  }
  return NULL;
}
