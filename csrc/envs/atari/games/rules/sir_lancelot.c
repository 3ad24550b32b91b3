/* Sir lancelot: six digits in BCD; a count of lives; when none is left, one value of a byte ends
 * the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[30], ram[31], ram[32]));
  s->lives = ram[41];
  s->over = s->lives == 0 && ram[39] == 160;
}

PP_RULE(sir_lancelot) = {.step = step};
