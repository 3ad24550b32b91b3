/* BabyAI's levels: rooms with objects, and an instruction about them. */
#ifndef PP_ENVS_MINIGRID_BABYAI_BABYAI_H
#define PP_ENVS_MINIGRID_BABYAI_BABYAI_H

#include "envs/minigrid/rooms.h"
#include "instruction.h"
#include "settings.h"
#include "verifier.h"

/* objects that a level chooses among */
typedef struct bb_objects {
  int32_t count;
  mg_point at[BB_MOST_OBJECTS + 4 /* doors */];
} bb_objects;

/* A level while it is made. */
typedef struct bb_scene {
  mg_world *world;
  const bb_settings *settings;
  mg_rooms rooms;
  mg_room *locked; /* no agent starts there; null: there is none */
  bool is_rejected;
  bb_clause clauses[BB_MOST_CLAUSES];
  int32_t num_things;
  uint16_t things[MG_MOST_SIDE * MG_MOST_SIDE]; /* cells with doors and objects: bb_find_things */
  mg_point given; /* of the object that the agent carries from the start on; (0, 0): of none */
} bb_scene;

typedef struct bb_level {
  mg_level level;
  bb_settings fixed;
  void (*make)(bb_scene *scene);
} bb_level;

/* The members of a bb_level that are equal for all. */
#define BB_LEVEL {.configure = bb_configure, .generate = bb_generate, .after = bb_verify}

void bb_generate(const mg_shared *shared, mg_world *world);

/* ----------------------------------------------------------------------- parts of levels -- */

/* Adds an object to a room; its kind and color may be MG_DRAWN. Returns its place. */
mg_point bb_add(bb_scene *scene, int32_t column, int32_t row, int32_t kind, int32_t color);
/* Adds `count` keys, balls and boxes of any color to a room, or each to a drawn one (MG_DRAWN);
 * appends their places to the objects, unless these are null. */
void bb_add_distractors(bb_scene *scene, int32_t column, int32_t row, int32_t count,
                        bool are_unique, bb_objects *objects);
/* Places the agent in a drawn room that is not the locked one. */
void bb_place_agent(bb_scene *scene);
/* Adds a locked door to a drawn room, and its key to any room; returns the door. */
mg_new_door bb_lock_room(bb_scene *scene, mg_point *room);
/* Returns whether the agent can reach all objects without moving one. */
bool bb_can_reach_all(const bb_scene *scene);
/* Rejects a level in which it can't. */
void bb_check_reachable(bb_scene *scene);
/* Draws one of the objects. */
mg_point bb_choose(bb_scene *scene, const bb_objects *objects);
/* Draws two different ones. */
void bb_choose_two(bb_scene *scene, const bb_objects *objects, mg_point chosen[2]);

/* Lists the cells of all doors and objects. */
void bb_find_things(bb_scene *scene);

/* ------------------------------------------------------------------- parts of instructions -- */

/* a description */
static inline bb_description bb_any(int32_t kind, int32_t color, int32_t where) {
  return (bb_description){.kind = (uint8_t)kind, .color = (uint8_t)color, .where = (uint8_t)where};
}

/* the kind and color of the object at a place */
bb_description bb_like(const bb_scene *scene, mg_point at);
/* Sets a clause: 0 and 1 are the first side of a sequence, 2 and 3 the second. */
void bb_ask(bb_scene *scene, int32_t number, int32_t action, bb_description what);
void bb_ask_put_next(bb_scene *scene, int32_t number, bb_description what, bb_description beside);
/* Returns whether the object of a cell matches a description. */
bool bb_matches(bb_scene *scene, int32_t cell, bb_description description);

/* ------------------------------------------------------------------------ definitions -- */

extern const pp_field bb_fields[3];

#define BB_DEFINITION(title, level, ...)                                                       \
  {                                                                                            \
      MG_MEMBERS("BabyAI-" title, bb_fields, &level,                                           \
                 sizeof((const pp_option[]){__VA_ARGS__}) / sizeof(pp_option), MG_NUM_ACTIONS, \
                 __VA_ARGS__),                                                                 \
  }

#endif
