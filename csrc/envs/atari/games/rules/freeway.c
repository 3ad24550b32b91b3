/* Freeway: crossings in BCD; a gain of any size is a reward of one; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[103]));
  s->reward = s->reward > 0;
  s->over = ram[22] == 1;
}

PP_RULE(freeway) = {.step = step};
