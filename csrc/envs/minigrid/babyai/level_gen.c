/* Generates a maze with objects, perhaps a locked room, and an instruction of any form. */
#include "level_gen.h"

/* as in minigrid, which then makes another level */
enum { MOST_DESCRIPTIONS = 101, MOST_DRAWS = 1 << 16 };

/* Locks one side of a drawn room, and puts the key into another room. */
static void add_locked_room(bb_scene *scene) {
  mg_world *world = scene->world;
  mg_rooms *rooms = &scene->rooms;
  mg_new_door door = {0};
  int32_t draws = 0;
  while (!world->failure) {
    int32_t column = mg_draw(world, 0, rooms->columns);
    int32_t row = mg_draw(world, 0, rooms->rows);
    int32_t side = mg_draw(world, 0, 4);
    scene->locked = mg_room_at(rooms, column, row);
    if (++draws > MOST_DRAWS) world->failure = "a single room can't be locked";
    if (!scene->locked->has_neighbor[side]) continue;
    door = mg_rooms_add_door(rooms, column, row, side, MG_DRAWN, true);
    break;
  }
  while (!world->failure) {
    int32_t column = mg_draw(world, 0, rooms->columns);
    int32_t row = mg_draw(world, 0, rooms->rows);
    if (mg_room_at(rooms, column, row) == scene->locked) continue;
    bb_add(scene, column, row, MG_KEY, door.color);
    break;
  }
}

/* Returns whether a description may be used: it matches an object, and if none may be locked away,
 * one that is not in the locked room. */
static bool is_found(bb_scene *scene, bb_description description) {
  bool may_be_locked = scene->settings->may_be_locked || !scene->locked;
  for (int32_t i = 0; i < scene->num_things; i++) {
    int32_t cell = scene->things[i];
    if (!bb_matches(scene, cell, description)) continue;
    mg_point at = {cell % scene->world->width, cell / scene->world->width};
    if (may_be_locked || !mg_is_in_room(scene->locked, at)) return true;
  }
  return false;
}

/* Draws a description of an object of one of the kinds. */
static bb_description draw_description(bb_scene *scene, const int32_t *kinds, int32_t count) {
  mg_world *world = scene->world;
  bb_description found = {0};
  for (int32_t i = 0; i < MOST_DESCRIPTIONS && !world->failure; i++) {
    int32_t color = mg_draw(world, 0, MG_NUM_COLORS + 1), where = BB_ANYWHERE;
    int32_t kind = kinds[mg_draw(world, 0, count)];
    if (scene->settings->has_locations && mg_draw(world, 0, 2) == 0) {
      where = BB_LEFT + mg_draw(world, 0, 4);
    }
    found = bb_any(kind, color ? mg_sorted_colors[color - 1] : BB_ANY_COLOR, where);
    if (is_found(scene, found)) return found;
  }
  scene->is_rejected = true;
  return found;
}

static void draw_action(bb_scene *scene, int32_t number) {
  static const int32_t kinds[4] = {MG_BOX, MG_BALL, MG_KEY, MG_DOOR}, door = MG_DOOR;
  const bb_list *actions = &scene->settings->actions;
  int32_t action = actions->at[mg_draw(scene->world, 0, actions->count)];
  bb_description what;
  switch (action) {
    case BB_GO_TO: what = draw_description(scene, kinds, 4); break;
    case BB_OPEN: what = draw_description(scene, &door, 1); break;
    default: what = draw_description(scene, kinds, 3);
  }
  /* minigrid gives up at the first description that is not found */
  if (scene->is_rejected) return;
  if (action == BB_PUT_NEXT) {
    bb_ask_put_next(scene, number, what, draw_description(scene, kinds, 4));
  } else {
    bb_ask(scene, number, action, what);
  }
}

/* Draws one action or two for a side of an instruction. */
static void draw_side(bb_scene *scene, int32_t first, bool are_both) {
  draw_action(scene, first);
  if (are_both && !scene->is_rejected) draw_action(scene, first + 1);
}

static void draw_instruction(bb_scene *scene) {
  mg_world *world = scene->world;
  const bb_list *sentences = &scene->settings->sentences;
  int32_t sentence = sentences->at[mg_draw(world, 0, sentences->count)];
  if (sentence != BB_SEQUENCE) {
    draw_side(scene, 0, sentence == BB_BOTH);
    return;
  }
  for (int32_t side = 0; side < 2 && !scene->is_rejected; side++) {
    draw_side(scene, side * BB_CLAUSES_OF_SIDE, mg_draw(world, 0, 2) == 1);
  }
  if (scene->is_rejected) return;
  if (mg_draw(world, 0, 2) == 1) scene->clauses[BB_CLAUSES_OF_SIDE].link = BB_AFTER_YOU;
}

void bb_make_any(bb_scene *scene) {
  const bb_settings *settings = scene->settings;
  mg_world *world = scene->world;
  if (pp_rng_uniform(world->rng, 0, 1) < settings->locked_room_prob) add_locked_room(scene);
  mg_rooms_connect(&scene->rooms, MG_DRAWN);
  bb_add_distractors(scene, MG_DRAWN, MG_DRAWN, settings->count, false, NULL);
  bb_place_agent(scene);
  if (!settings->may_be_blocked) bb_check_reachable(scene);
  if (world->failure || scene->is_rejected) return;
  bb_find_things(scene);
  draw_instruction(scene);
}
