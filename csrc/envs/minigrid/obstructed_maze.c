/* MiniGrid-ObstructedMaze: locked doors, balls before them, and keys in boxes. */
#include "base/fail.h"
#include "level.h"
#include "rooms.h"

/* of the mazes of two rooms, and of those of nine */
enum { KEY_IN_BOX, BLOCKED, NUM_SMALL_OPTIONS };
enum { AGENT_COLUMN = NUM_SMALL_OPTIONS, AGENT_ROW, NUM_QUARTERS, ROOMS_VISITED, NUM_OPTIONS };
enum { ROOM_SIZE = 6, SIDE = 3 /* rooms */, SMALL_VISITED = 2 };
/* the first three colors by name */
enum { TARGET_COLOR = MG_BLUE, BLOCKING_COLOR = MG_GREEN, BOX_COLOR = MG_GREY };

static void describe(mg_shared *shared, int32_t columns, int32_t rows, int64_t visited) {
  shared->width = mg_rooms_side(ROOM_SIZE, columns);
  shared->height = mg_rooms_side(ROOM_SIZE, rows);
  shared->max_steps = (int32_t)(4 * visited * ROOM_SIZE * ROOM_SIZE);
  shared->mission = mg_mission_of(MG_PICK_UP, TARGET_COLOR, MG_BALL, 0, 0);
}

static int configure_small(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)values;
  (void)error;
  describe(shared, 2, 1, SMALL_VISITED);
  return PP_OK;
}

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)error;
  describe(shared, SIDE, SIDE, values[ROOMS_VISITED].i);
  return PP_OK;
}

static void add_key(const mg_shared *shared, mg_rooms *rooms, int32_t column, int32_t row,
                    int32_t color) {
  mg_cell cell = mg_object(MG_KEY, color);
  if (shared->own[KEY_IN_BOX]) {
    cell = mg_object(MG_BOX, BOX_COLOR);
    cell.tag = (uint8_t)(MG_HOLDS_KEY + color);
  }
  mg_rooms_place(rooms, column, row, cell);
}

/* Adds a locked door, and perhaps a ball in the room before it. */
static void add_locked_door(const mg_shared *shared, mg_rooms *rooms, int32_t column, int32_t row,
                            int32_t side, int32_t color) {
  mg_new_door door = mg_rooms_add_door(rooms, column, row, side, color, true);
  if (!shared->own[BLOCKED]) return;
  mg_point before = mg_ahead(door.at, (side + 2) % 4);
  mg_set(rooms->world, before.x, before.y, mg_object(MG_BALL, BLOCKING_COLOR));
}

static void generate_small(const mg_shared *shared, mg_world *world) {
  mg_rooms rooms;
  int32_t colors[MG_NUM_COLORS];
  mg_rooms_begin(&rooms, world, ROOM_SIZE, 1, 2);
  mg_draw_colors(world, MG_NUM_COLORS, colors);
  add_locked_door(shared, &rooms, 0, 0, MG_RIGHT, colors[0]);
  add_key(shared, &rooms, 0, 0, colors[0]);
  mg_rooms_add(&rooms, 1, 0, MG_BALL, TARGET_COLOR, MG_TARGET);
  mg_rooms_place_agent(&rooms, 0, 0);
}

/* The doors of one side room. In the second version both doors are there before their keys. */
static void add_side(const mg_shared *shared, mg_rooms *rooms, int32_t i, mg_point room,
                     const int32_t *colors, bool are_doors_first) {
  mg_rooms_add_door(rooms, 1, 1, i, colors[i], false);
  for (int32_t k = 0; k < 2; k++) {
    int32_t color = colors[(i + (k ? 1 : 5)) % MG_NUM_COLORS];
    add_locked_door(shared, rooms, room.x, room.y, (i + (k ? 1 : 3)) % 4, color);
    if (!are_doors_first) add_key(shared, rooms, room.x, room.y, color);
  }
  for (int32_t k = 0; are_doors_first && k < 2; k++) {
    add_key(shared, rooms, room.x, room.y, colors[(i + (k ? 1 : 5)) % MG_NUM_COLORS]);
  }
}

static void make(const mg_shared *shared, mg_world *world, bool are_doors_first) {
  static const mg_point sides[4] = {{2, 1}, {1, 2}, {0, 1}, {1, 0}};
  static const mg_point corners[4] = {{2, 0}, {2, 2}, {0, 2}, {0, 0}};
  const int64_t *own = shared->own;
  mg_rooms rooms;
  int32_t colors[MG_NUM_COLORS];
  mg_rooms_begin(&rooms, world, ROOM_SIZE, SIDE, SIDE);
  mg_draw_colors(world, MG_NUM_COLORS, colors);
  for (int32_t i = 0; i < own[NUM_QUARTERS]; i++) {
    add_side(shared, &rooms, i, sides[i], colors, are_doors_first);
  }
  mg_point corner = corners[mg_draw(world, 0, (int32_t)own[NUM_QUARTERS])];
  mg_rooms_add(&rooms, corner.x, corner.y, MG_BALL, TARGET_COLOR, MG_TARGET);
  mg_rooms_place_agent(&rooms, (int32_t)own[AGENT_COLUMN], (int32_t)own[AGENT_ROW]);
}

static void generate(const mg_shared *shared, mg_world *world) {
  make(shared, world, false);
}

static void generate_v1(const mg_shared *shared, mg_world *world) {
  make(shared, world, true);
}

static const mg_level small = {.has_full_boxes = true,
                               .configure = configure_small,
                               .generate = generate_small,
                               .after = mg_after_pick_target};
static const mg_level full = {.has_full_boxes = true,
                              .configure = configure,
                              .generate = generate,
                              .after = mg_after_pick_target};
static const mg_level full_v1 = {.has_full_boxes = true,
                                 .configure = configure,
                                 .generate = generate_v1,
                                 .after = mg_after_pick_target};

#define HIDING(in_box, blocked)                                           \
  MG_BOOL(KEY_IN_BOX, "key_in_box", in_box, "whether keys are in boxes"), \
      MG_BOOL(BLOCKED, "blocked", blocked, "whether balls are before doors")

#define SMALL(title, in_box, blocked)                                                   \
  {                                                                                     \
      MG_DEFINITION("ObstructedMaze-" title, &small, NUM_SMALL_OPTIONS, MG_NUM_ACTIONS, \
                    MG_COMMON(false), HIDING(in_box, blocked)),                         \
  }

#define FULL(title, level, column, row, in_box, blocked, quarters, visited)                        \
  {                                                                                                \
      MG_DEFINITION("ObstructedMaze-" title, level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false), \
                    HIDING(in_box, blocked),                                                       \
                    MG_INT(AGENT_COLUMN, "agent_column", column, 0, SIDE - 1,                      \
                           "column of the room where the agent starts"),                           \
                    MG_INT(AGENT_ROW, "agent_row", row, 0, SIDE - 1,                               \
                           "row of the room where the agent starts"),                              \
                    MG_INT(NUM_QUARTERS, "num_quarters", quarters, 1, 4,                           \
                           "sides of the maze with doors, keys and perhaps the target"),           \
                    MG_INT(ROOMS_VISITED, "num_rooms_visited", visited, 1, 1 << 16,                \
                           "rooms for which max_steps leaves time")),                              \
  }

const pp_env_def pp_env_minigrid_obstructed_maze[13] = {
    SMALL("1Dl-v0", false, false),
    SMALL("1Dlh-v0", true, false),
    SMALL("1Dlhb-v0", true, true),
    FULL("2Dl-v0", &full, 2, 1, false, false, 1, 4),
    FULL("2Dlh-v0", &full, 2, 1, true, false, 1, 4),
    FULL("2Dlhb-v0", &full, 2, 1, true, true, 1, 4),
    FULL("1Q-v0", &full, 1, 1, true, true, 1, 5),
    FULL("2Q-v0", &full, 2, 1, true, true, 2, 11),
    FULL("Full-v0", &full, 1, 1, true, true, 4, 25),
    FULL("2Dlhb-v1", &full_v1, 2, 1, true, true, 1, 4),
    FULL("1Q-v1", &full_v1, 1, 1, true, true, 1, 5),
    FULL("2Q-v1", &full_v1, 2, 1, true, true, 2, 11),
    FULL("Full-v1", &full_v1, 1, 1, true, true, 4, 25),
};
