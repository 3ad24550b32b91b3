/* BabyAI-GoTo...: go to an object or a door. */
#include "level_gen.h"

enum { MIDDLE = 1 /* row and column of the room in the middle */, NUM_DOORS = 4 };

static bb_description red_ball(void) {
  return bb_any(MG_BALL, MG_RED, BB_ANYWHERE);
}

/* Asks to go to one of the objects. */
static void ask_any(bb_scene *scene, const bb_objects *objects) {
  bb_ask(scene, 0, BB_GO_TO, bb_like(scene, bb_choose(scene, objects)));
}

static void make_red_ball(bb_scene *scene) {
  bb_place_agent(scene);
  bb_add(scene, 0, 0, MG_BALL, MG_RED);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, false, NULL);
  bb_check_reachable(scene);
  bb_ask(scene, 0, BB_GO_TO, red_ball());
}

static void make_grey(bb_scene *scene) {
  bb_objects others = {0};
  bb_place_agent(scene);
  bb_add(scene, 0, 0, MG_BALL, MG_RED);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, false, &others);
  for (int32_t i = 0; i < others.count; i++) {
    mg_cell cell = mg_get(scene->world, others.at[i]);
    mg_set(scene->world, others.at[i].x, others.at[i].y, mg_object(cell.kind, MG_GREY));
  }
  bb_check_reachable(scene);
  bb_ask(scene, 0, BB_GO_TO, red_ball());
}

/* There is one red or blue ball. */
static void make_red_blue(bb_scene *scene) {
  bb_objects others = {0};
  bb_place_agent(scene);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, false, &others);
  for (int32_t i = 0; i < others.count; i++) {
    mg_cell cell = mg_get(scene->world, others.at[i]);
    bool is_red_or_blue = cell.color == MG_RED || cell.color == MG_BLUE;
    if (cell.kind == MG_BALL && is_red_or_blue) scene->is_rejected = true;
  }
  if (scene->is_rejected) return;
  int32_t color = mg_draw(scene->world, 0, 2) ? MG_BLUE : MG_RED;
  bb_add(scene, 0, 0, MG_BALL, color);
  bb_check_reachable(scene);
  bb_ask(scene, 0, BB_GO_TO, bb_any(MG_BALL, color, BB_ANYWHERE));
}

static void make_object(bb_scene *scene) {
  bb_objects objects = {0};
  bb_place_agent(scene);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 1, true, &objects);
  ask_any(scene, &objects);
}

static void make_local(bb_scene *scene) {
  bb_objects objects = {0};
  bb_place_agent(scene);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, false, &objects);
  bb_check_reachable(scene);
  if (!scene->is_rejected) ask_any(scene, &objects);
}

static void open_doors(mg_world *world) {
  for (int32_t i = 0; i < world->width * world->height; i++) {
    if (world->cells[i].kind == MG_DOOR) world->cells[i].state = MG_OPEN;
  }
}

static void make_maze(bb_scene *scene) {
  bb_objects objects = {0};
  bb_place_agent(scene);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, false, &objects);
  bb_check_reachable(scene);
  if (scene->is_rejected) return;
  ask_any(scene, &objects);
  if (scene->settings->are_doors_open) open_doors(scene->world);
}

/* The object is in the locked room. */
static void make_unlock(bb_scene *scene) {
  const mg_rooms *rooms = &scene->rooms;
  bb_objects objects = {0};
  mg_point room;
  bb_lock_room(scene, &room);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  for (int32_t i = 0; i < rooms->columns * rooms->rows; i++) {
    bb_add_distractors(scene, i / rooms->rows, i % rooms->rows, 2, false, NULL);
  }
  bb_place_agent(scene);
  bb_check_reachable(scene);
  if (scene->is_rejected) return;
  bb_add_distractors(scene, room.x, room.y, 1, false, &objects);
  ask_any(scene, &objects);
}

static void add_doors(bb_scene *scene, bb_objects *objects) {
  for (int32_t i = 0; i < NUM_DOORS; i++) {
    mg_new_door door =
        mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_DRAWN, MG_DRAWN, MG_DRAWN);
    objects->at[objects->count++] = door.at;
  }
}

static void make_door(bb_scene *scene) {
  bb_objects objects = {0};
  add_doors(scene, &objects);
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  ask_any(scene, &objects);
}

static void make_object_or_door(bb_scene *scene) {
  bb_objects objects = {0};
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  bb_add_distractors(scene, MIDDLE, MIDDLE, 8, false, &objects);
  add_doors(scene, &objects);
  bb_check_reachable(scene);
  if (!scene->is_rejected) ask_any(scene, &objects);
}

#define ONE_ROOM .rows = 1, .columns = 1
static const bb_level grey = {.level = BB_LEVEL, .make = make_grey, .fixed = {ONE_ROOM}};
static const bb_level ball = {.level = BB_LEVEL, .make = make_red_ball, .fixed = {ONE_ROOM}};
static const bb_level only_ball = {
    .level = BB_LEVEL, .make = make_red_ball, .fixed = {ONE_ROOM, .room_size = 8}};
static const bb_level red_blue = {.level = BB_LEVEL, .make = make_red_blue, .fixed = {ONE_ROOM}};
static const bb_level object = {.level = BB_LEVEL, .make = make_object, .fixed = {ONE_ROOM}};
static const bb_level local = {.level = BB_LEVEL, .make = make_local, .fixed = {ONE_ROOM}};
static const bb_level maze = {.level = BB_LEVEL, .make = make_maze};
static const bb_level unlock = {.level = BB_LEVEL, .make = make_unlock};
static const bb_level door = {.level = BB_LEVEL, .make = make_door, .fixed = {.room_size = 7}};
static const bb_level object_or_door = {
    .level = BB_LEVEL, .make = make_object_or_door, .fixed = {.room_size = 8}};
static const bb_level sequence = {
    .level = BB_LEVEL, .make = bb_make_any, .fixed = {.actions = {1, {BB_GO_TO}}}};

#define ONE(title, level) BB_DEFINITION(title, level, MG_COMMON(false), BB_SIZE(8), BB_DISTS(7))
#define OBJECT(title, size) BB_DEFINITION(title, object, MG_COMMON(false), BB_SIZE(size))
#define LOCAL(title, size, dists) \
  BB_DEFINITION(title, local, MG_COMMON(false), BB_SIZE(size), BB_DISTS(dists))
#define MAZE(title, size, side, dists, are_open)                                \
  BB_DEFINITION(title, maze, MG_COMMON(false), BB_SIZE(size), BB_ROWS(side, 1), \
                BB_COLUMNS(side, 1), BB_DISTS(dists),                           \
                BB_BOOL("doors_open", are_open, "whether doors are open at the start"))
#define SEQUENCE(title, size, side, dists)                                          \
  BB_DEFINITION(title, sequence, MG_COMMON(false), BB_SIZE(size), BB_ROWS(side, 1), \
                BB_COLUMNS(side, 1), BB_DISTS(dists), BB_IMPLICIT_UNLOCK, BB_INSTR_KINDS)

const pp_env_def pp_env_babyai_go_to[34] = {
    ONE("GoToRedBallGrey-v0", grey),
    ONE("GoToRedBall-v0", ball),
    BB_DEFINITION("GoToRedBallNoDists-v0", only_ball, MG_COMMON(false)),
    ONE("GoToRedBlueBall-v0", red_blue),
    OBJECT("GoToObj-v0", 8),
    OBJECT("GoToObjS4-v0", 4),
    OBJECT("GoToObjS6-v1", 6),
    LOCAL("GoToLocal-v0", 8, 8),
    LOCAL("GoToLocalS5N2-v0", 5, 2),
    LOCAL("GoToLocalS6N2-v0", 6, 2),
    LOCAL("GoToLocalS6N3-v0", 6, 3),
    LOCAL("GoToLocalS6N4-v0", 6, 4),
    LOCAL("GoToLocalS7N4-v0", 7, 4),
    LOCAL("GoToLocalS7N5-v0", 7, 5),
    LOCAL("GoToLocalS8N2-v0", 8, 2),
    LOCAL("GoToLocalS8N3-v0", 8, 3),
    LOCAL("GoToLocalS8N4-v0", 8, 4),
    LOCAL("GoToLocalS8N5-v0", 8, 5),
    LOCAL("GoToLocalS8N6-v0", 8, 6),
    LOCAL("GoToLocalS8N7-v0", 8, 7),
    MAZE("GoTo-v0", 8, 3, 18, false),
    MAZE("GoToOpen-v0", 8, 3, 18, true),
    MAZE("GoToObjMaze-v0", 8, 3, 1, false),
    MAZE("GoToObjMazeOpen-v0", 8, 3, 1, true),
    MAZE("GoToObjMazeS4R2-v0", 4, 2, 1, false),
    MAZE("GoToObjMazeS4-v0", 4, 3, 1, false),
    MAZE("GoToObjMazeS5-v0", 5, 3, 1, false),
    MAZE("GoToObjMazeS6-v0", 6, 3, 1, false),
    MAZE("GoToObjMazeS7-v0", 7, 3, 1, false),
    BB_DEFINITION("GoToImpUnlock-v0", unlock, MG_COMMON(false), BB_SIZE(8), BB_MAZE(1)),
    SEQUENCE("GoToSeq-v0", 8, 3, 18),
    SEQUENCE("GoToSeqS5R2-v0", 5, 2, 4),
    BB_DEFINITION("GoToDoor-v0", door, MG_COMMON(false), BB_MAZE(3)),
    BB_DEFINITION("GoToObjDoor-v0", object_or_door, MG_COMMON(false), BB_MAZE(3)),
};
