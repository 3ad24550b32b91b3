/* Hero: six digits in BCD; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[55], ram[56], ram[57]));
  s->lives = ram[51];
  s->over = s->lives == 0;
}

PP_RULE(hero) = {.step = step};
