/* The generator of levels with instructions of any form: minigrid's LevelGen. */
#ifndef PP_ENVS_MINIGRID_BABYAI_LEVEL_GEN_H
#define PP_ENVS_MINIGRID_BABYAI_LEVEL_GEN_H

#include "babyai.h"

/* bb_level.make */
void bb_make_any(bb_scene *scene);

#endif
