/* <Game><Mode>-v0: Procgen's games under EnvPool's ids, with its options, shapes and infos.
 *
 * Levels, rewards and episodes are those of EnvPool 1.2.5 with the same seed. Pictures are the
 * library's. The row of an episode's last step has the first frame of the next level, where EnvPool
 * has the last one of its own. */
#include "task.h"

#define OPTIONS(mode)                                                                        \
  {                                                                                          \
      PROCGEN_COMMON(true, true),                                                            \
      PROCGEN_INT(PROCGEN_DISTRIBUTION_MODE, "distribution_mode", mode, PROCGEN_EXPLORATION, \
                  "kind of levels: 0 easy, 1 hard, 2 extreme, 10 memory, 20 exploration"),   \
      PROCGEN_BOOL(PROCGEN_OTHER, "use_easy_jump", false, "no game here depends on it"),     \
  }

static const pp_option easy[PROCGEN_NUM_OPTIONS] = OPTIONS(PROCGEN_EASY);
static const pp_option hard[PROCGEN_NUM_OPTIONS] = OPTIONS(PROCGEN_HARD);
static const pp_option extreme[PROCGEN_NUM_OPTIONS] = OPTIONS(PROCGEN_EXTREME);
static const pp_option memory[PROCGEN_NUM_OPTIONS] = OPTIONS(PROCGEN_MEMORY);
static const pp_option exploration[PROCGEN_NUM_OPTIONS] = OPTIONS(PROCGEN_EXPLORATION);

#define GAME(number, title, limit, mode)                                                           \
  {                                                                                                \
      PROCGEN_DEFINITION,                                                                          \
      .id = title "-v0",                                                                           \
      .variant = title,                                                                            \
      .reference = "envpool 1.2.5 " title "-v0",                                                   \
      .options = mode,                                                                             \
      .fields = procgen_envpool_fields,                                                            \
      .max_episode_steps = limit,                                                                  \
      .data = &(const procgen_kind){.game = &procgen_games[PROCGEN_##number], .is_envpool = true}, \
      .action = {.name = "action",                                                                 \
                 .dtype = PP_INT64,                                                                \
                 .space = PP_DISCRETE,                                                             \
                 .n = PROCGEN_NUM_ACTIONS},                                                        \
  }
#define EASY(number, title, limit) GAME(number, title "Easy", limit, easy)
#define HARD(number, title, limit) GAME(number, title "Hard", limit, hard)
#define EXTREME(number, title, limit) GAME(number, title "Extreme", limit, extreme)
#define MEMORY(number, title, limit) GAME(number, title "Memory", limit, memory)
#define EXPLORATION(number, title, limit) GAME(number, title "Exploration", limit, exploration)

const pp_env_def pp_env_procgen_envpool[50] = {
    EASY(BIGFISH, "Bigfish", 6000),
    HARD(BIGFISH, "Bigfish", 6000),
    EASY(BOSSFIGHT, "Bossfight", 4000),
    HARD(BOSSFIGHT, "Bossfight", 4000),
    EASY(CAVEFLYER, "Caveflyer", 1000),
    HARD(CAVEFLYER, "Caveflyer", 1000),
    MEMORY(CAVEFLYER, "Caveflyer", 1000),
    EXPLORATION(CAVEFLYER, "Caveflyer", 1000),
    EASY(CHASER, "Chaser", 1000),
    HARD(CHASER, "Chaser", 1000),
    EXTREME(CHASER, "Chaser", 1000),
    EASY(CLIMBER, "Climber", 1000),
    HARD(CLIMBER, "Climber", 1000),
    EXPLORATION(CLIMBER, "Climber", 1000),
    EASY(COINRUN, "Coinrun", 1000),
    HARD(COINRUN, "Coinrun", 1000),
    EXPLORATION(COINRUN, "Coinrun", 1000),
    EASY(DODGEBALL, "Dodgeball", 1000),
    HARD(DODGEBALL, "Dodgeball", 1000),
    EXTREME(DODGEBALL, "Dodgeball", 1000),
    MEMORY(DODGEBALL, "Dodgeball", 1000),
    EASY(FRUITBOT, "Fruitbot", 1000),
    HARD(FRUITBOT, "Fruitbot", 1000),
    EASY(HEIST, "Heist", 1000),
    HARD(HEIST, "Heist", 1000),
    MEMORY(HEIST, "Heist", 1000),
    EXPLORATION(HEIST, "Heist", 1000),
    EASY(JUMPER, "Jumper", 1000),
    HARD(JUMPER, "Jumper", 1000),
    MEMORY(JUMPER, "Jumper", 1000),
    EXPLORATION(JUMPER, "Jumper", 1000),
    EASY(LEAPER, "Leaper", 500),
    HARD(LEAPER, "Leaper", 500),
    EXTREME(LEAPER, "Leaper", 500),
    EXPLORATION(LEAPER, "Leaper", 500),
    EASY(MAZE, "Maze", 500),
    HARD(MAZE, "Maze", 500),
    MEMORY(MAZE, "Maze", 500),
    EXPLORATION(MAZE, "Maze", 500),
    EASY(MINER, "Miner", 1000),
    HARD(MINER, "Miner", 1000),
    MEMORY(MINER, "Miner", 1000),
    EASY(NINJA, "Ninja", 1000),
    HARD(NINJA, "Ninja", 1000),
    EXPLORATION(NINJA, "Ninja", 1000),
    EASY(PLUNDER, "Plunder", 4000),
    HARD(PLUNDER, "Plunder", 4000),
    EASY(STARPILOT, "Starpilot", 1000),
    HARD(STARPILOT, "Starpilot", 1000),
    EXTREME(STARPILOT, "Starpilot", 1000),
};
