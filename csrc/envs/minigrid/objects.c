/* Scatters objects over a room. */
#include "objects.h"

#include <stdlib.h>

/* draws of kinds and colors, before there is none that is new */
static const int32_t most_draws = 1 << 16;

static bool is_near(const mg_world *world, mg_point at, const void *context) {
  (void)world;
  const mg_objects *objects = context;
  for (int32_t i = 0; i < objects->count; i++) {
    mg_point other = objects->places[i];
    if (abs(at.x - other.x) <= 1 && abs(at.y - other.y) <= 1) return true;
  }
  return false;
}

static bool is_known(const mg_objects *objects, mg_cell cell) {
  for (int32_t i = 0; i < objects->count; i++) {
    mg_cell other = objects->cells[i];
    if (other.kind == cell.kind && other.color == cell.color) return true;
  }
  return false;
}

void mg_scatter(mg_world *world, int32_t count, bool are_apart, mg_objects *objects) {
  objects->count = 0;
  for (int32_t i = 0; objects->count < count && !world->failure; i++) {
    int32_t kind = mg_draw_kind(world);
    mg_cell cell = mg_object(kind, mg_draw_color(world));
    if (i == most_draws) world->failure = "there are not so many different objects";
    if (is_known(objects, cell)) continue;
    mg_point at;
    if (!mg_try_place(world, cell, mg_whole(world), are_apart ? is_near : NULL, objects, -1, &at)) {
      world->failure = "the grid has no free cell for another object: choose a larger one";
      return;
    }
    objects->cells[objects->count] = cell;
    objects->places[objects->count++] = at;
  }
}
