// games.h: what ALE knows of a game: its rule, its actions, and how a new one is begun.
#ifndef PP_ENVS_ATARI_GAMES_GAMES_H_
#define PP_ENVS_ATARI_GAMES_GAMES_H_

#include <stdbool.h>
#include <stdint.h>

#include "rule.h"

// an action and the number of frames that it is held; one more than players have is to press RESET
enum { PP_OPENING_RESET = 40 };
typedef struct pp_opening {
  uint16_t action, frames;
} pp_opening;

// a menu's switches, and the row of the first
enum { PP_MENU_SWITCHES = 4, PP_MENU_FIRST = 2 };

typedef struct pp_game {
  const char *name;       // as ale-py spells it
  const pp_rule *rule;    // null: none is known
  uint32_t actions;       // bit a: action a of ALE's eighteen is in the minimal set
  uint32_t legal;         // bit a: ALE knows action a in this game; 0: it knows all eighteen
  uint8_t difficulties;   // bit d: there is a difficulty d; 0 is played where none was chosen
  int32_t paddle_max;     // ohms of a paddle turned all the way; 0: the usual
  const uint16_t *modes;  // the first is the default
  int mode_count;

  // A mode is chosen by holding SELECT for select_frames, waiting one, and looking at a byte of
  // memory, until that holds the mode; then RESET is held for `soft` frames.
  int mode_byte;               // address in RAM, from 128 on in the cartridge's; -1: none is chosen
  uint8_t mode_mask;           // bits of it that tell the mode
  const uint8_t *mode_values;  // what they are in each mode; null: the mode's number
  int mode_wait;               // frames before the first look
  int select_frames, soft;
  // each press is up to 255 frames longer, as the generator of sticky actions has it, which then
  // draws for a second frame of waiting
  bool mode_chance;
  // A mode of Video Cube is 100 times a cube, and a way to play it. After RESET the stick is held
  // to the right until this byte of RAM holds the cube as two decimal digits; 0: there is none. As
  // all that is played with the stick here, these actions count as the player's and may stick
  int cube_byte;
  // The modes of Double Dunk are four switches in a menu, which one press of SELECT opens: bits of
  // byte 0 in RAM. The stick goes down until mode_byte holds the switch's row, and right until its
  // bit is the mode's; after RESET a shot is played. null: there is no menu
  const uint8_t *menu_bits;

  const pp_opening *start;  // played after the last RESET, ended by 0 frames; null: nothing
} pp_game;

// what is known of the game of this name, or null
const pp_game *pp_game_find(const char *name);

// every game, in the order of their names; *count says how many
const pp_game *pp_game_list(int *count);

// the place of a mode in the game's list; negative if it has no such one
int pp_game_mode(const pp_game *game, int mode);

// nothing is known: no score, no end, one mode; to look at a console without rules
extern const pp_game pp_game_bare;

#endif  // PP_ENVS_ATARI_GAMES_GAMES_H_
