/* Kung fu master: six digits in BCD; a count of spare lives, which underflows at the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[24], ram[25], ram[26]));
  s->over = ram[29] == 255;
  s->lives = s->over ? 0 : (ram[29] & 7) + 1;
}

PP_RULE(kung_fu_master) = {.step = step};
