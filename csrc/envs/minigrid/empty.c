/* MiniGrid-Empty: a room with a goal in its corner. */
#include "base/fail.h"
#include "level.h"

enum { SIZE, START_X, START_Y, START_DIRECTION, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[SIZE].i, x = values[START_X].i, y = values[START_Y].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(4 * size * size);
  shared->mission = MG_GET_TO_GOAL;
  if ((x == 0) == (y == 0) && x <= size - 2 && y <= size - 2) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "agent_start_pos=(%lld, %lld): choose a cell between the walls, or None",
                 (long long)x, (long long)y);
}

static void generate(const mg_shared *shared, mg_world *world) {
  const int64_t *own = shared->own;
  mg_frame(world, mg_whole(world));
  mg_set(world, world->width - 2, world->height - 2, mg_goal);
  if (own[START_X]) {
    mg_put_agent(world, (int32_t)own[START_X], (int32_t)own[START_Y],
                 (int32_t)own[START_DIRECTION]);
  } else {
    mg_place_agent(world, mg_whole(world), -1);
  }
}

static const mg_level level = {.configure = configure, .generate = generate};

#define EMPTY(title, size, start)                                                               \
  {                                                                                             \
      MG_DEFINITION("Empty-" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(true), \
                    MG_SIZE(SIZE, size), MG_START(START_X, START_Y, START_DIRECTION, start)),   \
  }

const pp_env_def pp_env_minigrid_empty[6] = {
    EMPTY("5x5", 5, 1),        EMPTY("Random-5x5", 5, 0), EMPTY("6x6", 6, 1),
    EMPTY("Random-6x6", 6, 0), EMPTY("8x8", 8, 1),        EMPTY("16x16", 16, 1),
};
