/* Breakout: three digits in BCD; a count of lives, whose zero ends the game only after it has
 * been five. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, (ram[76] & 15) * 100 + pp_bcd(ram[77]));
  s->lives = ram[57];
  if (s->lives == 5) s->started = 1;
  s->over = s->started && s->lives == 0;
}

PP_RULE(breakout) = {.step = step};
