/* MiniGrid-Empty: a room with a goal in its corner. */
#include "square.h"

static const mg_level level = {.configure = mg_configure_square, .generate = mg_generate_square};

#define EMPTY(title, size, start)                                                        \
  {                                                                                      \
      MG_DEFINITION("Empty-" title "-v0", &level, MG_NUM_SQUARE_OPTIONS, MG_NUM_ACTIONS, \
                    MG_COMMON(true), MG_SQUARE(size, start)),                            \
  }

const pp_env_def pp_env_minigrid_empty[6] = {
    EMPTY("5x5", 5, 1),        EMPTY("Random-5x5", 5, 0), EMPTY("6x6", 6, 1),
    EMPTY("Random-6x6", 6, 0), EMPTY("8x8", 8, 1),        EMPTY("16x16", 16, 1),
};
