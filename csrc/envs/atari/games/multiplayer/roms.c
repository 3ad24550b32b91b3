/* ROMs: the table of ROMs for several players. */
#include "roms.h"

#include <stddef.h>
#include <string.h>

#define ROM(rom, start, ...) extern const pp_multiplayer_rule pp_multiplayer_rule_##rom;
#include "roms.def"

#define START(...)            \
  (const pp_start_action[]) { \
    __VA_ARGS__, {0}          \
  }
#define ROM(rom, start, ...) \
  {.rule = &pp_multiplayer_rule_##rom, .start_actions = start, .game = {.name = #rom, __VA_ARGS__}},
static const pp_multiplayer_rom roms[] = {
#include "roms.def"
};

_Static_assert(sizeof(roms) / sizeof(roms[0]) == PP_MULTIPLAYER_ROM_COUNT, "a row for each ROM");

const pp_multiplayer_rom *pp_multiplayer_rom_find(const char *name) {
  for (size_t i = 0; i < PP_MULTIPLAYER_ROM_COUNT; i++) {
    if (strcmp(roms[i].game.name, name) == 0) return &roms[i];
  }
  return NULL;
}
