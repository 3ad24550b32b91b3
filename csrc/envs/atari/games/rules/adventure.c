/* Adventure: one point for the chalice in the yellow castle; a dragon can end the game; always
 * one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int won = ram[57] == 18;
  s->reward = won;
  s->score += s->reward;
  s->over = won || ram[96] == 2;
  s->lives = 1;
}

PP_RULE(adventure) = {.step = step};
