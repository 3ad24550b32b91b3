/* Pitfall2: six digits in BCD; one life; the game never ends. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[71], ram[72], ram[73]));
  s->lives = 1;
}

PP_RULE(pitfall2) = {.step = step};
