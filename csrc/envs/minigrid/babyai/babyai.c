/* Makes BabyAI's levels, and tries again when one is rejected. */
#include "babyai.h"

/* minigrid tries for ever: so many levels in a row are never rejected by chance */
enum { MOST_LEVELS = 1 << 14, MOST_DRAWS = 1 << 16 };

const pp_field bb_fields[3] = {
    {.name = "image", .dtype = PP_UINT8, .high = 255},
    {.name = "direction", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 4},
    {.name = "mission",
     .dtype = PP_INT32,
     .space = PP_TEXT,
     .ndim = 1,
     .shape = {BB_MOST_CLAUSES},
     .n = MG_LONGEST_TEXT,
     .text = bb_text},
};

/* ------------------------------------------------------------------------------------ parts -- */

mg_point bb_add(bb_scene *scene, int32_t column, int32_t row, int32_t kind, int32_t color) {
  if (kind == MG_DRAWN) kind = mg_draw_kind(scene->world);
  if (color == MG_DRAWN) color = mg_draw_color(scene->world);
  return mg_rooms_place(&scene->rooms, column, row, mg_object(kind, color));
}

void bb_add_distractors(bb_scene *scene, int32_t column, int32_t row, int32_t count,
                        bool are_unique, bb_objects *objects) {
  mg_world *world = scene->world;
  int32_t draws = 0;
  for (int32_t added = 0; added < count && !world->failure;) {
    int32_t color = mg_draw_color(world);
    int32_t kind = mg_draw_kind(world);
    if (++draws > MOST_DRAWS) world->failure = "there are not so many different objects";
    if (are_unique && mg_rooms_knows(&scene->rooms, kind, color)) continue;
    int32_t i = column == MG_DRAWN ? mg_draw(world, 0, scene->rooms.columns) : column;
    int32_t j = row == MG_DRAWN ? mg_draw(world, 0, scene->rooms.rows) : row;
    mg_point at = bb_add(scene, i, j, kind, color);
    if (objects) objects->at[objects->count++] = at;
    added++;
  }
}

void bb_place_agent(bb_scene *scene) {
  mg_world *world = scene->world;
  mg_rooms *rooms = &scene->rooms;
  for (int32_t i = 0; !world->failure; i++) {
    if (i > MOST_DRAWS) world->failure = "there is no other room than the locked one";
    int32_t column = mg_draw(world, 0, rooms->columns);
    mg_rooms_place_agent(rooms, column, mg_draw(world, 0, rooms->rows));
    if (mg_room_of(rooms, world->state->agent) != scene->locked) return;
  }
}

mg_new_door bb_lock_room(bb_scene *scene, mg_point *room) {
  mg_world *world = scene->world;
  mg_rooms *rooms = &scene->rooms;
  room->x = mg_draw(world, 0, rooms->columns);
  room->y = mg_draw(world, 0, rooms->rows);
  mg_new_door door = mg_rooms_add_door(rooms, room->x, room->y, MG_DRAWN, MG_DRAWN, true);
  scene->locked = mg_room_at(rooms, room->x, room->y);
  /* minigrid means to leave out the locked room, and does not */
  int32_t column = mg_draw(world, 0, rooms->columns);
  bb_add(scene, column, mg_draw(world, 0, rooms->rows), MG_KEY, door.color);
  return door;
}

mg_point bb_choose(bb_scene *scene, const bb_objects *objects) {
  int32_t chosen = mg_draw(scene->world, 0, objects->count);
  return scene->world->failure ? (mg_point){0, 0} : objects->at[chosen];
}

void bb_choose_two(bb_scene *scene, const bb_objects *objects, mg_point chosen[2]) {
  int32_t first = mg_draw(scene->world, 0, objects->count);
  int32_t second = mg_draw(scene->world, 0, objects->count - 1);
  chosen[0] = chosen[1] = (mg_point){0, 0};
  if (scene->world->failure) return;
  chosen[0] = objects->at[first];
  chosen[1] = objects->at[second + (second >= first)];
}

/* ---------------------------------------------------------------------------- reachability -- */

/* Returns the cells of a row that are reached from `from` through open ones. */
static uint64_t spread(uint64_t from, uint64_t open) {
  uint64_t right = from, left = from, to_right = open, to_left = open;
  for (int32_t step = 1; step < MG_MOST_SIDE; step *= 2) {
    right |= to_right & right << step;
    left |= to_left & left >> step;
    to_right &= to_right << step;
    to_left &= to_left >> step;
  }
  return right | left;
}

bool bb_can_reach_all(const bb_scene *scene) {
  const mg_world *world = scene->world;
  /* bit x of row y + 1; a door stops nobody, and what is to be reached may be one */
  uint64_t open[MG_MOST_SIDE + 2] = {0}, things[MG_MOST_SIDE + 2] = {0};
  uint64_t reached[MG_MOST_SIDE + 2] = {0};
  const mg_cell *cell = world->cells;
  for (int32_t y = 1; y <= world->height; y++) {
    for (int32_t x = 0; x < world->width; x++, cell++) {
      open[y] |= (uint64_t)(cell->kind == MG_EMPTY || cell->kind == MG_DOOR) << x;
      things[y] |= (uint64_t)(cell->kind >= MG_DOOR && cell->kind <= MG_BOX) << x;
    }
  }
  reached[world->state->agent.y + 1] = (uint64_t)1 << world->state->agent.x;
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (int32_t i = 1; i <= 2 * world->height; i++) {
      int32_t y = i <= world->height ? i : 2 * world->height + 1 - i;
      uint64_t from = reached[y] | ((reached[y - 1] | reached[y + 1]) & open[y]);
      uint64_t found = spread(from, open[y]);
      is_new |= found != reached[y];
      reached[y] = found;
    }
  }
  for (int32_t y = 1; y <= world->height; y++) {
    uint64_t beside = reached[y] << 1 | reached[y] >> 1 | reached[y - 1] | reached[y + 1];
    if (things[y] & ~(reached[y] | beside)) return false;
  }
  return true;
}

void bb_check_reachable(bb_scene *scene) {
  if (!scene->world->failure && !bb_can_reach_all(scene)) scene->is_rejected = true;
}

/* ---------------------------------------------------------------------------- instructions -- */

bb_description bb_like(const bb_scene *scene, mg_point at) {
  mg_cell cell = mg_get(scene->world, at);
  return bb_any(cell.kind, cell.color, BB_ANYWHERE);
}

void bb_ask(bb_scene *scene, int32_t number, int32_t action, bb_description what) {
  static const int32_t links[BB_MOST_CLAUSES] = {BB_FIRST, BB_AND, BB_THEN, BB_AND};
  scene->clauses[number] = (bb_clause){.action = action, .link = links[number], .what = what};
}

void bb_ask_put_next(bb_scene *scene, int32_t number, bb_description what, bb_description beside) {
  bb_ask(scene, number, BB_PUT_NEXT, what);
  scene->clauses[number].beside = beside;
}

void bb_find_things(bb_scene *scene) {
  const mg_world *world = scene->world;
  scene->num_things = 0;
  for (int32_t i = 0; i < world->width * world->height; i++) {
    int32_t kind = world->cells[i].kind;
    scene->things[scene->num_things] = (uint16_t)i;
    scene->num_things += kind >= MG_DOOR && kind <= MG_BOX;
  }
}

/* Returns whether a place is in the agent's room, and on that side of the agent. */
static bool is_where(bb_scene *scene, mg_point at, int32_t where) {
  const mg_state *it = scene->world->state;
  if (!mg_is_in_room(mg_room_of(&scene->rooms, it->agent), at)) return false;
  mg_point ahead = mg_ahead((mg_point){0, 0}, it->direction);
  int32_t x = at.x - it->agent.x, y = at.y - it->agent.y;
  int32_t forward = x * ahead.x + y * ahead.y, right = y * ahead.x - x * ahead.y;
  switch (where) {
    case BB_LEFT: return right < 0;
    case BB_RIGHT: return right > 0;
    case BB_FRONT: return forward > 0;
    default: return forward < 0;
  }
}

bool bb_matches(bb_scene *scene, int32_t cell, bb_description description) {
  const mg_world *world = scene->world;
  mg_cell it = world->cells[cell];
  if (description.kind != BB_ANY_KIND && description.kind != it.kind) return false;
  if (description.color != BB_ANY_COLOR && description.color != it.color) return false;
  if (description.where == BB_ANYWHERE) return true;
  return is_where(scene, (mg_point){cell % world->width, cell / world->width}, description.where);
}

/* Marks what a description matches with a bit of tags; it is plural if there are several. */
static void mark(bb_scene *scene, bb_description *description, uint8_t bit) {
  int32_t count = 0;
  for (int32_t i = 0; i < scene->num_things; i++) {
    if (!bb_matches(scene, scene->things[i], *description)) continue;
    scene->world->cells[scene->things[i]].tag |= bit;
    count++;
  }
  /* walls are grey objects, too */
  bool are_walls = description->kind == BB_ANY_KIND && description->color == MG_GREY;
  description->is_plural = count > 1 || are_walls;
  if (!count && !are_walls) scene->is_rejected = true;
}

/* Rejects an object next to itself, or to one where it is already. */
static void check_put_next(bb_scene *scene, int32_t number) {
  const mg_world *world = scene->world;
  uint8_t what = bb_what_bit(number), beside = bb_beside_bit(number);
  for (int32_t i = 0; i < scene->num_things; i++) {
    int32_t cell = scene->things[i];
    uint8_t tag = world->cells[cell].tag;
    mg_point at = {cell % world->width, cell / world->width};
    if (!(tag & what)) continue;
    if (tag & beside || bb_is_beside(world, at, beside)) scene->is_rejected = true;
  }
}

/* Rejects a key that a locked door needs. */
static void check_key(bb_scene *scene, bb_description description) {
  if (description.kind != MG_KEY) return;
  for (int32_t i = 0; i < scene->num_things; i++) {
    mg_cell cell = scene->world->cells[scene->things[i]];
    bool is_locked = cell.kind == MG_DOOR && cell.state == MG_LOCKED;
    if (is_locked && cell.color == description.color) scene->is_rejected = true;
  }
}

/* Finds the objects of all clauses, and checks them; returns the number of ways to walk. */
static int32_t resolve(bb_scene *scene) {
  int32_t ways = 0;
  bb_find_things(scene);
  for (int32_t i = 0; i < BB_MOST_CLAUSES; i++) {
    bb_clause *clause = &scene->clauses[i];
    if (!clause->action) continue;
    ways++;
    mark(scene, &clause->what, bb_what_bit(i));
    if (scene->settings->may_be_blocked) check_key(scene, clause->what);
    if (clause->action != BB_PUT_NEXT) continue;
    ways++;
    mark(scene, &clause->beside, bb_beside_bit(i));
    if (scene->settings->may_be_blocked) check_key(scene, clause->beside);
    check_put_next(scene, i);
  }
  return ways;
}

/* ----------------------------------------------------------------------------------- levels -- */

/* minigrid's class does it after the reset: the first observation does not show it */
static void give(mg_world *world, mg_point given) {
  mg_state *it = world->state;
  mg_cell *cell = &world->cells[given.y * world->width + given.x];
  it->places[0] = given;
  it->is_given = true;
  it->carried = *cell;
  *cell = mg_empty;
}

/* Makes one level; returns whether it will do. */
static bool make(const mg_shared *shared, mg_world *world, bb_scene *scene) {
  const bb_level *level = (const bb_level *)shared->level;
  const bb_settings *settings = shared->settings;
  scene->world = world;
  scene->settings = settings;
  scene->locked = NULL;
  scene->is_rejected = false;
  scene->given = (mg_point){0, 0};
  for (int32_t i = 0; i < BB_MOST_CLAUSES; i++) scene->clauses[i] = (bb_clause){0};
  mg_rooms_begin(&scene->rooms, world, settings->room_size, settings->rows, settings->columns);
  level->make(scene);
  if (world->failure || scene->is_rejected) return false;
  int32_t ways = resolve(scene);
  if (!world->state->max_steps) {
    world->state->max_steps =
        ways * settings->room_size * settings->room_size * settings->rows * settings->columns;
  }
  return !scene->is_rejected;
}

void bb_generate(const mg_shared *shared, mg_world *world) {
  bb_scene scene;
  int32_t max_steps = world->state->max_steps;
  for (int32_t i = 0; i < MOST_LEVELS; i++) {
    if (i) mg_clear(world);
    world->failure = NULL;
    world->may_be_made = false;
    world->state->max_steps = max_steps;
    bool is_made = make(shared, world, &scene);
    if (world->failure && !world->may_be_made) return;
    if (!is_made) continue;
    for (int32_t k = 0; k < BB_MOST_CLAUSES; k++) {
      world->state->mission[k] = bb_code_of(&scene.clauses[k]);
    }
    if (scene.given.x) give(world, scene.given);
    return;
  }
  if (!world->failure) world->failure = "all levels were rejected: choose other options";
}
