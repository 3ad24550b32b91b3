// games.c: the table of ROMs for several players.
#include "games.h"

#include <stddef.h>
#include <string.h>

#define ROM(rom, start, ...) extern const pp_players_rule pp_players_rule_##rom;
#include "roms.inl"

#define START(...)            \
  (const pp_start_action[]) { \
    __VA_ARGS__, {0}          \
  }
#define ROM(rom, start, ...) \
  {.rule = &pp_players_rule_##rom, .start_actions = start, .game = {.name = #rom, __VA_ARGS__}},
static const pp_players_rom roms[] = {
#include "roms.inl"
};

_Static_assert(sizeof roms / sizeof roms[0] == PP_PLAYERS_ROM_COUNT, "a row for each ROM");

const pp_players_rom *pp_players_rom_find(const char *name) {
  for (size_t i = 0; i < PP_PLAYERS_ROM_COUNT; ++i) {
    if (strcmp(roms[i].game.name, name) == 0) return &roms[i];
  }
  return NULL;
}
