/* MiniGrid-DistShift: two strips of lava, of which one lies elsewhere in the second id. */
#include "base/fail.h"
#include "level.h"

enum { WIDTH, HEIGHT, START_X, START_Y, START_DIRECTION, STRIP_ROW, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t width = values[WIDTH].i, height = values[HEIGHT].i;
  int64_t x = values[START_X].i, y = values[START_Y].i, strip = values[STRIP_ROW].i;
  shared->width = (int32_t)width;
  shared->height = (int32_t)height;
  shared->max_steps = (int32_t)(4 * width * height);
  shared->mission = MG_GET_TO_GOAL;
  if ((x == 0) == (y == 0) && x <= width - 2 && y <= height - 2 && strip <= height - 2) {
    return PP_OK;
  }
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "agent_start_pos=(%lld, %lld), strip2_row=%lld: choose cells between the walls",
                 (long long)x, (long long)y, (long long)strip);
}

static void generate(const mg_shared *shared, mg_world *world) {
  mg_frame(world, mg_whole(world));
  mg_set(world, world->width - 2, 1, mg_goal);
  mg_row(world, 3, 1, world->width - 6, mg_lava);
  mg_row(world, 3, (int32_t)shared->own[STRIP_ROW], world->width - 6, mg_lava);
  mg_start_agent(world, shared->own + START_X);
  if (shared->own[START_X] && mg_get(world, world->state->agent).kind == MG_WALL) {
    world->failure = "agent_start_pos is in a wall: choose another";
  }
}

static const mg_level level = {.configure = configure, .generate = generate};

#define DIST_SHIFT(title, row)                                                               \
  {                                                                                          \
      MG_DEFINITION(                                                                         \
          "DistShift" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(true),     \
          MG_INT(WIDTH, "width", 9, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a row"),          \
          MG_INT(HEIGHT, "height", 7, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a column"),     \
          MG_START(START_X, START_Y, START_DIRECTION, 1),                                    \
          MG_INT(STRIP_ROW, "strip2_row", row, 1, MG_MOST_SIDE, "row of the second strip")), \
  }

const pp_env_def pp_env_minigrid_dist_shift[2] = {
    DIST_SHIFT("1", 2),
    DIST_SHIFT("2", 5),
};
