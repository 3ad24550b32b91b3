/* Objects that a level scatters over one room: GoToObject, PutNear, Fetch and Playground. */
#ifndef PP_ENVS_MINIGRID_OBJECTS_H
#define PP_ENVS_MINIGRID_OBJECTS_H

#include "grid.h"

/* of one kind and color there is one at most */
enum { MG_MOST_OBJECTS = 3 * MG_NUM_COLORS };

typedef struct mg_objects {
  int32_t count;
  mg_cell cells[MG_MOST_OBJECTS];
  mg_point places[MG_MOST_OBJECTS];
} mg_objects;

/* Draws `count` different keys, balls and boxes, and places them; if they are apart, none is beside
 * another. */
void mg_scatter(mg_world *world, int32_t count, bool are_apart, mg_objects *objects);

#endif
