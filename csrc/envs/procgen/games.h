/* The 16 games of Procgen: their names, time limits, and the kinds of levels that each has. */
#ifndef PP_ENVS_PROCGEN_GAMES_H
#define PP_ENVS_PROCGEN_GAMES_H

#include "level_seeds.h"
#include "pp_env.h"

/* kinds of levels, as the library numbers them; exploration is one level of a hard game */
enum procgen_mode {
  PROCGEN_EASY = 0,
  PROCGEN_HARD = 1,
  PROCGEN_EXTREME = 2,
  PROCGEN_MEMORY = 10,
  PROCGEN_EXPLORATION = 20
};

typedef struct procgen_game {
  const char *name;
  bool has_extreme;
  bool has_memory;
  int32_t exploration; /* the seed of the level; 0: it has no such mode */
  int32_t time_limit; /* steps after which the library ends a level, but for jumper's memory mode */
} procgen_game;

enum {
  PROCGEN_BIGFISH,
  PROCGEN_BOSSFIGHT,
  PROCGEN_CAVEFLYER,
  PROCGEN_CHASER,
  PROCGEN_CLIMBER,
  PROCGEN_COINRUN,
  PROCGEN_DODGEBALL,
  PROCGEN_FRUITBOT,
  PROCGEN_HEIST,
  PROCGEN_JUMPER,
  PROCGEN_LEAPER,
  PROCGEN_MAZE,
  PROCGEN_MINER,
  PROCGEN_NINJA,
  PROCGEN_PLUNDER,
  PROCGEN_STARPILOT,
  PROCGEN_NUM_GAMES
};

extern const procgen_game procgen_games[PROCGEN_NUM_GAMES];

/* Refuses a mode that a game does not have. name: what the caller gave. */
int procgen_check_mode(const procgen_game *game, int64_t mode, const char *name, pp_error *error);

/* Returns the number of a mode's name; -1: there is no such mode. */
int32_t procgen_mode_of(const char *name);

#endif
