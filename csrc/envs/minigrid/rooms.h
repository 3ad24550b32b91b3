/* Rooms of one size in rows and columns, as minigrid's RoomGrid makes them. */
#ifndef PP_ENVS_MINIGRID_ROOMS_H
#define PP_ENVS_MINIGRID_ROOMS_H

#include "grid.h"

enum { MG_MOST_ROOMS = 64, MG_DRAWN = -1 /* draw this one */ };

/* One room. Sides are numbered as directions; a side has a neighbour unless it is the grid's. */
typedef struct mg_room {
  mg_area area; /* with its walls */
  bool has_neighbor[4];
  bool is_joined[4]; /* by a door, or because there is no wall */
  mg_point door[4];  /* where a door of this side is */
  bool is_locked;
} mg_room;

/* The rooms of a level while it is made; room (column, row) is at[row * columns + column]. */
typedef struct mg_rooms {
  mg_world *world;
  int32_t size; /* cells of a side, walls included */
  int32_t rows;
  int32_t columns;
  uint32_t known; /* bit of each kind and color that was placed: mg_rooms_knows */
  mg_room at[MG_MOST_ROOMS];
} mg_rooms;

typedef struct mg_new_door {
  int32_t color;
  mg_point at;
} mg_new_door;

/* Refuses more rooms than there is room for; PP_OK if there are not. */
int mg_check_rooms(int64_t rows, int64_t columns, pp_error *error);
/* the width or height of `count` rooms */
int32_t mg_rooms_side(int32_t size, int32_t count);

/* Makes the walls and draws where doors will be; the agent is in the middle. */
void mg_rooms_begin(mg_rooms *rooms, mg_world *world, int32_t size, int32_t rows, int32_t columns);
/* Places an object in a room, not beside the agent; returns its place. */
mg_point mg_rooms_place(mg_rooms *rooms, int32_t column, int32_t row, mg_cell cell);
/* Places a new object; its color may be MG_DRAWN. Returns its color. */
int32_t mg_rooms_add(mg_rooms *rooms, int32_t column, int32_t row, int32_t kind, int32_t color,
                     int32_t tag);
/* Returns whether an object of that kind and color was placed in a room. */
bool mg_rooms_knows(const mg_rooms *rooms, int32_t kind, int32_t color);
/* the room in a column and a row, and the one that holds a place (walls: one of two) */
mg_room *mg_room_at(mg_rooms *rooms, int32_t column, int32_t row);
mg_room *mg_room_of(mg_rooms *rooms, mg_point place);
/* Returns whether a place is in a room or its walls. */
bool mg_is_in_room(const mg_room *room, mg_point at);
/* Adds a door to a side that has none; side, color and is_locked may be MG_DRAWN. */
mg_new_door mg_rooms_add_door(mg_rooms *rooms, int32_t column, int32_t row, int32_t side,
                              int32_t color, int32_t is_locked);
void mg_rooms_remove_wall(mg_rooms *rooms, int32_t column, int32_t row, int32_t side);
/* Places the agent in a room, not in front of an object. */
void mg_rooms_place_agent(mg_rooms *rooms, int32_t column, int32_t row);
/* Adds doors until the agent can reach every room; none of color `without` (MG_DRAWN: of all). */
void mg_rooms_connect(mg_rooms *rooms, int32_t without);

#endif
