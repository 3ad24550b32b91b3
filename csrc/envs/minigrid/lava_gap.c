/* MiniGrid-LavaGap: a column of lava, or of walls, with one gap. */
#include <string.h>

#include "base/fail.h"
#include "level.h"

enum { SIZE, OBSTACLE, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(4 * size * size);
  return mg_read_obstacle(&values[OBSTACLE], &shared->own[OBSTACLE], &shared->mission, error);
}

static void generate(const mg_shared *shared, mg_world *world) {
  int32_t width = world->width, height = world->height;
  mg_frame(world, mg_whole(world));
  mg_put_agent(world, 1, 1, MG_RIGHT);
  mg_set(world, width - 2, height - 2, mg_goal);
  int32_t x = mg_draw(world, 2, width - 2);
  int32_t y = mg_draw(world, 1, height - 1);
  mg_column(world, x, 1, height - 2, shared->own[OBSTACLE] == MG_LAVA ? mg_lava : mg_wall);
  mg_set(world, x, y, mg_empty);
}

static const mg_level level = {.configure = configure, .generate = generate};

#define LAVA_GAP(title, size)                                                                     \
  {                                                                                               \
      MG_DEFINITION("LavaGap" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false), \
                    MG_SIZE(SIZE, size), MG_OBSTACLE(OBSTACLE, "lava")),                          \
  }

const pp_env_def pp_env_minigrid_lava_gap[3] = {
    LAVA_GAP("S5", 5),
    LAVA_GAP("S6", 6),
    LAVA_GAP("S7", 7),
};
