/* procgen-<game>-v0: Procgen's games under the ids that the package itself registers with gym.
 *
 * Each equals procgen.ProcgenGym3Env(num=1, env_name, rand_seed=seed, ...) of procgen-mirror 0.10.7
 * bit for bit, as it is stepped in C through the same library. */
#include "task.h"

static const pp_option options[PROCGEN_NUM_OPTIONS] = {
    PROCGEN_COMMON(false, false),
    [PROCGEN_DISTRIBUTION_MODE] = {.name = "distribution_mode",
                                   .type = PP_OPT_STRING,
                                   .text = "hard",
                                   .doc = "kind of levels: easy, hard, extreme, memory or "
                                          "exploration; not every game has all"},
    PROCGEN_INT(PROCGEN_OTHER, "debug_mode", 0, INT32_MAX,
                "what coinrun leaves out, bits: 2 pits, 4 crates, 8 slopes"),
};

#define GAME(number, title)                                          \
  {                                                                  \
      PROCGEN_DEFINITION,                                            \
      .id = "procgen-" title "-v0",                                  \
      .variant = title,                                              \
      .reference = "procgen-mirror 0.10.7 ProcgenGym3Env " title,    \
      .options = options,                                            \
      .fields = procgen_fields,                                      \
      .data = &(const procgen_kind){.game = &procgen_games[number]}, \
      .action = {.name = "action",                                   \
                 .dtype = PP_INT64,                                  \
                 .space = PP_DISCRETE,                               \
                 .n = PROCGEN_NUM_ACTIONS},                          \
  }

const pp_env_def pp_env_procgen[16] = {
    GAME(PROCGEN_BIGFISH, "bigfish"),     GAME(PROCGEN_BOSSFIGHT, "bossfight"),
    GAME(PROCGEN_CAVEFLYER, "caveflyer"), GAME(PROCGEN_CHASER, "chaser"),
    GAME(PROCGEN_CLIMBER, "climber"),     GAME(PROCGEN_COINRUN, "coinrun"),
    GAME(PROCGEN_DODGEBALL, "dodgeball"), GAME(PROCGEN_FRUITBOT, "fruitbot"),
    GAME(PROCGEN_HEIST, "heist"),         GAME(PROCGEN_JUMPER, "jumper"),
    GAME(PROCGEN_LEAPER, "leaper"),       GAME(PROCGEN_MAZE, "maze"),
    GAME(PROCGEN_MINER, "miner"),         GAME(PROCGEN_NINJA, "ninja"),
    GAME(PROCGEN_PLUNDER, "plunder"),     GAME(PROCGEN_STARPILOT, "starpilot"),
};
