/* ROMs: the Atari games that two or four players play, as PettingZoo's Atari page lists them.
 *
 * A ROM has one row of roms.def and one rule in rules/<rom>.c. The games of the page
 * (pettingzoo.def) choose a mode of a ROM, some of them by options of their own
 * (pettingzoo_options.c). All facts are those of the ALE in multi_agent_ale_py 0.1.12, which is
 * older than ale-py's and starts games in another way. */
#ifndef PP_ENVS_ATARI_GAMES_MULTIPLAYER_ROMS_H
#define PP_ENVS_ATARI_GAMES_MULTIPLAYER_ROMS_H

#include <stdint.h>

#include "../games.h"
#include "rule.h"

/* rows of roms.def and pettingzoo.def; build_ffi.py reads the second number, too */
enum { PP_MULTIPLAYER_ROM_COUNT = 18, PP_MULTIPLAYER_GAME_COUNT = 24 };

typedef struct pp_multiplayer_rom {
  pp_game game; /* without a rule and start_actions */
  const pp_multiplayer_rule *rule;
  /* Played after the last RESET by one player after the other, up to the entry of 0 frames; null:
   * none. */
  const pp_start_action *start_actions;
} pp_multiplayer_rom;

/* Returns the row of a ROM, by ale-py's name of it, or null. */
const pp_multiplayer_rom *pp_multiplayer_rom_find(const char *name);

#endif
