/* Trondead: six digits in BCD; a count of the lost lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[61], ram[62], ram[63]));
  s->lives = 5 - ram[72];
  s->over = s->lives == 0;
}

PP_RULE(trondead) = {.step = step};
