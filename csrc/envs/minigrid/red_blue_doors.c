/* MiniGrid-RedBlueDoors: the red door must be opened before the blue one. */
#include "level.h"

enum { SIZE, NUM_OPTIONS };
/* mg_state.places */
enum { RED, BLUE };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  int64_t size = values[SIZE].i;
  shared->width = (int32_t)(2 * size);
  shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(20 * size * size);
  shared->mission = MG_RED_THEN_BLUE;
  return PP_OK;
}

static void generate(const mg_shared *shared, mg_world *world) {
  int32_t size = (int32_t)shared->own[SIZE];
  mg_area room = {size / 2, 0, size, size};
  mg_point *places = world->state->places;
  mg_frame(world, mg_whole(world));
  mg_frame(world, room);
  mg_place_agent(world, room, -1);
  places[RED] = (mg_point){size / 2, mg_draw(world, 1, size - 1)};
  mg_set(world, places[RED].x, places[RED].y, mg_door_of(MG_RED, MG_CLOSED));
  places[BLUE] = (mg_point){size / 2 + size - 1, mg_draw(world, 1, size - 1)};
  mg_set(world, places[BLUE].x, places[BLUE].y, mg_door_of(MG_BLUE, MG_CLOSED));
}

static bool is_open(const mg_world *world, int32_t which) {
  mg_cell door = mg_get(world, world->state->places[which]);
  return door.kind == MG_DOOR && door.state == MG_OPEN;
}

static int32_t before(const mg_shared *shared, mg_world *world, int64_t *action) {
  (void)shared;
  (void)action;
  return is_open(world, RED);
}

/* Only the blue door ends an episode, so it was closed before. */
static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  (void)action;
  if (!is_open(world, BLUE)) return;
  outcome->reward = outcome->note ? mg_success(world) : 0;
  outcome->terminated = true;
}

static const mg_level level = {
    .configure = configure, .generate = generate, .before = before, .after = after};

#define DOORS(title, size)                                                            \
  {                                                                                   \
      MG_DEFINITION("RedBlueDoors-" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, \
                    MG_COMMON(false),                                                 \
                    MG_INT(SIZE, "size", size, MG_LEAST_SIDE, MG_MOST_SIDE / 2,       \
                           "cells of a side of the room")),                           \
  }

const pp_env_def pp_env_minigrid_red_blue_doors[2] = {
    DOORS("6x6", 6),
    DOORS("8x8", 8),
};
