/* The console alone, without an environment around it: agent steps of several frames, and a reset
 * whenever a game is over.
 *
 * atari_games.py builds it as a library and calls it; each function that it calls is exported. */
#include <stdlib.h>
#include <string.h>

#include "envs/atari/console/console.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct frames {
  pp_cartridge *cartridge;
  _Alignas(64) pp_console console;
  _Alignas(64) pp_line_cache cache;
} frames;

/* Returns null if this is no ROM of the game, if there is no such build of the core for this
 * processor, or if memory is out. An empty `build` selects the best. */
EXPORT frames *frames_create(const uint8_t *rom, size_t size, const char *game, const char *build) {
  frames *it = aligned_alloc(_Alignof(frames), sizeof(*it));
  if (!it) return NULL;
  pp_cartridge_options options = {.rom = rom, .size = size, .game = game};
  if (!pp_cartridge_choose_build(&options, build) ||
      pp_cartridge_create(&options, &it->cartridge) < 0) {
    free(it);
    return NULL;
  }
  memset(&it->cache, 0, sizeof(it->cache));
  pp_console_use_cache(&it->console, &it->cache);
  pp_console_load(&it->console, it->cartridge, 1, 0);
  return it;
}

/* Plays each of `count` actions for `skip` frames, of which the last `drawn` get pixels. Returns
 * the number of frames played. */
EXPORT int64_t frames_play(frames *it, const uint8_t *actions, int32_t count, int32_t skip,
                           int32_t drawn) {
  int64_t played = 0;
  for (int32_t i = 0; i < count; i++) {
    for (int32_t k = 0; k < skip && !pp_console_game_over(&it->console); k++, played++) {
      (void)pp_console_act(&it->console, it->cartridge, actions[i], k >= skip - drawn);
    }
    if (pp_console_game_over(&it->console)) pp_console_reset_game(&it->console, it->cartridge);
  }
  return played;
}

EXPORT void frames_destroy(frames *it) {
  pp_cartridge_destroy(it->cartridge);
  free(it);
}
