/* Robotank: the tanks destroyed: dozens in one byte, the rest in another; a count of spare lives;
 * when none is left, one value of a byte ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, ram[54] * 12 + ram[53]);
  s->over = ram[40] == 0 && ram[52] == 255;
  s->lives = s->over ? 0 : (ram[40] & 15) + 1;
}

PP_RULE(robotank) = {.step = step};
