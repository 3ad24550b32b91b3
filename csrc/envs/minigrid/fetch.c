/* MiniGrid-Fetch: one of several keys and balls is the one to pick up. */
#include "level.h"

enum { SIZE, NUM_OBJECTS, NUM_OPTIONS };
enum { MOST_OBJECTS = 256, NUM_WAYS = 5 /* to say it */ };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(5 * size * size);
  return PP_OK;
}

static void generate(const mg_shared *shared, mg_world *world) {
  mg_cell objects[MOST_OBJECTS];
  int32_t count = (int32_t)shared->own[NUM_OBJECTS];
  mg_frame(world, mg_whole(world));
  for (int32_t i = 0; i < count; i++) {
    int32_t kind = MG_KEY + mg_draw(world, 0, 2);
    objects[i] = mg_object(kind, mg_draw_color(world));
    mg_place(world, objects[i], mg_whole(world));
  }
  mg_place_agent(world, mg_whole(world), -1);
  mg_cell target = objects[mg_draw(world, 0, count)];
  int32_t way = mg_draw(world, 0, NUM_WAYS);
  world->state->places[0] = (mg_point){target.kind, target.color};
  world->state->mission[0] = mg_mission_of(MG_FETCH + way, target.color, target.kind, 0, 0);
}

/* Any object that is like the target will do. */
static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  (void)action;
  mg_cell carried = world->state->carried;
  mg_point target = world->state->places[0];
  if (!carried.kind) return;
  bool is_right = carried.kind == target.x && carried.color == target.y;
  outcome->reward = is_right ? mg_success(world) : 0;
  outcome->terminated = true;
}

static const mg_level level = {.configure = configure, .generate = generate, .after = after};

#define FETCH(title, size, count)                                                               \
  {                                                                                             \
      MG_DEFINITION("Fetch-" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(true), \
                    MG_SIZE(SIZE, size),                                                        \
                    MG_INT(NUM_OBJECTS, "numObjs", count, 1, MOST_OBJECTS, "keys and balls")),  \
  }

const pp_env_def pp_env_minigrid_fetch[3] = {
    FETCH("5x5-N2", 5, 2),
    FETCH("6x6-N2", 6, 2),
    FETCH("8x8-N3", 8, 3),
};
