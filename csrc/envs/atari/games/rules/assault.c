/* Assault: six digits in BCD; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[0], ram[1], ram[2]));
  s->lives = ram[101];
  s->over = s->lives == 0;
}

PP_RULE(assault) = {.step = step};
