/* Galaxian: six digits in BCD, which wrap around; a count of spare lives; a bit marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[44], ram[45], ram[46]));
  if (s->reward < 0) s->reward += 1000000;
  s->over = (ram[63] & 0x80) != 0;
  s->lives = s->over ? 0 : ram[57] + 1;
}

PP_RULE(galaxian) = {.step = step};
