/* Entombed: the score is the depth reached, a binary number; two bits are cleared when the game
 * is over; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, ram[99]);
  s->over = (ram[71] & 3) == 0;
  s->lives = !s->over;
}

PP_RULE(entombed) = {.step = step};
