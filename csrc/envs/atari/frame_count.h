// frame_count.h: one console of an setup, with ALE's count of the frames that it has played.
#ifndef PP_ENVS_ATARI_FRAME_COUNT_H_
#define PP_ENVS_ATARI_FRAME_COUNT_H_

#include <stdint.h>

#include "api_common.h"
#include "console/console.h"
#include "joystick.h"

// plain data, so that a copy is a snapshot; zeroed before its first use
typedef struct pp_counted_console {
  pp_console console;
  int64_t frames;          // since the console was switched on
  int64_t episode_frames;  // since the last new game
  uint8_t has_power;       // the console was switched on
} pp_counted_console;

// switch the console on, or off and on again; what ALE does with loadROM counts as played, too
void pp_counted_power_up(pp_counted_console *counted, const pp_setup *setup, uint32_t random_seed);

// start a new game
void pp_counted_begin_game(pp_counted_console *counted, const pp_setup *setup);

// Run one frame and return its reward; after the game's end none is run, and none counted. draw =
// 0: its screen will not be looked at.
int pp_counted_act(pp_counted_console *counted, const pp_setup *setup, pp_move move, int draw);

// rows of palette indices: the last frame, whether its screen was to be looked at or not
static inline const uint8_t *pp_counted_screen(pp_counted_console *counted, const pp_setup *setup) {
  return pp_console_draw(&counted->console, setup->cartridge);
}

static inline int pp_counted_game_over(const pp_counted_console *counted) {
  return pp_console_game_over(&counted->console);
}

static inline int pp_counted_lives(const pp_counted_console *counted) {
  return pp_console_lives(&counted->console);
}

#endif  // PP_ENVS_ATARI_FRAME_COUNT_H_
