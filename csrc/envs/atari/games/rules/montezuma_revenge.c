/* Montezuma revenge: six digits in BCD; a count of spare lives; when none is left, one value of a
 * byte ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[19], ram[20], ram[21]));
  s->over = ram[58] == 0 && ram[126] == 0x60;
  s->lives = s->over ? 0 : (ram[58] & 7) + 1;
}

PP_RULE(montezuma_revenge) = {.step = step};
