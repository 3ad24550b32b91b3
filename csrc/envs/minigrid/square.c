/* A square room with a goal in its last corner. */
#include "square.h"

#include "base/fail.h"

int mg_configure_square(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[MG_SQUARE_SIZE].i;
  int64_t x = values[MG_SQUARE_START_X].i, y = values[MG_SQUARE_START_Y].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(4 * size * size);
  shared->mission = MG_GET_TO_GOAL;
  if ((x == 0) == (y == 0) && x <= size - 2 && y <= size - 2) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "agent_start_pos=(%lld, %lld): choose a cell between the walls, or None",
                 (long long)x, (long long)y);
}

void mg_generate_square(const mg_shared *shared, mg_world *world) {
  mg_frame(world, mg_whole(world));
  mg_set(world, world->width - 2, world->height - 2, mg_goal);
  mg_start_agent(world, shared->own + MG_SQUARE_START_X);
}
