/* MiniGrid-KeyCorridor: rooms beside a corridor; one is locked, and its key is in another. */
#include <string.h>

#include "base/fail.h"
#include "level.h"
#include "rooms.h"

enum { NUM_ROWS, OBJECT, ROOM_SIZE, NUM_OPTIONS };
enum { COLUMNS = 3 };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  static const char *const kinds[] = {"key", "ball", "box"};
  int64_t size = values[ROOM_SIZE].i, rows = values[NUM_ROWS].i;
  shared->width = mg_rooms_side((int32_t)size, COLUMNS);
  shared->height = mg_rooms_side((int32_t)size, (int32_t)rows);
  shared->max_steps = (int32_t)(30 * size * size);
  for (int32_t i = 0; i < 3; i++) {
    if (strcmp(values[OBJECT].s, kinds[i]) == 0) {
      shared->own[OBJECT] = MG_KEY + i;
      return mg_check_rooms(rows, COLUMNS, error);
    }
  }
  return pp_fail(error, PP_ERR_ARGUMENT, "obj_type='%.40s': choose key, ball or box",
                 values[OBJECT].s);
}

static void generate(const mg_shared *shared, mg_world *world) {
  mg_rooms rooms;
  int32_t rows = (int32_t)shared->own[NUM_ROWS], kind = (int32_t)shared->own[OBJECT];
  mg_rooms_begin(&rooms, world, (int32_t)shared->own[ROOM_SIZE], rows, COLUMNS);
  for (int32_t row = 1; row < rows; row++) mg_rooms_remove_wall(&rooms, 1, row, MG_UP);
  int32_t locked = mg_draw(world, 0, rows);
  mg_new_door door = mg_rooms_add_door(&rooms, 2, locked, MG_LEFT, MG_DRAWN, true);
  int32_t color = mg_rooms_add(&rooms, 2, locked, kind, MG_DRAWN, MG_TARGET);
  mg_rooms_add(&rooms, 0, mg_draw(world, 0, rows), MG_KEY, door.color, MG_PLAIN);
  mg_rooms_place_agent(&rooms, 1, rows / 2);
  mg_rooms_connect(&rooms, MG_DRAWN);
  world->state->mission[0] = mg_mission_of(MG_PICK_UP, color, kind, 0, 0);
}

static const mg_level level = {
    .configure = configure, .generate = generate, .after = mg_after_pick_target};

#define KEY_CORRIDOR(title, size, rows)                                                           \
  {                                                                                               \
      MG_DEFINITION("KeyCorridor" title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS,               \
                    MG_COMMON(false), MG_INT(NUM_ROWS, "num_rows", rows, 1, 20, "rows of rooms"), \
                    MG_STRING(OBJECT, "obj_type", "ball", "what to pick up: key, ball or box"),   \
                    MG_INT(ROOM_SIZE, "room_size", size, MG_LEAST_SIDE, MG_MOST_SIDE,             \
                           "cells of a room's side, walls included")),                            \
  }

const pp_env_def pp_env_minigrid_key_corridor[6] = {
    KEY_CORRIDOR("S3R1", 3, 1), KEY_CORRIDOR("S3R2", 3, 2), KEY_CORRIDOR("S3R3", 3, 3),
    KEY_CORRIDOR("S4R3", 4, 3), KEY_CORRIDOR("S5R3", 5, 3), KEY_CORRIDOR("S6R3", 6, 3),
};
