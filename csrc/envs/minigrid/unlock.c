/* MiniGrid-Unlock, -UnlockPickup, -BlockedUnlockPickup: two rooms and a locked door between. */
#include "level.h"
#include "rooms.h"

enum { ROOM_SIZE = 6, COLUMNS = 2 };

static void describe(mg_shared *shared, int32_t steps_per_cell) {
  shared->width = mg_rooms_side(ROOM_SIZE, COLUMNS);
  shared->height = mg_rooms_side(ROOM_SIZE, 1);
  shared->max_steps = steps_per_cell * ROOM_SIZE * ROOM_SIZE;
}

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)values;
  (void)error;
  describe(shared, 8);
  shared->mission = MG_OPEN_DOOR;
  return PP_OK;
}

static int configure_blocked(mg_shared *shared, const pp_value *values, pp_error *error) {
  (void)values;
  (void)error;
  describe(shared, 16);
  return PP_OK;
}

/* Adds the door, a ball before it if it is blocked, and the key. */
static void add_door(mg_rooms *rooms, bool is_blocked) {
  mg_new_door door = mg_rooms_add_door(rooms, 0, 0, MG_RIGHT, MG_DRAWN, true);
  if (is_blocked) {
    int32_t color = mg_draw_color(rooms->world);
    mg_set(rooms->world, door.at.x - 1, door.at.y, mg_object(MG_BALL, color));
  }
  mg_rooms_add(rooms, 0, 0, MG_KEY, door.color, MG_PLAIN);
  mg_rooms_place_agent(rooms, 0, 0);
  rooms->world->state->places[0] = door.at;
}

static void generate(const mg_shared *shared, mg_world *world) {
  (void)shared;
  mg_rooms rooms;
  mg_rooms_begin(&rooms, world, ROOM_SIZE, 1, COLUMNS);
  add_door(&rooms, false);
}

static void generate_box(mg_world *world, bool is_blocked) {
  mg_rooms rooms;
  mg_rooms_begin(&rooms, world, ROOM_SIZE, 1, COLUMNS);
  int32_t color = mg_rooms_add(&rooms, 1, 0, MG_BOX, MG_DRAWN, MG_TARGET);
  add_door(&rooms, is_blocked);
  world->state->mission[0] = mg_mission_of(MG_PICK_UP, color, MG_BOX, 0, 0);
}

static void generate_pickup(const mg_shared *shared, mg_world *world) {
  (void)shared;
  generate_box(world, false);
}

static void generate_blocked(const mg_shared *shared, mg_world *world) {
  (void)shared;
  generate_box(world, true);
}

static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  mg_cell door = mg_get(world, world->state->places[0]);
  if (action == MG_TOGGLE && door.kind == MG_DOOR && door.state == MG_OPEN) {
    outcome->reward = mg_success(world);
    outcome->terminated = true;
  }
}

static const mg_level unlock = {.configure = configure, .generate = generate, .after = after};
static const mg_level pickup = {
    .configure = configure, .generate = generate_pickup, .after = mg_after_pick_target};
static const mg_level blocked = {
    .configure = configure_blocked, .generate = generate_blocked, .after = mg_after_pick_target};

const pp_env_def pp_env_minigrid_unlock[3] = {
    {MG_DEFINITION("Unlock-v0", &unlock, 0, MG_NUM_ACTIONS, MG_COMMON(false))},
    {MG_DEFINITION("UnlockPickup-v0", &pickup, 0, MG_NUM_ACTIONS, MG_COMMON(false))},
    {MG_DEFINITION("BlockedUnlockPickup-v0", &blocked, 0, MG_NUM_ACTIONS, MG_COMMON(false))},
};
