/* Berzerk: six digits in BCD; the spare lives underflow when the last is lost. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[93], ram[94], ram[95]));
  s->over = ram[90] == 255;
  s->lives = s->over ? 0 : ram[90] + 1;
}

PP_RULE(berzerk) = {.step = step};
