/* BabyAI-Open...: open a door, or two in order. */
#include "babyai.h"

enum { MIDDLE = 1 /* row and column of the room in the middle */, NUM_DOORS = 4 };
/* the parts of the mission of OpenDoorsOrder */
enum { ONLY_FIRST, FIRST_THEN, FIRST_AFTER, NUM_ORDERS };

static void ask_open(bb_scene *scene, int32_t number, bb_description what) {
  bb_ask(scene, number, BB_OPEN, what);
  scene->clauses[number].is_strict = scene->settings->is_strict;
}

static bb_description door_of(int32_t color) {
  return bb_any(MG_DOOR, color, BB_ANYWHERE);
}

/* Any door of a maze. */
static void make_open(bb_scene *scene) {
  mg_world *world = scene->world;
  mg_rooms *rooms = &scene->rooms;
  mg_point doors[4 * MG_MOST_ROOMS];
  int32_t count = 0;
  bb_place_agent(scene);
  mg_rooms_connect(rooms, MG_DRAWN);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 18, false, NULL);
  bb_check_reachable(scene);
  if (scene->is_rejected) return;
  /* each door counts twice, once for each of its rooms */
  for (int32_t i = 0; i < rooms->columns * rooms->rows; i++) {
    const mg_room *room = mg_room_at(rooms, i / rooms->rows, i % rooms->rows);
    for (int32_t side = 0; side < 4; side++) {
      if (room->is_joined[side]) doors[count++] = room->door[side];
    }
  }
  int32_t chosen = mg_draw(world, 0, count);
  if (!world->failure) ask_open(scene, 0, bb_like(scene, doors[chosen]));
}

static void make_red_door(bb_scene *scene) {
  mg_rooms_add_door(&scene->rooms, 0, 0, MG_RIGHT, MG_RED, false);
  mg_rooms_place_agent(&scene->rooms, 0, 0);
  ask_open(scene, 0, door_of(MG_RED));
}

/* One of four doors, by its color or its place. */
static void make_door(bb_scene *scene) {
  mg_world *world = scene->world;
  int32_t colors[NUM_DOORS], selects_by = scene->settings->selects_by;
  mg_draw_colors(world, NUM_DOORS, colors);
  for (int32_t side = 0; side < NUM_DOORS; side++) {
    mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, side, colors[side], false);
  }
  if (selects_by == BB_BY_EITHER) selects_by = mg_draw(world, 0, 2) ? BB_BY_WHERE : BB_BY_COLOR;
  bb_description what = door_of(colors[0]);
  if (selects_by == BB_BY_WHERE) {
    what = bb_any(MG_DOOR, BB_ANY_COLOR, BB_LEFT + mg_draw(world, 0, 4));
  }
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  ask_open(scene, 0, what);
}

/* The door to the left, then the one to the right; only the first may be strict. */
static void make_two(bb_scene *scene) {
  int32_t colors[2];
  mg_draw_colors(scene->world, 2, colors);
  for (int32_t i = 0; i < 2; i++) {
    if (scene->settings->colors[i] != MG_DRAWN) colors[i] = scene->settings->colors[i];
  }
  mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_LEFT, colors[0], false);
  mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_RIGHT, colors[1], false);
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  ask_open(scene, 0, door_of(colors[0]));
  bb_ask(scene, BB_CLAUSES_OF_SIDE, BB_OPEN, door_of(colors[1]));
}

static void make_order(bb_scene *scene) {
  mg_world *world = scene->world;
  bb_objects doors = {0};
  int32_t colors[MG_NUM_COLORS], count = scene->settings->count;
  mg_point chosen[2];
  mg_draw_colors(world, count, colors);
  for (int32_t i = 0; i < count; i++) {
    doors.at[doors.count++] =
        mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_DRAWN, colors[i], false).at;
  }
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  bb_choose_two(scene, &doors, chosen);
  int32_t order = mg_draw(world, 0, NUM_ORDERS);
  ask_open(scene, 0, bb_like(scene, chosen[0]));
  if (order == ONLY_FIRST) return;
  ask_open(scene, BB_CLAUSES_OF_SIDE, bb_like(scene, chosen[1]));
  if (order == FIRST_AFTER) scene->clauses[BB_CLAUSES_OF_SIDE].link = BB_AFTER_YOU;
}

static const bb_level open = {.level = BB_LEVEL, .make = make_open};
static const bb_level red_door = {
    .level = BB_LEVEL, .make = make_red_door, .fixed = {.room_size = 5, .rows = 1, .columns = 2}};
static const bb_level door = {.level = BB_LEVEL, .make = make_door};
static const bb_level two = {
    .level = BB_LEVEL, .make = make_two, .fixed = {.room_size = 6, .steps_per_cell = 20}};
static const bb_level order = {
    .level = BB_LEVEL, .make = make_order, .fixed = {.room_size = 6, .steps_per_cell = 20}};

#define DOOR(title, is_strict, by)                                                          \
  BB_DEFINITION(title, door, MG_COMMON(false), BB_SIZE(8), BB_MAZE(3), BB_DEBUG(is_strict), \
                BB_STRING("select_by", by, "how a door is described: color, loc or None"))
#define TWO(title, first, second, is_strict)                                           \
  BB_DEFINITION(title, two, MG_COMMON(false), BB_ROWS(3, 2), BB_COLUMNS(3, 3),         \
                BB_STRING("first_color", first, "of the door to the left; None: any"), \
                BB_STRING("second_color", second, "of the other door; None: any"),     \
                BB_BOOL("strict", is_strict, "whether a wrong first door ends the episode"))
#define ORDER(title, doors, is_strict)                      \
  BB_DEFINITION(title, order, MG_COMMON(false), BB_MAZE(3), \
                BB_INT("num_doors", doors, 2, NUM_DOORS, "doors of a room"), BB_DEBUG(is_strict))

const pp_env_def pp_env_babyai_open[13] = {
    BB_DEFINITION("Open-v0", open, MG_COMMON(false), BB_SIZE(8), BB_MAZE(1)),
    BB_DEFINITION("OpenRedDoor-v0", red_door, MG_COMMON(false)),
    DOOR("OpenDoor-v0", false, ""),
    DOOR("OpenDoorDebug-v0", true, ""),
    DOOR("OpenDoorColor-v0", false, "color"),
    DOOR("OpenDoorLoc-v0", false, "loc"),
    TWO("OpenTwoDoors-v0", "", "", false),
    TWO("OpenRedBlueDoors-v0", "red", "blue", false),
    TWO("OpenRedBlueDoorsDebug-v0", "red", "blue", true),
    ORDER("OpenDoorsOrderN2-v0", 2, false),
    ORDER("OpenDoorsOrderN4-v0", 4, false),
    ORDER("OpenDoorsOrderN2Debug-v0", 2, true),
    ORDER("OpenDoorsOrderN4Debug-v0", 4, true),
};
