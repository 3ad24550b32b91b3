/* Pitfall: six digits in BCD; a high nibble holds a picture of the lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[85], ram[86], ram[87]));
  s->lives = ram[0] >> 4 == 10 ? 3 : ram[0] >> 4 == 8 ? 2 : 1;
  s->over = ram[0] >> 4 == 0 && ram[30] != 0;
  if (s->over) s->lives = 0;
}

PP_RULE(pitfall) = {.step = step};
