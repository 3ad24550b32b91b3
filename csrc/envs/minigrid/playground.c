/* MiniGrid-Playground: nine rooms and twelve objects, and nothing to do. */
#include "level.h"

enum { SIDE = 19, ROOMS = 3, NUM_OBJECTS = 12 };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)values;
  (void)error;
  shared->width = shared->height = SIDE;
  shared->max_steps = 100;
  shared->mission = MG_PLAY;
  return PP_OK;
}

static void generate(const mg_shared *shared, mg_world *world) {
  (void)shared;
  int32_t size = SIDE / ROOMS;
  mg_frame(world, mg_whole(world));
  for (int32_t i = 0; i < ROOMS * ROOMS; i++) {
    int32_t left = i % ROOMS * size, top = i / ROOMS * size;
    int32_t right = left + size, bottom = top + size;
    if (i % ROOMS < ROOMS - 1) {
      mg_column(world, right, top, size, mg_wall);
      int32_t y = mg_draw(world, top + 1, bottom - 1);
      mg_set(world, right, y, mg_door_of(mg_draw_color(world), MG_CLOSED));
    }
    if (i / ROOMS < ROOMS - 1) {
      mg_row(world, left, bottom, size, mg_wall);
      int32_t x = mg_draw(world, left + 1, right - 1);
      mg_set(world, x, bottom, mg_door_of(mg_draw_color(world), MG_CLOSED));
    }
  }
  mg_place_agent(world, mg_whole(world), -1);
  for (int32_t i = 0; i < NUM_OBJECTS; i++) {
    int32_t kind = mg_draw_kind(world);
    mg_place(world, mg_object(kind, mg_draw_color(world)), mg_whole(world));
  }
}

static const mg_level level = {.configure = configure, .generate = generate};

const pp_env_def pp_env_minigrid_playground = {
    MG_DEFINITION("Playground-v0", &level, 0, MG_NUM_ACTIONS, MG_COMMON(false)),
};
