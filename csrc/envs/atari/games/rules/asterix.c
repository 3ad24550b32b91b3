/* Asterix: six digits in BCD; a flag ends the game when one life is left. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[94], ram[95], ram[96]));
  s->lives = ram[83] & 15;
  s->over = ram[71] == 1 && s->lives == 1;
  if (s->over) s->lives = 0;
}

PP_RULE(asterix) = {.step = step};
