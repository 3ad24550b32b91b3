/* Journey escape: six digits in BCD; the game is over when two bytes are zero; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[16], ram[17], ram[18]));
  // the score with which a game begins is no reward
  if (s->reward == 50000) s->reward = 0;
  s->over = ram[21] == 0 && ram[22] == 0;
}

PP_RULE(journey_escape) = {.step = step};
