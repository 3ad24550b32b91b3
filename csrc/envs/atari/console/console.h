/* Console: one Atari 2600 with a player at its controls, frame by frame as ALE 0.12.1 runs it.
 *
 * Who holds whom: a cartridge is a program with its game's row of the table, made once and
 * read-only; all consoles of a pool share it. A console is the state of one Atari 2600: a machine
 * (processor, timer, television chip, ports), its two screens, and the score that the game's rule
 * keeps. It has no pointers and does not know its cartridge, which is passed to every call. The
 * files of picture/ turn a console's screen into an observation. An environment of one of the APIs
 * (envpool.c, ale.c, ale_vector.c) holds a console and the frames of its observation; what its pool
 * shares (the cartridge, the screen's tables, the options) is held once, by pp_setup and the API's
 * own struct. */
#ifndef PP_ENVS_ATARI_CONSOLE_CONSOLE_H
#define PP_ENVS_ATARI_CONSOLE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../games/games.h"
#include "../games/multiplayer/rule.h"
#include "base/mt19937.h"
#include "cartridge.h"
#include "line_cache.h"
#include "machine.h"

/* plain data without pointers: a copy is a snapshot, but see pp_console_use_cache */
typedef struct pp_console {
  pp_machine machine;
  pp_machine
      before_undrawn[2];  /* per screen: the state before its last frame that ran without pixels */
  uint8_t is_undrawn[2];  /* per screen: that frame has not been drawn since */
  uint8_t shown;          /* the screen of the last frame */
  uint8_t last_was_short; /* the last frame did not cover the screen */
  uint8_t held_action;
  uint8_t difficulty;
  uint8_t switches; /* port B with this difficulty and no switch pressed */
  uint16_t mode;
  uint16_t waited; /* frames of the last reset that ALE counts as played: those around SELECT */
  float held_strength;
  float sticky; /* probability that a frame repeats the previous action */
  pp_score score;
  pp_scores scores;         /* if several play; otherwise unused */
  pp_mt19937 system_random; /* RAM and timer at power-up; and every act, if several play */
  pp_mt19937 action_random; /* sticky actions */
  int64_t cache_at;         /* bytes from the console to its pp_line_cache; 0: it has none */
  uint8_t screen[2][PP_SCREEN_BYTES];
} pp_console;

/* Gives a console an empty cache (all bytes zero), which keeps its distance from it. A console may
 * be overwritten only if its cache is emptied, too: pp_line_cache_empty. */
void pp_console_use_cache(pp_console *console, pp_line_cache *cache);

/* Returns the size of a console, for callers that do not compile against this header. */
size_t pp_console_size(void);

/* Switches the power on with a cartridge, as ALE's loadROM does, including one full reset. The mode
 * is the game's first, the difficulty 0. sticky: the probability, in each frame, that the previous
 * action is repeated. */
void pp_console_load(pp_console *console, const pp_cartridge *cartridge, uint32_t random_seed,
                     float sticky);

/* The same for several players, as multi_agent_ale_py 0.1.12 does it: the seed determines RAM and
 * timer at power-up, too, and no action sticks. */
void pp_console_load_multiplayer(pp_console *console, const pp_cartridge *cartridge,
                                 uint32_t random_seed);

/* status codes of settings that the game does not have */
enum { PP_ERR_ATARI_MODE = -104, PP_ERR_ATARI_DIFFICULTY = -105 };

/* Chooses the mode or difficulty with which the next pp_console_reset_game starts. The status is
 * negative if the game does not have it. */
int pp_console_set_mode(pp_console *console, const pp_cartridge *cartridge, int mode);
int pp_console_set_difficulty(pp_console *console, const pp_cartridge *cartridge, int difficulty);

/* Starts a new game. */
void pp_console_reset_game(pp_console *console, const pp_cartridge *cartridge);

/* Runs one frame with the controllers and switches as they are. draw: the caller may read this
 * frame's screen; without it pixels are drawn only if a later screen needs them. */
void pp_console_frame(pp_console *console, const pp_cartridge *cartridge, bool draw);

/* Parts of pp_console_reset_game, for tests: switches the power off and on; runs frames with an
 * action and with switches pressed (1: RESET, 2: SELECT). */
void pp_console_power(pp_console *console, const pp_cartridge *cartridge);
void pp_console_idle(pp_console *console, const pp_cartridge *cartridge, int action,
                     unsigned pressed, int frames);

/* Runs one frame with an action of ALE's list (0..17) and returns its reward. draw: the caller
 * may read this frame's screen. */
int pp_console_act(pp_console *console, const pp_cartridge *cartridge, int action, bool draw);

/* The same, but paddles turn by `strength` times their usual step. */
int pp_console_act_by(pp_console *console, const pp_cartridge *cartridge, int action,
                      float strength, bool draw);

/* Runs one frame with an action of each player. Rewards, lives and the end are in console->scores.
 * After the end nothing runs, and rewards are 0. */
void pp_console_act_multiplayer(pp_console *console, const pp_cartridge *cartridge,
                                const uint8_t *actions, bool draw);

/* Does what pp_console_act does before it runs a frame: draws whether the action sticks, and holds
 * the action of the next frame. */
void pp_console_hold(pp_console *console, int action, float strength);

bool pp_console_game_over(const pp_console *console);
int pp_console_lives(const pp_console *console);

/* Returns the 128 bytes of RAM. */
const uint8_t *pp_console_ram(const pp_console *console);

/* Returns cartridge->lines rows of 160 palette indices: the last frame, which must have been
 * drawn. */
const uint8_t *pp_console_screen(const pp_console *console);

/* The same as pp_console_screen, but a last frame that ran without pixels is run again with
 * them. */
const uint8_t *pp_console_draw(pp_console *console, const pp_cartridge *cartridge);

/* Sets changed[y] to 0 if row y was the same in both screens at the last call and still is,
 * otherwise to 1. Only a cache knows of such rows, and not of all. */
void pp_console_changed(pp_console *console, uint8_t changed[PP_LINES_MAX]);

/* Returns whether the last frame reached ALE's limit of instructions: the next one continues it, in
 * the same screen. */
static inline bool pp_console_is_mid_frame(const pp_console *console) {
  return console->machine.partial;
}

/* Returns the frame before the last one, which must have been drawn. Not valid if the last frame
 * continued it (pp_console_is_mid_frame). */
static inline const uint8_t *pp_console_screen_before(const pp_console *console) {
  return console->screen[console->shown ^ 1];
}

#endif
