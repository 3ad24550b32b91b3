/* BabyAI-ActionObjDoor, -FindObj..., -KeyCorridor..., -OneRoom...: other levels. */
#include "babyai.h"

enum { MIDDLE = 1 /* row and column of the room in the middle */, NUM_DOORS = 4 };

static bb_description any_of(int32_t kind) {
  return bb_any(kind, BB_ANY_COLOR, BB_ANYWHERE);
}

/* Go to an object or a door, or do with it what can be done. */
static void make_action(bb_scene *scene) {
  bb_objects objects = {0};
  bb_add_distractors(scene, MIDDLE, MIDDLE, 5, true, &objects);
  for (int32_t i = 0; i < NUM_DOORS; i++) {
    objects.at[objects.count++] =
        mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_DRAWN, MG_DRAWN, false).at;
  }
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  bb_description what = bb_like(scene, bb_choose(scene, &objects));
  bool is_to_go = mg_draw(scene->world, 0, 2) == 0;
  bb_ask(scene, 0, is_to_go ? BB_GO_TO : what.kind == MG_DOOR ? BB_OPEN : BB_PICK_UP, what);
}

static void make_find(bb_scene *scene) {
  mg_rooms *rooms = &scene->rooms;
  /* minigrid takes a row for a column, and the other way round */
  int32_t column = mg_draw(scene->world, 0, rooms->rows);
  int32_t row = mg_draw(scene->world, 0, rooms->columns);
  mg_point at = bb_add(scene, column, row, MG_DRAWN, MG_DRAWN);
  mg_rooms_place_agent(rooms, MIDDLE, MIDDLE);
  mg_rooms_connect(rooms, MG_DRAWN);
  bb_ask(scene, 0, BB_PICK_UP, any_of(bb_like(scene, at).kind));
}

static void make_corridor(bb_scene *scene) {
  mg_rooms *rooms = &scene->rooms;
  mg_world *world = scene->world;
  for (int32_t row = 1; row < rooms->rows; row++) mg_rooms_remove_wall(rooms, MIDDLE, row, MG_UP);
  int32_t locked = mg_draw(world, 0, rooms->rows);
  mg_new_door door = mg_rooms_add_door(rooms, 2, locked, MG_LEFT, MG_DRAWN, true);
  bb_add(scene, 2, locked, scene->settings->kind, MG_DRAWN);
  bb_add(scene, 0, mg_draw(world, 0, rooms->rows), MG_KEY, door.color);
  mg_rooms_place_agent(rooms, MIDDLE, rooms->rows / 2);
  mg_rooms_connect(rooms, MG_DRAWN);
  bb_ask(scene, 0, BB_PICK_UP, any_of(scene->settings->kind));
}

static void make_one_room(bb_scene *scene) {
  bb_add(scene, 0, 0, MG_BALL, MG_DRAWN);
  bb_place_agent(scene);
  bb_ask(scene, 0, BB_PICK_UP, any_of(MG_BALL));
}

static const bb_level action = {.level = BB_LEVEL, .make = make_action, .fixed = {.room_size = 7}};
static const bb_level find = {
    .level = BB_LEVEL, .make = make_find, .fixed = {.rows = 3, .columns = 3, .steps_per_cell = 20}};
static const bb_level corridor = {
    .level = BB_LEVEL, .make = make_corridor, .fixed = {.steps_per_cell = 30}};
static const bb_level one_room = {
    .level = BB_LEVEL, .make = make_one_room, .fixed = {.rows = 1, .columns = 1}};

#define FIND(title, size) BB_DEFINITION(title, find, MG_COMMON(false), BB_SIZE(size))
#define CORRIDOR(title, size, rows)                                                 \
  BB_DEFINITION(title, corridor, MG_COMMON(false), BB_SIZE(size), BB_ROWS(rows, 1), \
                BB_COLUMNS(3, 3),                                                   \
                BB_STRING("obj_type", "ball", "what to pick up: key, ball or box"))
#define ONE_ROOM(title, size) BB_DEFINITION(title, one_room, MG_COMMON(false), BB_SIZE(size))

const pp_env_def pp_env_babyai_other[15] = {
    BB_DEFINITION("ActionObjDoor-v0", action, MG_COMMON(false), BB_MAZE(3)),
    FIND("FindObjS5-v0", 5),
    FIND("FindObjS6-v0", 6),
    FIND("FindObjS7-v0", 7),
    CORRIDOR("KeyCorridor-v0", 6, 3),
    CORRIDOR("KeyCorridorS3R1-v0", 3, 1),
    CORRIDOR("KeyCorridorS3R2-v0", 3, 2),
    CORRIDOR("KeyCorridorS3R3-v0", 3, 3),
    CORRIDOR("KeyCorridorS4R3-v0", 4, 3),
    CORRIDOR("KeyCorridorS5R3-v0", 5, 3),
    CORRIDOR("KeyCorridorS6R3-v0", 6, 3),
    ONE_ROOM("OneRoomS8-v0", 8),
    ONE_ROOM("OneRoomS12-v0", 12),
    ONE_ROOM("OneRoomS16-v0", 16),
    ONE_ROOM("OneRoomS20-v0", 20),
};
