/* BabyAI-PutNext..., -MoveTwoAcross...: put an object next to another one. */
#include "babyai.h"

enum { LEFT, RIGHT, NUM_SIDES };
enum { MOST_IN_ROOM = 9 };

static void make_local(bb_scene *scene) {
  bb_objects objects = {0};
  mg_point chosen[2];
  bb_place_agent(scene);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, scene->settings->count, true, &objects);
  bb_check_reachable(scene);
  if (scene->is_rejected) return;
  bb_choose_two(scene, &objects, chosen);
  bb_ask_put_next(scene, 0, bb_like(scene, chosen[0]), bb_like(scene, chosen[1]));
}

/* Places the agent to the left, and objects on both sides of a wall, which goes. */
static void add_sides(bb_scene *scene, bb_objects sides[NUM_SIDES]) {
  mg_rooms_place_agent(&scene->rooms, 0, 0);
  for (int32_t side = 0; side < NUM_SIDES; side++) {
    bb_add_distractors(scene, side, 0, scene->settings->count, true, &sides[side]);
  }
  mg_rooms_remove_wall(&scene->rooms, 0, 0, MG_RIGHT);
}

static void make_across(bb_scene *scene) {
  bb_objects sides[NUM_SIDES] = {0};
  add_sides(scene, sides);
  mg_point moved = bb_choose(scene, &sides[LEFT]);
  mg_point target = bb_choose(scene, &sides[RIGHT]);
  if (mg_draw(scene->world, 0, 2) == 0) {
    mg_point other = moved;
    moved = target;
    target = other;
  }
  bb_ask_put_next(scene, 0, bb_like(scene, moved), bb_like(scene, target));
  if (scene->settings->starts_carrying) scene->given = moved;
}

static void make_two(bb_scene *scene) {
  bb_objects sides[NUM_SIDES] = {0};
  mg_point left[2], right[2];
  add_sides(scene, sides);
  bb_choose_two(scene, &sides[LEFT], left);
  bb_choose_two(scene, &sides[RIGHT], right);
  bb_ask_put_next(scene, 0, bb_like(scene, left[0]), bb_like(scene, right[0]));
  bb_ask_put_next(scene, BB_CLAUSES_OF_SIDE, bb_like(scene, right[1]), bb_like(scene, left[1]));
}

static const bb_level local = {
    .level = BB_LEVEL, .make = make_local, .fixed = {.rows = 1, .columns = 1}};
static const bb_level across = {.level = BB_LEVEL,
                                .make = make_across,
                                .fixed = {.rows = 1, .columns = NUM_SIDES, .steps_per_cell = 8}};
static const bb_level two = {.level = BB_LEVEL,
                             .make = make_two,
                             .fixed = {.rows = 1, .columns = NUM_SIDES, .steps_per_cell = 16}};

#define LOCAL(title, size, count)                              \
  BB_DEFINITION(title, local, MG_COMMON(false), BB_SIZE(size), \
                BB_INT("num_objs", count, 2, 18, "objects that differ"))
#define OF_ROOM(count, least) \
  BB_INT("objs_per_room", count, least, MOST_IN_ROOM, "objects of each room")
#define ACROSS(title, size, count, is_carrying)                                           \
  BB_DEFINITION(title, across, MG_COMMON(false),                                          \
                BB_INT("room_size", size, 4, MG_MOST_SIDE / 2, "cells of a room's side"), \
                OF_ROOM(count, 1),                                                        \
                BB_BOOL("start_carrying", is_carrying, "whether the agent has the object"))
#define TWO(title, size, count) \
  BB_DEFINITION(title, two, MG_COMMON(false), BB_SIZE(size), OF_ROOM(count, 2))

const pp_env_def pp_env_babyai_put_next[13] = {
    LOCAL("PutNextLocal-v0", 8, 8),
    LOCAL("PutNextLocalS5N3-v0", 5, 3),
    LOCAL("PutNextLocalS6N4-v0", 6, 4),
    ACROSS("PutNextS4N1-v0", 4, 1, false),
    ACROSS("PutNextS5N1-v0", 5, 1, false),
    ACROSS("PutNextS5N2-v0", 5, 2, false),
    ACROSS("PutNextS6N3-v0", 6, 3, false),
    ACROSS("PutNextS7N4-v0", 7, 4, false),
    ACROSS("PutNextS5N2Carrying-v0", 5, 2, true),
    ACROSS("PutNextS6N3Carrying-v0", 6, 3, true),
    ACROSS("PutNextS7N4Carrying-v0", 7, 4, true),
    TWO("MoveTwoAcrossS5N2-v0", 5, 2),
    TWO("MoveTwoAcrossS8N9-v0", 8, 9),
};
