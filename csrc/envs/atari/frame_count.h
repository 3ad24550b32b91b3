// frame_count.h: one console of an arcade, with ALE's count of the frames that it has played.
#ifndef PP_ENVS_ATARI_FRAME_COUNT_H_
#define PP_ENVS_ATARI_FRAME_COUNT_H_

#include <stdint.h>

#include "api_common.h"
#include "console/console.h"
#include "joystick.h"

// plain data, so that a copy is a snapshot; zeroed before its first use
typedef struct pp_cabinet {
  pp_console console;
  int64_t frames;          // since the console was switched on
  int64_t episode_frames;  // since the last new game
  uint8_t has_power;       // the console was switched on
} pp_cabinet;

// switch the console on, or off and on again; what ALE does with loadROM counts as played, too
void pp_cabinet_power_up(pp_cabinet *cabinet, const pp_arcade *arcade, uint32_t random_seed);

// start a new game
void pp_cabinet_begin_game(pp_cabinet *cabinet, const pp_arcade *arcade);

// Run one frame and return its reward; after the game's end none is run, and none counted. draw =
// 0: its screen will not be looked at.
int pp_cabinet_act(pp_cabinet *cabinet, const pp_arcade *arcade, pp_move move, int draw);

// rows of palette indices: the last frame, whether its screen was to be looked at or not
static inline const uint8_t *pp_cabinet_screen(pp_cabinet *cabinet, const pp_arcade *arcade) {
  return pp_console_draw(&cabinet->console, arcade->cartridge);
}

static inline int pp_cabinet_game_over(const pp_cabinet *cabinet) {
  return pp_console_game_over(&cabinet->console);
}

static inline int pp_cabinet_lives(const pp_cabinet *cabinet) {
  return pp_console_lives(&cabinet->console);
}

#endif  // PP_ENVS_ATARI_FRAME_COUNT_H_
