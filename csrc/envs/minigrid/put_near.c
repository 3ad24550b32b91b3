/* MiniGrid-PutNear: put one object near another. */
#include <stdlib.h>

#include "level.h"
#include "objects.h"

enum { SIZE, NUM_OBJECTS, NUM_OPTIONS };
/* mg_state.places: kind and color of the object to move, and where the other one was */
enum { MOVED, TARGET };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(5 * size);
  return PP_OK;
}

static void generate(const mg_shared *shared, mg_world *world) {
  mg_objects objects;
  mg_frame(world, mg_whole(world));
  mg_scatter(world, (int32_t)shared->own[NUM_OBJECTS], true, &objects);
  mg_place_agent(world, mg_whole(world), -1);
  int32_t moved = mg_draw(world, 0, objects.count), target;
  do target = mg_draw(world, 0, objects.count);
  while (target == moved && !world->failure);
  if (world->failure) return;
  mg_cell from = objects.cells[moved], to = objects.cells[target];
  world->state->places[MOVED] = (mg_point){from.kind, from.color};
  world->state->places[TARGET] = objects.places[target];
  world->state->mission[0] = mg_mission_of(MG_PUT_NEAR, from.color, from.kind, to.color, to.kind);
}

static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  const mg_state *it = world->state;
  mg_point moved = it->places[MOVED], target = it->places[TARGET];
  if (action == MG_PICK && it->carried.kind &&
      (it->carried.kind != moved.x || it->carried.color != moved.y)) {
    outcome->terminated = true;
  }
  if (action != MG_DROP || !outcome->carried.kind) return;
  mg_point front = mg_ahead(it->agent, it->direction);
  bool is_near = abs(front.x - target.x) <= 1 && abs(front.y - target.y) <= 1;
  if (!it->carried.kind && is_near) outcome->reward = mg_success(world);
  outcome->terminated = true;
}

static const mg_level level = {.configure = configure, .generate = generate, .after = after};

#define PUT_NEAR(title, size, count)                                                              \
  {                                                                                               \
      MG_DEFINITION("PutNear-" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(true), \
                    MG_SIZE(SIZE, size),                                                          \
                    MG_INT(NUM_OBJECTS, "numObjs", count, 2, MG_MOST_OBJECTS, "objects")),        \
  }

const pp_env_def pp_env_minigrid_put_near[2] = {
    PUT_NEAR("6x6-N2", 6, 2),
    PUT_NEAR("8x8-N3", 8, 3),
};
