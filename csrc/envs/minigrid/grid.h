/* The grid of MiniGrid's worlds: objects in cells, and how a level puts them there.
 *
 * Every file of this family equals minigrid 3.2.0 bit by bit: the same draws in the same order. */
#ifndef PP_ENVS_MINIGRID_GRID_H
#define PP_ENVS_MINIGRID_GRID_H

#include "base/random.h"
#include "mission.h"
#include "pp_env.h"

enum { MG_LEAST_SIDE = 3, MG_MOST_SIDE = 64, MG_NUM_COLORS = 6 };

/* numbers of minigrid's observations */
enum mg_kind {
  MG_UNSEEN,
  MG_EMPTY,
  MG_WALL,
  MG_FLOOR,
  MG_DOOR,
  MG_KEY,
  MG_BALL,
  MG_BOX,
  MG_GOAL,
  MG_LAVA,
  MG_AGENT
};
enum mg_color { MG_RED, MG_GREEN, MG_BLUE, MG_PURPLE, MG_YELLOW, MG_GREY };
enum mg_door { MG_OPEN, MG_CLOSED, MG_LOCKED };
enum mg_action {
  MG_TURN_LEFT,
  MG_TURN_RIGHT,
  MG_FORWARD,
  MG_PICK,
  MG_DROP,
  MG_TOGGLE,
  MG_DONE,
  MG_NUM_ACTIONS
};
enum mg_direction { MG_RIGHT, MG_DOWN, MG_LEFT, MG_UP };

/* What distinguishes an object from equal ones: the one that the mission is about, or a box with a
 * key of a color (MG_HOLDS_KEY + color). In BabyAI's levels a tag is a set of bits: the
 * descriptions that the object matches, see babyai/verifier.h. */
enum mg_tag { MG_PLAIN, MG_TARGET, MG_HOLDS_KEY, MG_MOST_TAG = MG_HOLDS_KEY + MG_NUM_COLORS - 1 };

/* what stands in a cell; the first three bytes are what an observation shows */
typedef struct mg_cell {
  uint8_t kind;
  uint8_t color;
  uint8_t state; /* of a door: mg_door */
  uint8_t tag;
} mg_cell;

typedef struct mg_point {
  int32_t x;
  int32_t y;
} mg_point;

/* cells from x to x + width - 1, and from y to y + height - 1 */
typedef struct mg_area {
  int32_t x;
  int32_t y;
  int32_t width;
  int32_t height;
} mg_area;

/* One environment, followed by its cells in rows, by the positions of moving obstacles, and by the
 * counts of bonuses. parallel_pool/_families/minigrid_state.py reads it. */
typedef struct mg_state {
  mg_point agent;
  int32_t direction;                 /* mg_direction */
  int32_t steps;                     /* of the episode */
  int32_t max_steps;                 /* of the episode */
  int32_t mission[MG_MISSION_WORDS]; /* see mission.h */
  mg_cell carried;                   /* kind 0: nothing */
  mg_point places[2];                /* what the level's rules ask for: a door, a target */

  /* of BabyAI's levels: babyai/verifier.h */
  uint8_t begun;      /* bit of each clause: it was verified before */
  uint8_t done;       /* bit of each clause: it is fulfilled */
  uint8_t has_traces; /* objects with tags have left their cells since the last drop */
  uint8_t is_given;   /* the reset's observation still shows what the agent carries at places[0] */

  int32_t seeds_taken; /* of level_seeds, modulo their count */
} mg_state;

/* one environment while its level is made or stepped */
typedef struct mg_world {
  mg_state *state;
  mg_cell *cells;
  pp_rng *rng;
  int32_t width;
  int32_t height;
  const char *failure; /* why the level can't be made; null: it can */
  bool may_be_made;    /* after a failure: minigrid gives up by chance; another try may succeed */
} mg_world;

/* Returns whether an object must not be placed there. */
typedef bool (*mg_reject)(const mg_world *world, mg_point at, const void *context);

/* minigrid's COLOR_NAMES, which are sorted by name */
extern const uint8_t mg_sorted_colors[MG_NUM_COLORS];
extern const mg_cell mg_empty, mg_wall, mg_goal, mg_lava;

static inline mg_cell mg_object(int32_t kind, int32_t color) {
  return (mg_cell){(uint8_t)kind, (uint8_t)color, 0, MG_PLAIN};
}

static inline mg_cell mg_door_of(int32_t color, int32_t state) {
  return (mg_cell){MG_DOOR, (uint8_t)color, (uint8_t)state, MG_PLAIN};
}

static inline bool mg_is_inside(const mg_world *world, mg_point at) {
  return (uint32_t)at.x < (uint32_t)world->width && (uint32_t)at.y < (uint32_t)world->height;
}

static inline mg_point mg_ahead(mg_point at, int32_t direction) {
  at.x += (direction == MG_RIGHT) - (direction == MG_LEFT);
  at.y += (direction == MG_DOWN) - (direction == MG_UP);
  return at;
}

static inline mg_area mg_whole(const mg_world *world) {
  return (mg_area){0, 0, world->width, world->height};
}

/* Returns what stands at a place; a wall outside of the grid. */
mg_cell mg_get(const mg_world *world, mg_point at);
/* Puts an object there; a place outside of the grid is a failure of the level. */
void mg_set(mg_world *world, int32_t x, int32_t y, mg_cell cell);

void mg_clear(mg_world *world);
/* walls from (x, y) on: `length` cells to the right, or downwards */
void mg_row(mg_world *world, int32_t x, int32_t y, int32_t length, mg_cell cell);
void mg_column(mg_world *world, int32_t x, int32_t y, int32_t length, mg_cell cell);
/* the walls around an area */
void mg_frame(mg_world *world, mg_area area);

/* Draws low .. high - 1; a failure if there is no such number. After a failure nothing is drawn. */
int32_t mg_draw(mg_world *world, int32_t low, int32_t high);
/* Draws one of the colors in the order of their names. */
int32_t mg_draw_color(mg_world *world);
/* Draws that many colors, which differ, of those in the order of their names. */
void mg_draw_colors(mg_world *world, int32_t count, int32_t *colors);
/* Draws a key, a ball or a box. */
int32_t mg_draw_kind(mg_world *world);

/* Tries places of an area until one is free and not rejected, at most most_tries + 1 times (-1: as
 * often as needed); puts the object there. Returns whether one was found. */
bool mg_try_place(mg_world *world, mg_cell cell, mg_area area, mg_reject reject,
                  const void *context, int32_t most_tries, mg_point *found);
/* as mg_try_place, and a failure of the level if none is found; returns the place */
mg_point mg_place(mg_world *world, mg_cell cell, mg_area area);
/* Places the agent in an area, facing any direction. */
void mg_place_agent(mg_world *world, mg_area area, int32_t most_tries);
/* Puts the agent at the start that a level's options give: column, row and direction; anywhere if
 * the column is 0. */
void mg_start_agent(mg_world *world, const int64_t *start);
/* Puts the agent at a place. */
void mg_put_agent(mg_world *world, int32_t x, int32_t y, int32_t direction);

#endif
