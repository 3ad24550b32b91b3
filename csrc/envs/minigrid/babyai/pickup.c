/* BabyAI-Pickup..., -UnblockPickup: pick up an object. */
#include "level_gen.h"

enum { MIDDLE = 1 /* row and column of the room in the middle */ };
/* what PickupDist tells of the object */
enum { ITS_KIND, ITS_COLOR, NUM_TOLD = 3 };

static void ask_any(bb_scene *scene, const bb_objects *objects) {
  bb_ask(scene, 0, BB_PICK_UP, bb_like(scene, bb_choose(scene, objects)));
}

static void make_pickup(bb_scene *scene) {
  bb_objects objects = {0};
  bb_place_agent(scene);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 18, false, &objects);
  bb_check_reachable(scene);
  if (!scene->is_rejected) ask_any(scene, &objects);
}

/* Something is in the way to an object. */
static void make_blocked(bb_scene *scene) {
  bb_objects objects = {0};
  bb_place_agent(scene);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 20, false, &objects);
  scene->is_rejected = bb_can_reach_all(scene);
  if (!scene->is_rejected) ask_any(scene, &objects);
}

static void make_distracted(bb_scene *scene) {
  bb_objects objects = {0};
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, 5, true, &objects);
  mg_rooms_place_agent(&scene->rooms, 0, 0);
  bb_description what = bb_like(scene, bb_choose(scene, &objects));
  int32_t told = mg_draw(scene->world, 0, NUM_TOLD);
  if (told == ITS_COLOR) what.kind = BB_ANY_KIND;
  if (told == ITS_KIND) what.color = BB_ANY_COLOR;
  bb_ask(scene, 0, BB_PICK_UP, what);
  scene->clauses[0].is_strict = scene->settings->is_strict;
}

/* The object is in the room above. */
static void make_above(bb_scene *scene) {
  mg_point at = bb_add(scene, MIDDLE, 0, MG_DRAWN, MG_DRAWN);
  mg_rooms_add_door(&scene->rooms, MIDDLE, MIDDLE, MG_UP, MG_DRAWN, false);
  mg_rooms_place_agent(&scene->rooms, MIDDLE, MIDDLE);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  bb_ask(scene, 0, BB_PICK_UP, bb_like(scene, at));
}

static const bb_level pickup = {.level = BB_LEVEL, .make = make_pickup};
static const bb_level blocked = {.level = BB_LEVEL, .make = make_blocked};
static const bb_level by_place = {.level = BB_LEVEL,
                                  .make = bb_make_any,
                                  .fixed = {.rows = 1,
                                            .columns = 1,
                                            .count = 8,
                                            .has_locations = true,
                                            .actions = {1, {BB_PICK_UP}},
                                            .sentences = {1, {BB_ACTION}}}};
static const bb_level distracted = {
    .level = BB_LEVEL, .make = make_distracted, .fixed = {.room_size = 7, .rows = 1, .columns = 1}};
static const bb_level above = {
    .level = BB_LEVEL, .make = make_above, .fixed = {.room_size = 6, .steps_per_cell = 8}};

const pp_env_def pp_env_babyai_pickup[6] = {
    BB_DEFINITION("Pickup-v0", pickup, MG_COMMON(false), BB_SIZE(8), BB_MAZE(1)),
    BB_DEFINITION("UnblockPickup-v0", blocked, MG_COMMON(false), BB_SIZE(8), BB_MAZE(1)),
    BB_DEFINITION("PickupLoc-v0", by_place, MG_COMMON(false), BB_SIZE(8), BB_IMPLICIT_UNLOCK),
    BB_DEFINITION("PickupDist-v0", distracted, MG_COMMON(false), BB_DEBUG(false)),
    BB_DEFINITION("PickupDistDebug-v0", distracted, MG_COMMON(false), BB_DEBUG(true)),
    BB_DEFINITION("PickupAbove-v0", above, MG_COMMON(false), BB_MAZE(2)),
};
