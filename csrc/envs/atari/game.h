// game.h: the rules of a game: what its memory says about score, lives and end.
#ifndef PP_ENVS_ATARI_GAME_H_
#define PP_ENVS_ATARI_GAME_H_

#include <stdint.h>

// what the rules remember of the last frame
typedef struct pp_score {
  int32_t score, reward, lives;
  uint8_t over, started;
} pp_score;

typedef struct pp_game {
  const char *name;       // as ale-py spells it
  const int8_t *actions;  // the minimal action set, ended by -1
  const uint8_t *modes;
  int mode_count;
  int mode_byte;      // address in RAM of the mode's number; -1: a single mode, never selected
  int select_frames;  // how long SELECT is held to get to the next mode
  const uint8_t *difficulties;
  int difficulty_count;

  void (*reset)(pp_score *score);
  void (*step)(pp_score *score, const uint8_t *ram);
} pp_game;

// rules of the game of this name, or NULL
const pp_game *pp_game_find(const char *name);

// the rules of nothing: no score, no end, one mode; to look at a console without them
extern const pp_game pp_game_bare;

#endif  // PP_ENVS_ATARI_GAME_H_
