/* Frame count: a console together with ALE's count of the frames that it has played. */
#ifndef PP_ENVS_ATARI_FRAME_COUNT_H
#define PP_ENVS_ATARI_FRAME_COUNT_H

#include <stdint.h>

#include "console/console.h"
#include "joystick.h"
#include "setup.h"

/* plain data, so that a copy is a snapshot; zeroed before its first use */
typedef struct pp_counted_console {
  pp_console console;
  int64_t frames;         /* since the console was switched on */
  int64_t episode_frames; /* since the last new game */
  uint8_t has_power;      /* the console was switched on */
} pp_counted_console;

/* Switches the console on; if it was on, off and on again. The frames that ALE runs in loadROM are
 * counted. */
void pp_counted_power_up(pp_counted_console *counted, const pp_setup *setup, uint32_t random_seed,
                         double sticky);

/* Checks a console that is to replace `present`: see pp_console_check. */
bool pp_counted_check(const pp_env *env, const pp_counted_console *counted,
                      const pp_counted_console *present, const pp_setup *setup);

/* Starts a new game. */
void pp_counted_begin_game(pp_counted_console *counted, const pp_setup *setup);

/* Runs one frame and returns its reward. After the game's end no frame is run or counted. draw: the
 * caller may read the screen. */
int pp_counted_act(pp_counted_console *counted, const pp_setup *setup, pp_move move, bool draw);

/* Returns the screen of the last frame, as rows of palette indices; draws it if it was not
 * drawn. */
static inline const uint8_t *pp_counted_screen(pp_counted_console *counted, const pp_setup *setup) {
  return pp_console_draw(&counted->console, setup->cartridge);
}

static inline bool pp_counted_game_over(const pp_counted_console *counted) {
  return pp_console_game_over(&counted->console);
}

static inline int pp_counted_lives(const pp_counted_console *counted) {
  return pp_console_lives(&counted->console);
}

#endif
