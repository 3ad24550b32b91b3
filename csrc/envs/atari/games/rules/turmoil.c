/* Turmoil: tens: four digits in BCD plus a binary number; a count of lives; when none is left,
 * one value of a byte ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, (pp_bcd4(ram[10], ram[9]) + ram[83]) * 10);
  s->lives = ram[57];
  s->over = s->lives == 0 && ram[69] == 1;
}

PP_RULE(turmoil) = {.step = step};
