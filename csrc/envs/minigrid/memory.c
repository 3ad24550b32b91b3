/* MiniGrid-Memory: the agent sees an object, and must go to the like at the end of a hallway. */
#include "base/fail.h"
#include "level.h"

enum { SIZE, RANDOM_LENGTH, NUM_OPTIONS };
/* mg_state.places */
enum { SUCCESS, FAILURE };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(5 * size * size);
  shared->mission = MG_MATCH;
  if (size % 2 && size >= 7) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "size=%lld: choose an odd number from 7 on",
                 (long long)size);
}

static void make_walls(mg_world *world, int32_t end) {
  int32_t middle = world->height / 2, upper = middle - 2, lower = middle + 2;
  mg_frame(world, mg_whole(world));
  mg_row(world, 1, upper, 4, mg_wall);
  mg_row(world, 1, lower, 4, mg_wall);
  mg_set(world, 4, upper + 1, mg_wall);
  mg_set(world, 4, lower - 1, mg_wall);
  mg_row(world, 5, upper + 1, end - 5, mg_wall);
  mg_row(world, 5, lower - 1, end - 5, mg_wall);
  for (int32_t y = 0; y < world->height; y++) {
    if (y != middle) mg_set(world, end, y, mg_wall);
    mg_set(world, end + 2, y, mg_wall);
  }
}

static void generate(const mg_shared *shared, mg_world *world) {
  int32_t width = world->width, middle = world->height / 2;
  int32_t end = shared->own[RANDOM_LENGTH] ? mg_draw(world, 4, width - 2) : width - 3;
  make_walls(world, end);
  mg_put_agent(world, mg_draw(world, 1, end + 1), middle, MG_RIGHT);
  int32_t shown = MG_KEY + mg_draw(world, 0, 2);
  int32_t upper = MG_BALL - mg_draw(world, 0, 2);
  mg_set(world, 1, middle - 1, mg_object(shown, MG_GREEN));
  mg_set(world, end + 1, middle - 2, mg_object(upper, MG_GREEN));
  mg_set(world, end + 1, middle + 2, mg_object(MG_KEY + MG_BALL - upper, MG_GREEN));
  mg_point places[2] = {{end + 1, middle - 1}, {end + 1, middle + 1}};
  world->state->places[SUCCESS] = places[shown != upper];
  world->state->places[FAILURE] = places[shown == upper];
}

/* Nothing can be picked up. */
static int32_t before(const mg_shared *shared, mg_world *world, int64_t *action) {
  (void)shared;
  (void)world;
  if (*action == MG_PICK) *action = MG_TOGGLE;
  return 0;
}

static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  (void)action;
  const mg_state *it = world->state;
  const mg_point *good = &it->places[SUCCESS], *bad = &it->places[FAILURE];
  if (it->agent.x == good->x && it->agent.y == good->y) {
    outcome->reward = mg_success(world);
    outcome->terminated = true;
  }
  if (it->agent.x == bad->x && it->agent.y == bad->y) {
    outcome->reward = 0;
    outcome->terminated = true;
  }
}

static const mg_level level = {
    .configure = configure, .generate = generate, .before = before, .after = after};

#define MEMORY(title, size, random)                                                              \
  {                                                                                              \
      MG_DEFINITION("Memory" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false), \
                    MG_SIZE(SIZE, size),                                                         \
                    MG_BOOL(RANDOM_LENGTH, "random_length", random,                              \
                            "whether the hallway's length is drawn")),                           \
  }

const pp_env_def pp_env_minigrid_memory[6] = {
    MEMORY("S17Random", 17, true), MEMORY("S13Random", 13, true), MEMORY("S13", 13, false),
    MEMORY("S11", 11, false),      MEMORY("S9", 9, false),        MEMORY("S7", 7, false),
};
