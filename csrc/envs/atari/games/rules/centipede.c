/* Centipede: six digits in BCD, where only gains are rewards; spare lives are three bits; a bit
 * marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[116], ram[117], ram[118]));
  if (s->reward < 0) s->reward = 0;
  s->over = (ram[38] & 0x40) != 0;
  s->lives = s->over ? 0 : ((ram[109] >> 4) & 7) + 1;
}

PP_RULE(centipede) = {.step = step};
