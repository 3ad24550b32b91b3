// title.h: what a cartridge needs of the console: television standard, screen, controllers.
#ifndef PP_ENVS_ATARI_GAMES_TITLE_H_
#define PP_ENVS_ATARI_GAMES_TITLE_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct pp_title {
  const char *name;    // as ale-py spells it
  bool pal;            // else NTSC
  bool no_comb;        // ALE leaves out the eight blank pixels of HMOVE
  uint8_t paddles;     // how many, two to a port; 0: joysticks
  bool swapped;        // the controller works in the other port, or as the other paddle
  uint8_t lines;       // height of the screen; 0: 210
  uint8_t first_line;  // line of a frame that is the screen's first; 0: 34
  int paddle_max;      // ohm; 0: 790196
} pp_title;

// the title of this name, or NULL
const pp_title *pp_title_find(const char *name);

#endif  // PP_ENVS_ATARI_GAMES_TITLE_H_
