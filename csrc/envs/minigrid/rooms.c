/* Makes rooms, doors and the objects in rooms. */
#include "rooms.h"

#include <stdlib.h>

#include "base/fail.h"

/* as minigrid's RoomGrid, which gives up then */
enum { MOST_TRIES = 1000, MOST_DOORS_TRIED = 5000 };

int mg_check_rooms(int64_t rows, int64_t columns, pp_error *error) {
  if (rows * columns <= MG_MOST_ROOMS) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "%lld x %lld rooms: choose at most %d rooms",
                 (long long)rows, (long long)columns, MG_MOST_ROOMS);
}

int32_t mg_rooms_side(int32_t size, int32_t count) {
  return (size - 1) * count + 1;
}

mg_room *mg_room_at(mg_rooms *rooms, int32_t column, int32_t row) {
  return &rooms->at[row * rooms->columns + column];
}

mg_room *mg_room_of(mg_rooms *rooms, mg_point place) {
  return mg_room_at(rooms, place.x / (rooms->size - 1), place.y / (rooms->size - 1));
}

bool mg_is_in_room(const mg_room *room, mg_point at) {
  mg_area area = room->area;
  return at.x >= area.x && at.y >= area.y && at.x < area.x + area.width &&
         at.y < area.y + area.height;
}

static mg_room *neighbor(mg_rooms *rooms, mg_room *room, int32_t side) {
  static const int32_t columns[4] = {1, 0, -1, 0}, rows[4] = {0, 1, 0, -1};
  return room + rows[side] * rooms->columns + columns[side];
}

static void fail(mg_rooms *rooms, const char *why) {
  if (!rooms->world->failure) rooms->world->failure = why;
}

/* Draws the doors' places of a room's right and lower side; the others are its neighbours'. */
static void draw_doors(mg_rooms *rooms, int32_t column, int32_t row) {
  mg_room *room = mg_room_at(rooms, column, row);
  mg_area area = room->area;
  int32_t right = area.x + area.width - 1, bottom = area.y + area.height - 1;
  room->has_neighbor[MG_RIGHT] = column < rooms->columns - 1;
  room->has_neighbor[MG_DOWN] = row < rooms->rows - 1;
  room->has_neighbor[MG_LEFT] = column > 0;
  room->has_neighbor[MG_UP] = row > 0;
  if (room->has_neighbor[MG_RIGHT]) {
    room->door[MG_RIGHT] = (mg_point){right, mg_draw(rooms->world, area.y + 1, bottom)};
  }
  if (room->has_neighbor[MG_DOWN]) {
    room->door[MG_DOWN] = (mg_point){mg_draw(rooms->world, area.x + 1, right), bottom};
  }
  for (int32_t side = MG_LEFT; side <= MG_UP; side++) {
    if (room->has_neighbor[side]) {
      room->door[side] = neighbor(rooms, room, side)->door[side - 2];
    }
  }
}

void mg_rooms_begin(mg_rooms *rooms, mg_world *world, int32_t size, int32_t rows, int32_t columns) {
  rooms->world = world;
  rooms->size = size;
  rooms->rows = rows;
  rooms->columns = columns;
  rooms->known = 0;
  for (int32_t i = 0; i < rows * columns; i++) {
    mg_area area = {i % columns * (size - 1), i / columns * (size - 1), size, size};
    rooms->at[i] = (mg_room){.area = area};
    mg_frame(world, area);
  }
  for (int32_t i = 0; i < rows * columns; i++) draw_doors(rooms, i % columns, i / columns);
  mg_put_agent(world, columns / 2 * (size - 1) + size / 2, rows / 2 * (size - 1) + size / 2,
               MG_RIGHT);
}

static bool is_next_to_agent(const mg_world *world, mg_point at, const void *context) {
  (void)context;
  mg_point agent = world->state->agent;
  return abs(agent.x - at.x) + abs(agent.y - at.y) < 2;
}

static uint32_t bit_of(int32_t kind, int32_t color) {
  return (uint32_t)1 << ((kind - MG_KEY) * MG_NUM_COLORS + color);
}

bool mg_rooms_knows(const mg_rooms *rooms, int32_t kind, int32_t color) {
  return rooms->known & bit_of(kind, color);
}

mg_point mg_rooms_place(mg_rooms *rooms, int32_t column, int32_t row, mg_cell cell) {
  mg_point at = {0, 0};
  rooms->known |= bit_of(cell.kind, cell.color);
  if (!mg_try_place(rooms->world, cell, mg_room_at(rooms, column, row)->area, is_next_to_agent,
                    NULL, MOST_TRIES, &at)) {
    fail(rooms, "no free cell of a room was found in 1001 tries, as in minigrid");
    rooms->world->may_be_made = true;
  }
  return at;
}

int32_t mg_rooms_add(mg_rooms *rooms, int32_t column, int32_t row, int32_t kind, int32_t color,
                     int32_t tag) {
  mg_cell cell = mg_object(kind, color == MG_DRAWN ? mg_draw_color(rooms->world) : color);
  cell.tag = (uint8_t)tag;
  mg_rooms_place(rooms, column, row, cell);
  return cell.color;
}

static bool may_have_door(const mg_room *room, int32_t side) {
  return room->has_neighbor[side] && !room->is_joined[side];
}

/* Draws a side of a room that may have a door; 0, and a failure, if there is none. */
static int32_t draw_side(mg_rooms *rooms, const mg_room *room) {
  int32_t side = 0;
  bool is_full = true;
  for (int32_t i = 0; i < 4; i++) is_full &= !may_have_door(room, i);
  if (is_full) fail(rooms, "a room has no side for another door");
  do side = mg_draw(rooms->world, 0, 4);
  while (!may_have_door(room, side) && !rooms->world->failure);
  return side;
}

mg_new_door mg_rooms_add_door(mg_rooms *rooms, int32_t column, int32_t row, int32_t side,
                              int32_t color, int32_t is_locked) {
  mg_room *room = mg_room_at(rooms, column, row);
  if (side == MG_DRAWN) side = draw_side(rooms, room);
  mg_new_door door = {color == MG_DRAWN ? mg_draw_color(rooms->world) : color, room->door[side]};
  if (is_locked == MG_DRAWN) is_locked = mg_draw(rooms->world, 0, 2) == 0;
  if (!may_have_door(room, side)) {
    fail(rooms, "a side of a room can't have a door, or has one");
    return door;
  }
  room->is_locked = is_locked;
  mg_set(rooms->world, door.at.x, door.at.y,
         mg_door_of(door.color, is_locked ? MG_LOCKED : MG_CLOSED));
  room->is_joined[side] = true;
  neighbor(rooms, room, side)->is_joined[(side + 2) % 4] = true;
  return door;
}

void mg_rooms_remove_wall(mg_rooms *rooms, int32_t column, int32_t row, int32_t side) {
  mg_room *room = mg_room_at(rooms, column, row);
  mg_area area = room->area;
  int32_t x = side == MG_RIGHT ? area.x + area.width - 1 : area.x;
  int32_t y = side == MG_DOWN ? area.y + area.height - 1 : area.y;
  if (side == MG_RIGHT || side == MG_LEFT) {
    mg_column(rooms->world, x, area.y + 1, area.height - 2, mg_empty);
  } else {
    mg_row(rooms->world, area.x + 1, y, area.width - 2, mg_empty);
  }
  room->is_joined[side] = true;
  neighbor(rooms, room, side)->is_joined[(side + 2) % 4] = true;
}

static bool may_face(const mg_world *world, mg_point at, int32_t direction) {
  int32_t kind = mg_get(world, mg_ahead(at, direction)).kind;
  return kind == MG_EMPTY || kind == MG_WALL;
}

/* Returns whether the agent can stand somewhere in an area without facing an object. */
static bool has_place_for_agent(const mg_world *world, mg_area area) {
  for (int32_t i = 0; i < area.width * area.height; i++) {
    mg_point at = {area.x + i % area.width, area.y + i / area.width};
    if (mg_get(world, at).kind != MG_EMPTY) continue;
    for (int32_t direction = 0; direction < 4; direction++) {
      if (may_face(world, at, direction)) return true;
    }
  }
  return false;
}

void mg_rooms_place_agent(mg_rooms *rooms, int32_t column, int32_t row) {
  mg_world *world = rooms->world;
  mg_area area = mg_room_at(rooms, column, row)->area;
  for (int32_t tries = 1; !world->failure; tries++) {
    mg_place_agent(world, area, MOST_TRIES);
    if (may_face(world, world->state->agent, world->state->direction)) return;
    if (tries != MOST_TRIES || has_place_for_agent(world, area)) continue;
    /* minigrid goes on for ever */
    fail(rooms, "the agent would face an object wherever it stands");
    world->may_be_made = true;
  }
}

/* Returns how many rooms the agent can reach from a room, through doors of any state. */
static int32_t count_reached(mg_rooms *rooms, mg_room *start) {
  bool is_reached[MG_MOST_ROOMS] = {false};
  mg_room *stack[4 * MG_MOST_ROOMS + 1];
  int32_t depth = 0, count = 0;
  stack[depth++] = start;
  while (depth) {
    mg_room *room = stack[--depth];
    if (is_reached[room - rooms->at]) continue;
    is_reached[room - rooms->at] = true;
    count++;
    for (int32_t side = 0; side < 4; side++) {
      if (room->is_joined[side]) stack[depth++] = neighbor(rooms, room, side);
    }
  }
  return count;
}

/* Draws a color other than `without`. */
static int32_t draw_other_color(mg_world *world, int32_t without) {
  int32_t at = mg_draw(world, 0, MG_NUM_COLORS - 1);
  for (int32_t i = 0; i <= at; i++) at += mg_sorted_colors[i] == without;
  return mg_sorted_colors[at];
}

void mg_rooms_connect(mg_rooms *rooms, int32_t without) {
  mg_world *world = rooms->world;
  mg_room *start = mg_room_of(rooms, world->state->agent);
  for (int32_t i = 0; !world->failure; i++) {
    if (i > MOST_DOORS_TRIED) {
      fail(rooms, "the rooms can't be connected, as in minigrid");
      world->may_be_made = true;
      return;
    }
    if (count_reached(rooms, start) == rooms->rows * rooms->columns) return;
    int32_t column = mg_draw(world, 0, rooms->columns);
    int32_t row = mg_draw(world, 0, rooms->rows);
    int32_t side = mg_draw(world, 0, 4);
    mg_room *room = mg_room_at(rooms, column, row);
    if (!may_have_door(room, side)) continue;
    if (room->is_locked || neighbor(rooms, room, side)->is_locked) continue;
    int32_t color = without == MG_DRAWN ? MG_DRAWN : draw_other_color(world, without);
    mg_rooms_add_door(rooms, column, row, side, color, false);
  }
}
