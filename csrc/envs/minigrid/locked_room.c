/* MiniGrid-LockedRoom: six rooms beside a hallway; the locked one's key is in another. */
#include "level.h"

enum { SIZE, NUM_OPTIONS };
enum { NUM_ROOMS = 6, LEAST_SIZE = 13 };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(10 * size);
  return PP_OK;
}

/* Makes the walls; areas are those of the rooms, walls included. */
static void make_rooms(mg_world *world, int32_t left, int32_t right, mg_area *areas) {
  int32_t width = world->width, height = world->height;
  mg_frame(world, mg_whole(world));
  mg_column(world, left, 0, height, mg_wall);
  mg_column(world, right, 0, height, mg_wall);
  for (int32_t n = 0; n < NUM_ROOMS / 2; n++) {
    int32_t y = n * (height / 3);
    mg_row(world, 0, y, left, mg_wall);
    mg_row(world, right, y, width - right, mg_wall);
    areas[2 * n] = (mg_area){0, y, left + 1, height / 3 + 1};
    areas[2 * n + 1] = (mg_area){right, y, left + 1, height / 3 + 1};
  }
}

static mg_point draw_inside(mg_world *world, mg_area area) {
  mg_point at = {mg_draw(world, area.x + 1, area.x + area.width - 1), 0};
  at.y = mg_draw(world, area.y + 1, area.y + area.height - 1);
  return at;
}

static void generate(const mg_shared *shared, mg_world *world) {
  (void)shared;
  int32_t left = world->width / 2 - 2, right = world->width / 2 + 2;
  mg_area areas[NUM_ROOMS];
  int32_t colors[NUM_ROOMS];
  make_rooms(world, left, right, areas);
  int32_t locked = mg_draw(world, 0, NUM_ROOMS);
  mg_point goal = draw_inside(world, areas[locked]);
  mg_set(world, goal.x, goal.y, mg_goal);
  mg_draw_colors(world, NUM_ROOMS, colors);
  for (int32_t i = 0; i < NUM_ROOMS; i++) {
    int32_t state = i == locked ? MG_LOCKED : MG_CLOSED;
    mg_set(world, i % 2 ? right : left, areas[i].y + 3, mg_door_of(colors[i], state));
  }
  int32_t with_key;
  do with_key = mg_draw(world, 0, NUM_ROOMS);
  while (with_key == locked);
  mg_point key = draw_inside(world, areas[with_key]);
  mg_set(world, key.x, key.y, mg_object(MG_KEY, colors[locked]));
  mg_place_agent(world, (mg_area){left, 0, right - left, world->height}, -1);
  world->state->mission[0] =
      mg_mission_of(MG_UNLOCK_ROOM, colors[locked], colors[with_key], colors[locked], 0);
}

static const mg_level level = {.configure = configure, .generate = generate};

const pp_env_def pp_env_minigrid_locked_room = {
    MG_DEFINITION(
        "LockedRoom-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false),
        MG_INT(SIZE, "size", 19, LEAST_SIZE, MG_MOST_SIDE, "cells of a side of the grid")),
};
