/* Pooyan: six digits in BCD; a count of spare lives; when none is left, one value of a byte ends
 * the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[8], ram[9], ram[10]));
  s->over = ram[22] == 0 && ram[24] == 5;
  s->lives = s->over ? 0 : (ram[22] & 7) + 1;
}

PP_RULE(pooyan) = {.step = step};
