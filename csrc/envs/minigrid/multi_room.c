/* MiniGrid-MultiRoom: a chain of rooms of different sizes, with a door from each to the next. */
#include "base/fail.h"
#include "level.h"

enum { LEAST_ROOMS, MOST_ROOMS, MOST_SIZE, WIDTH, HEIGHT, NUM_OPTIONS };
enum { LEAST_SIZE = 4, CHAIN = 32 /* rooms */, WAYS_OUT = 8 /* tried of each room */ };
/* beginnings of a chain that are tried, before there is no room for it */
enum { MOST_BEGINNINGS = 20000 };

typedef struct chain {
  int32_t count;
  mg_area rooms[CHAIN];
  mg_point doors[CHAIN]; /* into each room */
} chain;

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  shared->width = (int32_t)values[WIDTH].i;
  shared->height = (int32_t)values[HEIGHT].i;
  shared->max_steps = (int32_t)values[MOST_ROOMS].i * 20;
  shared->mission = MG_TRAVERSE;
  if (values[LEAST_ROOMS].i <= values[MOST_ROOMS].i) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "minNumRooms=%lld > maxNumRooms=%lld: choose at most that",
                 (long long)values[LEAST_ROOMS].i, (long long)values[MOST_ROOMS].i);
}

/* Draws where a room of this size lies whose door in the wall `side` is given. */
static mg_area draw_place(mg_world *world, int32_t width, int32_t height, int32_t side,
                          mg_point door) {
  mg_area area = {door.x, door.y, width, height};
  if (side == MG_RIGHT) area.x = door.x - width + 1;
  if (side == MG_DOWN) area.y = door.y - height + 1;
  if (side == MG_RIGHT || side == MG_LEFT) {
    area.y = mg_draw(world, door.y - height + 2, door.y);
  } else {
    area.x = mg_draw(world, door.x - width + 2, door.x);
  }
  return area;
}

/* Returns whether a room is within the grid, and apart from all rooms but the last. */
static bool is_free(const mg_world *world, const chain *rooms, mg_area area) {
  if (area.x < 0 || area.y < 0) return false;
  if (area.x + area.width > world->width || area.y + area.height >= world->height) return false;
  for (int32_t i = 0; i < rooms->count - 1; i++) {
    mg_area other = rooms->rooms[i];
    bool is_apart = area.x + area.width < other.x || other.x + other.width <= area.x ||
                    area.y + area.height < other.y || other.y + other.height <= area.y;
    if (!is_apart) return false;
  }
  return true;
}

static mg_point draw_exit(mg_world *world, mg_area area, int32_t side) {
  mg_point door = {area.x, area.y};
  if (side == MG_RIGHT) door.x += area.width - 1;
  if (side == MG_DOWN) door.y += area.height - 1;
  if (side == MG_RIGHT || side == MG_LEFT) {
    door.y += mg_draw(world, 1, area.height - 1);
  } else {
    door.x += mg_draw(world, 1, area.width - 1);
  }
  return door;
}

/* Adds a room with its door in the wall `side`, and after it as many of the rooms that are left as
 * can be found. Returns whether the room could be added. */
static bool add_room(mg_world *world, chain *rooms, int32_t left, int32_t most_size, int32_t side,
                     mg_point door) {
  int32_t width = mg_draw(world, LEAST_SIZE, most_size + 1);
  int32_t height = mg_draw(world, LEAST_SIZE, most_size + 1);
  mg_area area = {door.x, door.y, width, height};
  if (rooms->count) area = draw_place(world, width, height, side, door);
  if (!is_free(world, rooms, area)) return false;
  rooms->rooms[rooms->count] = area;
  rooms->doors[rooms->count++] = door;
  if (left == 1) return true;

  for (int32_t i = 0; i < WAYS_OUT; i++) {
    int32_t way = mg_draw(world, 0, 3);
    way += way >= side;
    mg_point way_out = draw_exit(world, area, way);
    if (add_room(world, rooms, left - 1, most_size, (way + 2) % 4, way_out)) break;
  }
  return true;
}

/* Draws chains until one has enough rooms. */
static void draw_chain(mg_world *world, int32_t wanted, int32_t most_size, chain *rooms) {
  rooms->count = 0;
  for (int32_t i = 0; rooms->count < wanted && !world->failure; i++) {
    if (i == MOST_BEGINNINGS) world->failure = "the grid has no room for so many rooms";
    chain found = {0};
    mg_point door = {mg_draw(world, 0, world->width - 2), 0};
    door.y = mg_draw(world, 0, world->width - 2);
    add_room(world, &found, wanted, most_size, MG_LEFT, door);
    if (found.count > rooms->count) *rooms = found;
  }
}

/* Draws a color that is not the one of the door before. */
static int32_t draw_other_color(mg_world *world, int32_t color) {
  if (color < 0) return mg_draw_color(world);
  int32_t drawn = mg_draw(world, 0, MG_NUM_COLORS - 1);
  for (int32_t i = 0; i <= drawn; i++) drawn += mg_sorted_colors[i] == color;
  return mg_sorted_colors[drawn];
}

static void generate(const mg_shared *shared, mg_world *world) {
  const int64_t *own = shared->own;
  chain rooms;
  int32_t wanted = mg_draw(world, (int32_t)own[LEAST_ROOMS], (int32_t)own[MOST_ROOMS] + 1);
  draw_chain(world, wanted, (int32_t)own[MOST_SIZE], &rooms);
  if (world->failure) return;
  int32_t color = -1;
  for (int32_t i = 0; i < rooms.count; i++) {
    mg_frame(world, rooms.rooms[i]);
    if (!i) continue;
    color = draw_other_color(world, color);
    mg_set(world, rooms.doors[i].x, rooms.doors[i].y, mg_door_of(color, MG_CLOSED));
  }
  mg_place_agent(world, rooms.rooms[0], -1);
  mg_place(world, mg_goal, rooms.rooms[rooms.count - 1]);
}

static const mg_level level = {.configure = configure, .generate = generate};

#define MULTI_ROOM(title, count, size)                                                     \
  {                                                                                        \
      MG_DEFINITION(                                                                       \
          "MultiRoom-" title, &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false),       \
          MG_INT(LEAST_ROOMS, "minNumRooms", count, 1, CHAIN, "least number of rooms"),    \
          MG_INT(MOST_ROOMS, "maxNumRooms", count, 1, CHAIN, "greatest number of rooms"),  \
          MG_INT(MOST_SIZE, "maxRoomSize", size, LEAST_SIZE, MG_MOST_SIDE,                 \
                 "cells of the longest side, walls included"),                             \
          MG_INT(WIDTH, "width", 25, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a row"),       \
          MG_INT(HEIGHT, "height", 25, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a column")), \
  }

const pp_env_def pp_env_minigrid_multi_room[4] = {
    MULTI_ROOM("N2-S4-v0", 2, 4),
    /* the id says four rooms, and minigrid makes six */
    MULTI_ROOM("N4-S5-v0", 6, 5),
    MULTI_ROOM("N4-S5-v1", 4, 5),
    MULTI_ROOM("N6-v0", 6, 10),
};
