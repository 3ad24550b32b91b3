/* BipedalWalker's ground: edges of grass, and in its hardcore version pits, stumps and stairs.
 *
 * Equals _generate_terrain and _generate_clouds of gymnasium 1.4.0 (envs/box2d/bipedal_walker.py):
 * the same draws, and the same arithmetic in float64, which each call of Box2D rounds to
 * float32. */
#include "terrain.h"

#include "base/random.h"

enum { CLOUDS = TERRAIN_LENGTH / 20, DRAWS_OF_CLOUD = 11 };

typedef enum kind { GRASS, STUMP, STAIRS, PIT, NUM_KINDS } kind;

/* a cursor: the point of the surface that is generated next, and the obstacle that it is part of */
typedef struct terrain_cursor {
  kind kind;
  bool begins;  /* it is the first point of this kind */
  int64_t left; /* points of this kind */
  double x, y;
  double slope;  /* of grass */
  double edge_y; /* of a pit or stairs: y before it */
  int64_t stairs, width,
      direction; /* of stairs: count, points of each, and 1 for up, -1 for down */
} terrain_cursor;

/* where things are made */
typedef struct builder {
  terrain *ground;
  const box2d_library *library;
  void *world;
  pp_rng *rng;
} builder;

static void *add_body(const builder *to) {
  void *body = to->library->create_body(to->world, to->library->static_body);
  to->ground->bodies[to->ground->num_bodies++] = body;
  return body;
}

/* adds the box with these sides, whose corners begin at (left, y) and go around by (right, y) */
static void add_box(const builder *to, double left, double right, double y, double other_y) {
  const box2d_vector corners[4] = {{(float)left, (float)y},
                                   {(float)right, (float)y},
                                   {(float)right, (float)other_y},
                                   {(float)left, (float)other_y}};
  box2d_add_polygon(to->library, add_body(to), to->library->wall_fixture, corners, 4);
}

/* --------------------------------------------------------------------------------- surfaces -- */

static void grow_grass(const builder *to, terrain_cursor *at, int32_t i) {
  double down = TERRAIN_HEIGHT - at->y;
  double sign = down > 0 ? 1 : down < 0 ? -1 : 0;

  at->slope = 0.8 * at->slope + 0.01 * sign;
  if (i > TERRAIN_START) at->slope += pp_rng_uniform(to->rng, -1, 1) / TERRAIN_SCALE;
  at->y += at->slope;
}

static void begin_pit(const builder *to, terrain_cursor *at) {
  double bottom = at->y - 4 * TERRAIN_STEP;

  at->left = pp_rng_integers(to->rng, 3, 5);
  add_box(to, at->x, at->x + TERRAIN_STEP, at->y, bottom);
  double away = TERRAIN_STEP * (double)at->left;
  add_box(to, at->x + away, at->x + TERRAIN_STEP + away, at->y, bottom);
  at->left += 2;
  at->edge_y = at->y;
}

static void begin_stump(const builder *to, terrain_cursor *at) {
  at->left = pp_rng_integers(to->rng, 1, 3);
  double size = (double)at->left * TERRAIN_STEP;
  add_box(to, at->x, at->x + size, at->y, at->y + size);
}

static void begin_stairs(const builder *to, terrain_cursor *at) {
  at->direction = pp_rng_double(to->rng) > 0.5 ? 1 : -1;
  at->width = pp_rng_integers(to->rng, 4, 5);
  at->stairs = pp_rng_integers(to->rng, 3, 5);
  at->edge_y = at->y;
  for (int64_t i = 0; i < at->stairs; i++) {
    double left = at->x + (double)(i * at->width) * TERRAIN_STEP;
    double right = at->x + (double)((1 + i) * at->width) * TERRAIN_STEP;
    double top = at->y + (double)(i * at->direction) * TERRAIN_STEP;
    double bottom = at->y + (double)(-1 + i * at->direction) * TERRAIN_STEP;
    add_box(to, left, right, top, bottom);
  }
  at->left = at->stairs * at->width;
}

static void climb_stairs(terrain_cursor *at) {
  int64_t point = at->stairs * at->width - at->left - at->direction;
  double stair = (double)point / (double)at->width;
  at->y = at->edge_y + stair * (double)at->direction * TERRAIN_STEP;
}

/* moves to point i */
static void advance(const builder *to, terrain_cursor *at, int32_t i) {
  at->x = i * TERRAIN_STEP;
  switch (at->kind) {
    case GRASS:
      if (!at->begins) grow_grass(to, at, i);
      break;
    case PIT:
      if (at->begins) {
        begin_pit(to, at);
      } else {
        at->y = at->edge_y;
        if (at->left > 1) at->y -= 4 * TERRAIN_STEP;
      }
      break;
    case STUMP:
      if (at->begins) begin_stump(to, at);
      break;
    default:
      if (at->begins) {
        begin_stairs(to, at);
      } else {
        climb_stairs(at);
      }
  }
}

/* chooses what follows after the last point of a kind */
static void choose_next(const builder *to, terrain_cursor *at, bool is_hardcore) {
  at->left = pp_rng_integers(to->rng, TERRAIN_GRASS / 2, TERRAIN_GRASS);
  if (at->kind == GRASS && is_hardcore) {
    at->kind = (kind)pp_rng_integers(to->rng, 1, NUM_KINDS);
  } else {
    at->kind = GRASS;
  }
  at->begins = true;
}

void terrain_create(terrain *ground, const box2d_library *library, void *world, bool is_hardcore,
                    pp_rng *rng) {
  const builder to = {ground, library, world, rng};
  terrain_cursor at = {.kind = GRASS, .left = TERRAIN_START, .y = TERRAIN_HEIGHT};
  box2d_vector points[TERRAIN_LENGTH];

  ground->num_bodies = 0;
  for (int32_t i = 0; i < TERRAIN_LENGTH; i++) {
    advance(&to, &at, i);
    points[i] = (box2d_vector){(float)at.x, (float)at.y};
    at.begins = false;
    if (--at.left == 0) choose_next(&to, &at, is_hardcore);
  }
  for (int32_t i = 0; i + 1 < TERRAIN_LENGTH; i++) {
    box2d_add_edge(library, add_body(&to), library->grass_fixture, points[i], points[i + 1]);
  }
  // clouds are decoration, but their numbers come from the same generator
  for (int32_t i = 0; i < CLOUDS * DRAWS_OF_CLOUD; i++) pp_rng_advance(rng);
}

void terrain_destroy(terrain *ground, const box2d_library *library, void *world) {
  while (ground->num_bodies) {
    library->destroy_body(world, ground->bodies[--ground->num_bodies]);
  }
}
