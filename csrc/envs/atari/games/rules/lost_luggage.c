/* Lost luggage: six digits in BCD; a count of lives; when none is left, the end screen, which
 * three bytes identify, ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[20], ram[21], ram[22]));
  s->lives = ram[74];
  s->over = s->lives == 0 && ram[72] == 10 && ram[37] == 0 && ram[41] == 0;
}

PP_RULE(lost_luggage) = {.step = step};
