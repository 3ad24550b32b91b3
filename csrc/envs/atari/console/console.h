// console.h: one Atari 2600 with a player at its controls, frame by frame as ALE 0.12.1 runs it.
#ifndef PP_ENVS_ATARI_CONSOLE_CONSOLE_H_
#define PP_ENVS_ATARI_CONSOLE_CONSOLE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../games/games.h"
#include "base/mt19937.h"
#include "cartridge.h"
#include "machine.h"

// plain data without pointers: a copy is a snapshot
typedef struct pp_console {
  pp_machine machine;
  pp_machine undrawn[2];  // where the last frame began that left out its pixels, per screen
  uint8_t missing[2];     // that frame would have changed this screen
  uint8_t shown;          // the screen of the last frame
  uint8_t brief;          // the last frame did not cover the screen
  uint8_t held_action;
  uint8_t difficulty;
  uint8_t switches;  // port B with this difficulty and no switch pressed
  uint16_t mode;
  uint16_t waited;  // frames of the last reset that ALE counts as played: those around SELECT
  float held_strength;
  float sticky;  // probability that an action is ignored in favour of the one before it
  pp_score score;
  pp_mt19937 system_random;  // RAM and timer at power-up
  pp_mt19937 action_random;  // sticky actions
  uint8_t screen[2][PP_SCREEN_BYTES];
} pp_console;

// bytes of a console, for callers that do not compile against this header
size_t pp_console_size(void);

// power up with a cartridge, as ALE's loadROM does, one full reset included; the mode is the
// game's first, the difficulty 0; sticky: the probability that the action before is repeated
// instead of another, anew in every frame
void pp_console_load(pp_console *console, const pp_cartridge *cartridge, uint32_t random_seed,
                     float sticky);

// choose the mode or difficulty that the next pp_console_reset_game starts with; negative status
// if the game has no such one
int pp_console_set_mode(pp_console *console, const pp_cartridge *cartridge, int mode);
int pp_console_set_difficulty(pp_console *console, const pp_cartridge *cartridge, int difficulty);

// start a new game
void pp_console_reset_game(pp_console *console, const pp_cartridge *cartridge);

// parts of that, for proofs: switch the power off and on, and run frames with an action and with
// switches pressed (1: RESET, 2: SELECT)
void pp_console_power(pp_console *console, const pp_cartridge *cartridge);
void pp_console_idle(pp_console *console, const pp_cartridge *cartridge, int action,
                     unsigned pressed, int frames);

// run one frame with an action of ALE's list (0..17) and return its reward; draw = 0: the screen of
// this frame will not be looked at
int pp_console_act(pp_console *console, const pp_cartridge *cartridge, int action, int draw);

// the same with a paddle turned by a part of its usual step, 0 to 1
int pp_console_act_by(pp_console *console, const pp_cartridge *cartridge, int action,
                      float strength, int draw);

// hold the action that the next frame would be played with, and play none
void pp_console_wait(pp_console *console, int action, float strength);

int pp_console_game_over(const pp_console *console);
int pp_console_lives(const pp_console *console);

// the 128 bytes of RAM
const uint8_t *pp_console_ram(const pp_console *console);

// cartridge->lines rows of 160 palette indices: the last frame, which must have been drawn
const uint8_t *pp_console_screen(const pp_console *console);

// the same, drawn or not: a frame that ran without pixels is run once more from where it began
static inline const uint8_t *pp_console_draw(pp_console *console, const pp_cartridge *cartridge) {
  int last = console->shown;
  if (console->missing[last]) {
    pp_machine_frame(&console->undrawn[last], cartridge, console->screen[last]);
    console->missing[last] = 0;
  }
  return console->screen[last];
}

// will the next frame go on in the screen of the last one? ALE's frames have a limit
static inline bool pp_console_goes_on(const pp_console *console) {
  return console->machine.partial;
}

// the frame before the last one, which must have been drawn; gone if the last one went on in it
static inline const uint8_t *pp_console_screen_before(const pp_console *console) {
  return console->screen[console->shown ^ 1];
}

#endif  // PP_ENVS_ATARI_CONSOLE_CONSOLE_H_
