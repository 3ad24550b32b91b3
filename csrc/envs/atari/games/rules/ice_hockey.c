/* Ice hockey: a BCD byte of goals per team; the reward of a frame is at most one; a clock; no
 * lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[10]) - pp_bcd(ram[11]));
  if (s->reward > 1) s->reward = 1;
  s->over = ram[6] == 0 && ram[7] == 0;
}

PP_RULE(ice_hockey) = {.step = step};
