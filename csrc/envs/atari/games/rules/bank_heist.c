/* Bank heist: six digits in BCD; a count of spare lives; a flag ends the game when none is left. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[88], ram[89], ram[90]));
  s->lives = ram[85];
  s->over = ram[78] == 1 && s->lives == 0;
}

PP_RULE(bank_heist) = {.step = step};
