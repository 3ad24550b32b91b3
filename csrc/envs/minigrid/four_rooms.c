/* MiniGrid-FourRooms: four rooms with gaps between them, and a goal in one. */
#include "base/fail.h"
#include "level.h"

enum { SIDE = 19 };
enum { AGENT_X, AGENT_Y, GOAL_X, GOAL_Y, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  shared->width = shared->height = SIDE;
  shared->max_steps = 100;
  shared->mission = MG_REACH_GOAL;
  if ((values[AGENT_X].i == 0) == (values[AGENT_Y].i == 0) &&
      (values[GOAL_X].i == 0) == (values[GOAL_Y].i == 0)) {
    return PP_OK;
  }
  return pp_fail(error, PP_ERR_ARGUMENT, "agent_pos, goal_pos: choose cells of 1 to 17, or None");
}

static void generate(const mg_shared *shared, mg_world *world) {
  const int64_t *own = shared->own;
  int32_t width = world->width / 2, height = world->height / 2;
  mg_frame(world, mg_whole(world));
  for (int32_t row = 0; row < 2; row++) {
    for (int32_t column = 0; column < 2; column++) {
      int32_t left = column * width, top = row * height;
      int32_t right = left + width, bottom = top + height;
      if (column == 0) {
        mg_column(world, right, top, height, mg_wall);
        mg_set(world, right, mg_draw(world, top + 1, bottom), mg_empty);
      }
      if (row == 0) {
        mg_row(world, left, bottom, width, mg_wall);
        mg_set(world, mg_draw(world, left + 1, right), bottom, mg_empty);
      }
    }
  }
  if (own[AGENT_X]) {
    mg_set(world, (int32_t)own[AGENT_X], (int32_t)own[AGENT_Y], mg_empty);
    mg_put_agent(world, (int32_t)own[AGENT_X], (int32_t)own[AGENT_Y], mg_draw(world, 0, 4));
  } else {
    mg_place_agent(world, mg_whole(world), -1);
  }
  if (own[GOAL_X]) {
    mg_set(world, (int32_t)own[GOAL_X], (int32_t)own[GOAL_Y], mg_goal);
  } else {
    mg_place(world, mg_goal, mg_whole(world));
  }
}

static const mg_level level = {.configure = configure, .generate = generate};

#define PLACE(option, title, what) MG_INT(option, title, 0, 0, SIDE - 2, what)

const pp_env_def pp_env_minigrid_four_rooms = {
    MG_DEFINITION("FourRooms-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false),
                  PLACE(AGENT_X, "agent_x", "column of the agent; 0: anywhere"),
                  PLACE(AGENT_Y, "agent_y", "row of the agent; 0: anywhere"),
                  PLACE(GOAL_X, "goal_x", "column of the goal; 0: anywhere"),
                  PLACE(GOAL_Y, "goal_y", "row of the goal; 0: anywhere")),
};
