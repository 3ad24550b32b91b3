// gravitar.c: six digits in BCD; one value of a byte means that the game is over, zero that it has
// not begun.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[7], ram[8], ram[9]));
  s->over = ram[1] == 1;
  s->lives = ram[1] == 0 ? 6 : ram[4] + 1;
  if (s->over) s->lives = 0;
}

PP_RULE(gravitar) = {.step = step};
