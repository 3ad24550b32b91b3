/* What levels do with cells: walls, draws and places of objects. */
#include "grid.h"

/* A search for a free place that takes longer has none: minigrid would go on for ever. */
static const int32_t enough_tries = 1 << 20;

const uint8_t mg_sorted_colors[MG_NUM_COLORS] = {MG_BLUE,   MG_GREEN, MG_GREY,
                                                 MG_PURPLE, MG_RED,   MG_YELLOW};
const mg_cell mg_empty = {MG_EMPTY, 0, 0, MG_PLAIN};
const mg_cell mg_wall = {MG_WALL, MG_GREY, 0, MG_PLAIN};
const mg_cell mg_goal = {MG_GOAL, MG_GREEN, 0, MG_PLAIN};
const mg_cell mg_lava = {MG_LAVA, MG_RED, 0, MG_PLAIN};

static void fail(mg_world *world, const char *why) {
  if (!world->failure) world->failure = why;
}

mg_cell mg_get(const mg_world *world, mg_point at) {
  return mg_is_inside(world, at) ? world->cells[at.y * world->width + at.x] : mg_wall;
}

void mg_set(mg_world *world, int32_t x, int32_t y, mg_cell cell) {
  if (mg_is_inside(world, (mg_point){x, y})) {
    world->cells[y * world->width + x] = cell;
  } else {
    fail(world, "the level does not fit into the grid: choose a larger one");
  }
}

void mg_clear(mg_world *world) {
  for (int32_t i = 0; i < world->width * world->height; i++) world->cells[i] = mg_empty;
}

void mg_row(mg_world *world, int32_t x, int32_t y, int32_t length, mg_cell cell) {
  for (int32_t i = 0; i < length; i++) mg_set(world, x + i, y, cell);
}

void mg_column(mg_world *world, int32_t x, int32_t y, int32_t length, mg_cell cell) {
  for (int32_t i = 0; i < length; i++) mg_set(world, x, y + i, cell);
}

void mg_frame(mg_world *world, mg_area area) {
  mg_row(world, area.x, area.y, area.width, mg_wall);
  mg_row(world, area.x, area.y + area.height - 1, area.width, mg_wall);
  mg_column(world, area.x, area.y, area.height, mg_wall);
  mg_column(world, area.x + area.width - 1, area.y, area.height, mg_wall);
}

int32_t mg_draw(mg_world *world, int32_t low, int32_t high) {
  if (world->failure) return low;
  if (low < high) return (int32_t)pp_rng_integers(world->rng, low, high);
  fail(world, "the grid has no room for what the level draws: choose a larger one");
  return low;
}

int32_t mg_draw_color(mg_world *world) {
  return mg_sorted_colors[mg_draw(world, 0, MG_NUM_COLORS)];
}

void mg_draw_colors(mg_world *world, int32_t count, int32_t *colors) {
  int32_t left[MG_NUM_COLORS];
  for (int32_t i = 0; i < MG_NUM_COLORS; i++) left[i] = mg_sorted_colors[i];
  for (int32_t i = 0; i < count; i++) {
    int32_t at = mg_draw(world, 0, MG_NUM_COLORS - i);
    colors[i] = left[at];
    for (; at < MG_NUM_COLORS - 1 - i; at++) left[at] = left[at + 1];
  }
}

int32_t mg_draw_kind(mg_world *world) {
  return MG_KEY + mg_draw(world, 0, 3);
}

bool mg_try_place(mg_world *world, mg_cell cell, mg_area area, mg_reject reject,
                  const void *context, int32_t most_tries, mg_point *found) {
  int32_t left = area.x > 0 ? area.x : 0, top = area.y > 0 ? area.y : 0;
  int32_t right = left + area.width, bottom = top + area.height;
  if (right > world->width) right = world->width;
  if (bottom > world->height) bottom = world->height;
  int32_t tries = most_tries < 0 ? enough_tries : most_tries;

  for (int32_t i = 0; i <= tries && !world->failure; i++) {
    mg_point at = {mg_draw(world, left, right), 0};
    at.y = mg_draw(world, top, bottom);
    if (mg_get(world, at).kind != MG_EMPTY) continue;
    if (at.x == world->state->agent.x && at.y == world->state->agent.y) continue;
    if (reject && reject(world, at, context)) continue;
    mg_set(world, at.x, at.y, cell);
    *found = at;
    return true;
  }
  return false;
}

mg_point mg_place(mg_world *world, mg_cell cell, mg_area area) {
  mg_point at = {0, 0};
  if (!mg_try_place(world, cell, area, NULL, NULL, -1, &at)) {
    fail(world, "the grid has no free cell for another object: choose a larger one");
  }
  return at;
}

void mg_place_agent(mg_world *world, mg_area area, int32_t most_tries) {
  mg_state *it = world->state;
  mg_point at = {0, 0};
  it->agent = (mg_point){-1, -1};
  if (!mg_try_place(world, mg_empty, area, NULL, NULL, most_tries, &at)) {
    fail(world, "the grid has no free cell for the agent: choose a larger one");
    world->may_be_made = most_tries >= 0;
  }
  it->agent = at;
  it->direction = mg_draw(world, 0, 4);
}

void mg_start_agent(mg_world *world, const int64_t *start) {
  if (start[0]) {
    mg_put_agent(world, (int32_t)start[0], (int32_t)start[1], (int32_t)start[2]);
  } else {
    mg_place_agent(world, mg_whole(world), -1);
  }
}

void mg_put_agent(mg_world *world, int32_t x, int32_t y, int32_t direction) {
  world->state->agent = (mg_point){x, y};
  world->state->direction = direction;
}
