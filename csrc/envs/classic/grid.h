/* Games in turns on a grid of cells: two players place pieces until one has won or no cell is free.
 *
 * Every game of this kind equals the `env()` of PettingZoo 1.27.0, which ends a game at an illegal
 * move. A step is the move of one player; `live` says whose, and the other's action does not count.
 * A game's file says where a piece lands and what wins; grid.c does the rest. */
#ifndef PP_ENVS_CLASSIC_GRID_H
#define PP_ENVS_CLASSIC_GRID_H

#include <math.h>
#include <stdbool.h>

#include "pp_env.h"

enum { GRID_MAX_CELLS = 42, GRID_PLAYERS = 2 };

/* One game. It begins with the cells: parallel_pool/_families/classic_renderer.py reads them. */
typedef struct grid_state {
  uint8_t cells[GRID_MAX_CELLS]; /* 0: free; 1, 2: a piece of player 0, of player 1 */
  uint8_t is_over;
  uint8_t selected; /* the player who moves; at the end PettingZoo's agent_selection */
  int32_t pieces;
} grid_state;

/* A game. A move is legal if the cell of the same number is free. */
typedef struct grid_rules {
  int32_t num_cells;
  int32_t num_moves;
  /* Returns the cell where the piece of a legal move lands. */
  int32_t (*land)(const uint8_t *cells, int64_t move);
  /* Returns whether the piece on this cell, the last one, completes a line. */
  bool (*wins)(const uint8_t *cells, int32_t last);
} grid_rules;

/* what a player sees of `height` x `width` cells: its own and the other's pieces, legal moves */
#define GRID_FIELDS(height, width, moves)                                                    \
  {.name = "observation",                                                                    \
   .dtype = PP_INT8,                                                                         \
   .per_player = true,                                                                       \
   .ndim = 3,                                                                                \
   .shape = {height, width, GRID_PLAYERS},                                                   \
   .high = 1},                                                                               \
      {.name = "action_mask",                                                                \
       .dtype = PP_INT8,                                                                     \
       .per_player = true,                                                                   \
       .ndim = 1,                                                                            \
       .shape = {moves},                                                                     \
       .high = 1},                                                                           \
  {                                                                                          \
    .name = "live", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true \
  }

enum { GRID_NUM_FIELDS = 3 };

/* the members that are equal for all definitions of this kind */
#define GRID_DEFINITION(title, moves)                                                           \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "classic/" title, .family = "classic",   \
  .reference = "pettingzoo 1.27.0 " title, .state_size = sizeof(grid_state),                    \
  .num_players = GRID_PLAYERS, .num_fields = GRID_NUM_FIELDS,                                   \
  .action = {.name = "action",                                                                  \
             .dtype = PP_INT64,                                                                 \
             .space = PP_DISCRETE,                                                              \
             .per_player = true,                                                                \
             .n = moves},                                                                       \
  .configure = grid_configure, .reset = grid_reset, .step = grid_step, .observe = grid_observe, \
  .step_many = grid_step_many, .check_state = grid_check_state

/* the callbacks of a definition, whose data is the game's grid_rules */
int grid_configure(pp_config *config);
int grid_reset(pp_env *env, pp_reset *how);
int grid_step(pp_env *env, const void *action, pp_result *result);
int grid_observe(pp_env *env, void *const *fields, bool is_reset);
int grid_step_many(void *shared, const pp_run *run);
int grid_check_state(const pp_env *env, const pp_saved *saved);

#endif
