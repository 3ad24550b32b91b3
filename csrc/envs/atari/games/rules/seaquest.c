/* Seaquest: six digits in BCD; a count of spare lives; a byte marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[56], ram[57], ram[58]));
  s->over = ram[35] != 0;
  s->lives = s->over ? 0 : ram[59] + 1;
}

PP_RULE(seaquest) = {.step = step};
