/* The table of Procgen's games. */
#include "games.h"

#include <string.h>

#include "base/fail.h"

/* names, time limits and levels are facts of procgen 0.10.7 */
const procgen_game procgen_games[PROCGEN_NUM_GAMES] = {
    [PROCGEN_BIGFISH] = {.name = "bigfish", .time_limit = 6000},
    [PROCGEN_BOSSFIGHT] = {.name = "bossfight", .time_limit = 4000},
    [PROCGEN_CAVEFLYER] = {.name = "caveflyer",
                           .has_memory = true,
                           .exploration = 1259048185,
                           .time_limit = 1000},
    [PROCGEN_CHASER] = {.name = "chaser", .has_extreme = true, .time_limit = 1000},
    [PROCGEN_CLIMBER] = {.name = "climber", .exploration = 1561126160, .time_limit = 1000},
    [PROCGEN_COINRUN] = {.name = "coinrun", .exploration = 1949448038, .time_limit = 1000},
    [PROCGEN_DODGEBALL] = {.name = "dodgeball",
                           .has_extreme = true,
                           .has_memory = true,
                           .time_limit = 1000},
    [PROCGEN_FRUITBOT] = {.name = "fruitbot", .time_limit = 1000},
    [PROCGEN_HEIST] = {.name = "heist",
                       .has_memory = true,
                       .exploration = 876640971,
                       .time_limit = 1000},
    [PROCGEN_JUMPER] = {.name = "jumper",
                        .has_memory = true,
                        .exploration = 1434825276,
                        .time_limit = 1000},
    [PROCGEN_LEAPER] = {.name = "leaper",
                        .has_extreme = true,
                        .exploration = 1318677581,
                        .time_limit = 500},
    [PROCGEN_MAZE] = {.name = "maze",
                      .has_memory = true,
                      .exploration = 158988835,
                      .time_limit = 500},
    [PROCGEN_MINER] = {.name = "miner", .has_memory = true, .time_limit = 1000},
    [PROCGEN_NINJA] = {.name = "ninja", .exploration = 1123500215, .time_limit = 1000},
    [PROCGEN_PLUNDER] = {.name = "plunder", .time_limit = 4000},
    [PROCGEN_STARPILOT] = {.name = "starpilot", .has_extreme = true, .time_limit = 1000},
};

static const struct {
  const char *name;
  int32_t mode;
} modes[] = {
    {"easy", PROCGEN_EASY},
    {"hard", PROCGEN_HARD},
    {"extreme", PROCGEN_EXTREME},
    {"memory", PROCGEN_MEMORY},
    {"exploration", PROCGEN_EXPLORATION},
};

enum { NUM_MODES = sizeof(modes) / sizeof(*modes) };

int32_t procgen_mode_of(const char *name) {
  for (int i = 0; i < NUM_MODES; i++) {
    if (!strcmp(name, modes[i].name)) return modes[i].mode;
  }
  return -1;
}

static bool has_mode(const procgen_game *game, int64_t mode) {
  switch (mode) {
    case PROCGEN_EASY:
    case PROCGEN_HARD: return true;
    case PROCGEN_EXTREME: return game->has_extreme;
    case PROCGEN_MEMORY: return game->has_memory;
    case PROCGEN_EXPLORATION: return game->exploration != 0;
    default: return false;
  }
}

int procgen_check_mode(const procgen_game *game, int64_t mode, const char *name, pp_error *error) {
  if (has_mode(game, mode)) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "distribution_mode=%s: %s has easy (0), hard (1)%s%s%s",
                 name, game->name, game->has_extreme ? ", extreme (2)" : "",
                 game->has_memory ? ", memory (10)" : "",
                 game->exploration ? ", exploration (20)" : "");
}
