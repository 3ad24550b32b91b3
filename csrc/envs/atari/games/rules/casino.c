/* Casino: the player's money, four digits in BCD; a bit and a byte say that the game has been won
 * or lost; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t last = s->reward;
  int ended = (ram[83] & 0x80) != 0;
  pp_score_set(s, pp_bcd4(ram[12], ram[21]));
  // once the bit is set, the last reward is given again; the initial stake is no reward
  if (ended) s->reward = last;
  if (!s->started) s->reward = 0;
  s->started = 1;
  if (ram[84] == 3) {
    // solitaire pays once, when all cards are laid
    s->over = ram[30] == 0xaa && s->score != 0;
  } else {
    s->over = s->score == 0 || (ended && ram[30] != 0);
  }
  s->lives = !s->over;
}

PP_RULE(casino) = {.step = step};
