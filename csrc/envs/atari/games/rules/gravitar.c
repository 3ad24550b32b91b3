/* Gravitar: six digits in BCD; a count of spare lives; a byte is one when the game is over, and
 * zero before it has begun. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[7], ram[8], ram[9]));
  s->over = ram[1] == 1;
  s->lives = ram[1] == 0 ? 6 : ram[4] + 1;
  if (s->over) s->lives = 0;
}

PP_RULE(gravitar) = {.step = step};
