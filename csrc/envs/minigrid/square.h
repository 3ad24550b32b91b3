/* A square room with a goal in its last corner: what Empty and Dynamic-Obstacles have in common. */
#ifndef PP_ENVS_MINIGRID_SQUARE_H
#define PP_ENVS_MINIGRID_SQUARE_H

#include "level.h"

/* options of such a level; its own follow */
enum mg_square_option {
  MG_SQUARE_SIZE,
  MG_SQUARE_START_X,
  MG_SQUARE_START_Y,
  MG_SQUARE_START_DIRECTION,
  MG_NUM_SQUARE_OPTIONS
};

#define MG_SQUARE(size, start)   \
  MG_SIZE(MG_SQUARE_SIZE, size), \
      MG_START(MG_SQUARE_START_X, MG_SQUARE_START_Y, MG_SQUARE_START_DIRECTION, start)

int mg_configure_square(mg_shared *shared, const pp_value *values, pp_error *error);
void mg_generate_square(const mg_shared *shared, mg_world *world);

#endif
