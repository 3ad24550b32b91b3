/* BabyAI-Unlock..., -KeyInBox, -BlockedUnlockPickup: doors that need a key. */
#include "babyai.h"

enum { MIDDLE = 1 /* row and column of the room in the middle */ };

static bb_description any_of(int32_t kind) {
  return bb_any(kind, BB_ANY_COLOR, BB_ANYWHERE);
}

static void make_unlock(bb_scene *scene) {
  const mg_rooms *rooms = &scene->rooms;
  mg_point room;
  mg_new_door door = bb_lock_room(scene, &room);
  bool is_only_one = mg_draw(scene->world, 0, 2) == 0; /* door of that color */
  mg_rooms_connect(&scene->rooms, is_only_one ? door.color : MG_DRAWN);
  for (int32_t i = 0; i < rooms->columns * rooms->rows; i++) {
    bb_add_distractors(scene, i / rooms->rows, i % rooms->rows, 3, false, NULL);
  }
  bb_place_agent(scene);
  bb_check_reachable(scene);
  bb_ask(scene, 0, BB_OPEN, bb_any(MG_DOOR, door.color, BB_ANYWHERE));
}

static void make_local(bb_scene *scene) {
  mg_new_door door = mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_DRAWN, MG_DRAWN, true);
  bb_add(scene, MIDDLE, MIDDLE, MG_KEY, door.color);
  if (scene->settings->has_distractors) bb_add_distractors(scene, MIDDLE, MIDDLE, 3, true, NULL);
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  bb_ask(scene, 0, BB_OPEN, any_of(MG_DOOR));
}

static void make_boxed(bb_scene *scene) {
  mg_new_door door = mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_DRAWN, MG_DRAWN, true);
  mg_cell box = mg_object(MG_BOX, mg_draw_color(scene->world));
  box.tag = (uint8_t)(MG_HOLDS_KEY + door.color);
  mg_rooms_place(&scene->rooms, MIDDLE, MIDDLE, box);
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  bb_ask(scene, 0, BB_OPEN, any_of(MG_DOOR));
}

/* Adds a locked door, its key and a box behind it, which is returned; perhaps a ball is in the
 * way. */
static mg_point add_box(bb_scene *scene, bool is_blocked) {
  mg_point box = bb_add(scene, 1, 0, MG_BOX, MG_DRAWN);
  mg_new_door door = mg_rooms_add_door(&scene->rooms, 0, 0, MG_RIGHT, MG_DRAWN, true);
  if (is_blocked) {
    int32_t color = mg_draw_color(scene->world);
    mg_set(scene->world, door.at.x - 1, door.at.y, mg_object(MG_BALL, color));
  }
  bb_add(scene, 0, 0, MG_KEY, door.color);
  return box;
}

static void make_pickup(bb_scene *scene) {
  mg_point box = add_box(scene, false);
  if (scene->settings->has_distractors) {
    bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 4, true, NULL);
  }
  mg_rooms_place_agent(&scene->rooms, 0, 0);
  bb_ask(scene, 0, BB_PICK_UP, bb_like(scene, box));
}

static void make_blocked(bb_scene *scene) {
  add_box(scene, true);
  mg_rooms_place_agent(&scene->rooms, 0, 0);
  bb_ask(scene, 0, BB_PICK_UP, any_of(MG_BOX));
}

/* The key of the left door is behind the right one. */
static void make_two(bb_scene *scene) {
  int32_t colors[2];
  mg_draw_colors(scene->world, 2, colors);
  for (int32_t i = 0; i < 2; i++) {
    mg_rooms_add_door(&scene->rooms, i, 0, MG_RIGHT, colors[i], true);
    bb_add(scene, 2 - i, 0, MG_KEY, colors[i]);
  }
  bb_add(scene, 0, 0, MG_BALL, MG_DRAWN);
  mg_rooms_place_agent(&scene->rooms, 1, 0);
  bb_ask(scene, 0, BB_PICK_UP, any_of(MG_BALL));
}

static const bb_level unlock = {.level = BB_LEVEL, .make = make_unlock};
static const bb_level local = {.level = BB_LEVEL, .make = make_local};
static const bb_level boxed = {.level = {.has_full_boxes = true,
                                         .configure = bb_configure,
                                         .generate = bb_generate,
                                         .after = bb_verify},
                               .make = make_boxed};
static const bb_level pickup = {
    .level = BB_LEVEL, .make = make_pickup, .fixed = {.room_size = 6, .rows = 1, .columns = 2}};
static const bb_level blocked = {
    .level = BB_LEVEL,
    .make = make_blocked,
    .fixed = {.room_size = 6, .rows = 1, .columns = 2, .steps_per_cell = 16}};
static const bb_level two = {
    .level = BB_LEVEL,
    .make = make_two,
    .fixed = {.room_size = 6, .rows = 1, .columns = 3, .steps_per_cell = 30}};

#define LOCAL(title, has_others) \
  BB_DEFINITION(title, local, MG_COMMON(false), BB_SIZE(8), BB_MAZE(2), BB_DISTRACTED(has_others))

const pp_env_def pp_env_babyai_unlock[8] = {
    BB_DEFINITION("Unlock-v0", unlock, MG_COMMON(false), BB_SIZE(8), BB_MAZE(1)),
    LOCAL("UnlockLocal-v0", false),
    LOCAL("UnlockLocalDist-v0", true),
    BB_DEFINITION("KeyInBox-v0", boxed, MG_COMMON(false), BB_SIZE(8), BB_MAZE(2)),
    BB_DEFINITION("UnlockPickup-v0", pickup, MG_COMMON(false), BB_DISTRACTED(false)),
    BB_DEFINITION("UnlockPickupDist-v0", pickup, MG_COMMON(false), BB_DISTRACTED(true)),
    BB_DEFINITION("BlockedUnlockPickup-v0", blocked, MG_COMMON(false)),
    BB_DEFINITION("UnlockToUnlock-v0", two, MG_COMMON(false)),
};
