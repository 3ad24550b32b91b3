/* Crossbow: six digits in BCD; one value of a byte means that the game is over. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[11], ram[12], ram[13]));
  s->over = ram[103] == 0x82;
  s->lives = !s->over;
}

PP_RULE(crossbow) = {.step = step};
