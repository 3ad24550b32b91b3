/* Carried: what a game keeps from one episode to the next. All else a level's seed determines.
 *
 * Dodgeball turns the agent to its last move, which may be of an earlier episode; no other game
 * shows more than the seeds. */
#ifndef PP_ENVS_PROCGEN_CARRIED_H
#define PP_ENVS_PROCGEN_CARRIED_H

#include "level_seeds.h"
#include "library.h"

/* actions from 0 on are moves in nine directions, this one stands still */
enum { PROCGEN_NUM_MOVES = 9, PROCGEN_STAY = 4, PROCGEN_FIRST_MOVE = 7 };

typedef struct procgen_carried {
  pp_mt19937 seeds;  /* of the levels that follow */
  int32_t last_move; /* the last action that was a move; at first PROCGEN_FIRST_MOVE */
} procgen_carried;

/* Gives this to the only environment of a handle that is at its first level, and the range of its
 * seeds. The game must not use generated assets: it would have no state. */
int procgen_carried_store(const procgen_carried *carried, procgen_level_range range,
                          const procgen_library *library, libenv_handle *handle, pp_error *error);

#endif
