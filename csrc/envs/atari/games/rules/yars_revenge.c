/* Yars revenge: six digits in BCD; lives are a high nibble. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[96], ram[97], ram[98]));
  s->lives = ram[30] >> 4;
  s->over = s->lives == 0;
}

PP_RULE(yars_revenge) = {.step = step};
