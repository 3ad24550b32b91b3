/* Games: the table of games: what each one needs from the console, and how ALE plays it.
 *
 * A game is one row of table.def, which a program writes from ale-py's answers
 * (tests/parity/atari_facts.py), and one rule in rules/<game>.c. The rows also hold the words that
 * stand for the game in EnvPool's ids and in ale-py's; the files that define environments read
 * them (GAME in envpool.c and ale.c). */
#ifndef PP_ENVS_ATARI_GAMES_GAMES_H
#define PP_ENVS_ATARI_GAMES_GAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/rule.h"

/* rows of the table: the games that ale-py can play; build_ffi.py reads this number, too */
enum { PP_GAME_COUNT = 104 };

/* what a cartridge needs from the console */
typedef struct pp_hardware {
  bool pal;           /* the television standard; otherwise NTSC */
  bool no_comb;       /* HMOVE does not blank the first eight pixels of its line */
  bool swapped;       /* the controller is in the other port, or is the port's other paddle */
  uint16_t lines;     /* height of the screen */
  uint8_t first_line; /* line of the frame that is the screen's first */
  uint8_t paddles;    /* number of paddles, two to a port; 0: joysticks */
  bool all_centered;  /* at power-up all paddles are in the middle; otherwise only the first two */
  int32_t paddle_max; /* resistance in ohms of a paddle turned all the way */
} pp_hardware;

/* An action and the number of frames for which it is held. PP_START_RESET is no action of a player:
 * it presses the console's RESET switch. */
enum { PP_START_RESET = 40 };
typedef struct pp_start_action {
  uint16_t action, frames;
} pp_start_action;

/* number of switches in a menu, and the row of the first one */
enum { PP_MENU_SWITCHES = 4, PP_MENU_FIRST = 2 };

typedef struct pp_game {
  const char *name; /* as ale-py spells it */
  pp_hardware hardware;
  const pp_rule *rule;   /* null in pp_game_without_rules only */
  uint32_t actions;      /* bit a: action a of ALE's eighteen is in the minimal set */
  uint32_t legal;        /* bit a: ALE allows action a in this game; 0: all eighteen */
  uint8_t difficulties;  /* bit d: difficulty d exists; the default is 0 */
  const uint16_t *modes; /* the first one is the default */
  int mode_count;

  /* ALE chooses a mode by holding SELECT for select_frames, waiting one frame, and reading a byte
   * of memory, until the byte holds the mode. Then it holds RESET for reset_frames. */
  /* address in RAM, from 128 on in the cartridge's RAM; -1: no choice */
  int mode_byte;
  uint8_t mode_mask;          /* the bits of the byte that hold the mode */
  const uint8_t *mode_values; /* these bits in each mode; null: the mode's number */
  int mode_wait;              /* frames before the byte is first read */
  int select_frames, reset_frames;
  /* Each press of SELECT is up to 255 frames longer, by a number from the generator of sticky
   * actions, from which a second frame of waiting draws two more. */
  bool select_is_random;
  /* A mode of Video Cube is 100 times a cube, plus a way to play it. After RESET the stick is held
   * to the right until this byte of RAM holds the cube as two decimal digits. 0: no cube. ALE
   * treats these actions as the player's, so they may stick. */
  int cube_byte;
  /* The modes of Double Dunk are four switches in a menu, which one press of SELECT opens: these
   * bits of byte 0 in RAM. The stick goes down until mode_byte holds the switch's row, and right
   * until its bit is the mode's; after RESET a shot is played. null: no menu. */
  const uint8_t *menu_bits;
  /* If several can play: the bit of the menu's first switch, which stands where the menu opens and
   * is bit 4 of the mode. Then no shot is played. 0: there is no such switch. */
  uint8_t menu_second_player;

  /* played after the last RESET, up to the entry of 0 frames; null: none */
  const pp_start_action *start_actions;
} pp_game;

/* Returns the row of the game of this name, or null. */
const pp_game *pp_game_find(const char *name);

/* Returns a mode's index in the game's list; negative if the game does not have it. */
int pp_game_mode(const pp_game *game, int mode);

/* A game without score, without end and with one mode, for tests of the console alone. */
extern const pp_game pp_game_without_rules;

#endif
