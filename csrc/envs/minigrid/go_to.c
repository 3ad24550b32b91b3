/* MiniGrid-GoToDoor, MiniGrid-GoToObject: go to a door or an object, and say that it is done. */
#include "level.h"
#include "objects.h"

enum { SIZE, NUM_DOOR_OPTIONS };
enum { NUM_OBJECTS = NUM_DOOR_OPTIONS, NUM_OBJECT_OPTIONS };
enum { NUM_DOORS = 4, LEAST_ROOM = 5 };

static int configure_size(mg_shared *shared, const pp_value *values, int64_t steps_per_cell) {
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(steps_per_cell * size * size);
  return PP_OK;
}

static int configure_doors(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  return configure_size(shared, values, 4);
}

static int configure_objects(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  return configure_size(shared, values, 5);
}

/* Draws the colors of the doors, which differ. */
static void draw_colors(mg_world *world, int32_t *colors) {
  bool is_used[MG_NUM_COLORS] = {false};
  for (int32_t count = 0; count < NUM_DOORS && !world->failure;) {
    int32_t color = mg_draw_color(world);
    if (!is_used[color]) colors[count++] = color;
    is_used[color] = true;
  }
}

static void generate_doors(const mg_shared *shared, mg_world *world) {
  (void)shared;
  /* a room of any size in the corner of the grid */
  int32_t width = mg_draw(world, LEAST_ROOM, world->width + 1);
  int32_t height = mg_draw(world, LEAST_ROOM, world->height + 1);
  mg_area room = {0, 0, width, height};
  mg_frame(world, room);
  mg_point places[NUM_DOORS];
  int32_t colors[NUM_DOORS] = {0};
  places[0] = (mg_point){mg_draw(world, 2, width - 2), 0};
  places[1] = (mg_point){mg_draw(world, 2, width - 2), height - 1};
  places[2] = (mg_point){0, mg_draw(world, 2, height - 2)};
  places[3] = (mg_point){width - 1, mg_draw(world, 2, height - 2)};
  draw_colors(world, colors);
  for (int32_t i = 0; i < NUM_DOORS; i++) {
    mg_set(world, places[i].x, places[i].y, mg_door_of(colors[i], MG_CLOSED));
  }
  mg_place_agent(world, room, -1);
  int32_t target = mg_draw(world, 0, NUM_DOORS);
  world->state->places[0] = places[target];
  world->state->mission[0] = mg_mission_of(MG_GO_TO_DOOR, colors[target], 0, 0, 0);
}

static void generate_objects(const mg_shared *shared, mg_world *world) {
  mg_objects objects;
  mg_frame(world, mg_whole(world));
  mg_scatter(world, (int32_t)shared->own[NUM_OBJECTS], false, &objects);
  mg_place_agent(world, mg_whole(world), -1);
  int32_t target = mg_draw(world, 0, objects.count);
  if (world->failure) return;
  mg_cell cell = objects.cells[target];
  world->state->places[0] = objects.places[target];
  world->state->mission[0] = mg_mission_of(MG_GO_TO, cell.color, cell.kind, 0, 0);
}

static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  if (action == MG_TOGGLE) outcome->terminated = true;
  if (action != MG_DONE) return;
  if (mg_is_beside(world->state->agent, world->state->places[0])) {
    outcome->reward = mg_success(world);
  }
  outcome->terminated = true;
}

static const mg_level doors = {
    .configure = configure_doors, .generate = generate_doors, .after = after};
static const mg_level objects_level = {
    .configure = configure_objects, .generate = generate_objects, .after = after};

#define GO_TO_DOOR(title, size)                                                        \
  {                                                                                    \
      MG_DEFINITION("GoToDoor-" title "-v0", &doors, NUM_DOOR_OPTIONS, MG_NUM_ACTIONS, \
                    MG_COMMON(true),                                                   \
                    MG_INT(SIZE, "size", size, LEAST_ROOM, MG_MOST_SIDE,               \
                           "cells of a side of the largest room")),                    \
  }

#define GO_TO_OBJECT(title, size)                                                                  \
  {                                                                                                \
      MG_DEFINITION("GoToObject-" title "-v0", &objects_level, NUM_OBJECT_OPTIONS, MG_NUM_ACTIONS, \
                    MG_COMMON(true), MG_SIZE(SIZE, size),                                          \
                    MG_INT(NUM_OBJECTS, "numObjs", 2, 1, MG_MOST_OBJECTS, "objects")),             \
  }

const pp_env_def pp_env_minigrid_go_to_door[3] = {
    GO_TO_DOOR("5x5", 5),
    GO_TO_DOOR("6x6", 6),
    GO_TO_DOOR("8x8", 8),
};

const pp_env_def pp_env_minigrid_go_to_object[2] = {
    GO_TO_OBJECT("6x6-N2", 6),
    GO_TO_OBJECT("8x8-N2", 8),
};
