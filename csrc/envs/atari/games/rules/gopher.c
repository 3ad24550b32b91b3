/* Gopher: six digits in BCD; the lives are three carrots, one bit each. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[48], ram[49], ram[50]));
  s->lives = (ram[52] & 1) + ((ram[52] >> 1) & 1) + ((ram[52] >> 2) & 1);
  s->over = s->lives == 0;
}

PP_RULE(gopher) = {.step = step};
