/* MiniGrid-DoorKey: a key opens the door to the half with the goal. */
#include "level.h"

enum { SIZE, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(10 * size * size);
  shared->mission = MG_USE_KEY;
  return PP_OK;
}

static void generate(const mg_shared *shared, mg_world *world) {
  (void)shared;
  int32_t width = world->width, height = world->height;
  mg_frame(world, mg_whole(world));
  mg_set(world, width - 2, height - 2, mg_goal);

  /* a wall with a locked door; the agent and the key are to its left */
  int32_t wall = mg_draw(world, 2, width - 2);
  mg_column(world, wall, 0, height, mg_wall);
  mg_area left = {0, 0, wall, height};
  mg_place_agent(world, left, -1);
  mg_set(world, wall, mg_draw(world, 1, height - 2), mg_door_of(MG_YELLOW, MG_LOCKED));
  mg_place(world, mg_object(MG_KEY, MG_YELLOW), left);
}

static const mg_level level = {.configure = configure, .generate = generate};

#define DOOR_KEY(title, size)                                                                      \
  {                                                                                                \
      MG_DEFINITION("DoorKey-" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false), \
                    MG_SIZE(SIZE, size)),                                                          \
  }

const pp_env_def pp_env_minigrid_door_key[4] = {
    DOOR_KEY("5x5", 5),
    DOOR_KEY("6x6", 6),
    DOOR_KEY("8x8", 8),
    DOOR_KEY("16x16", 16),
};
