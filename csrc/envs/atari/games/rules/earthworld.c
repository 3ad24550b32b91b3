/* Earthworld: the clues found are counted in BCD, up to ten; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[39]));
  s->over = s->score == 10;
  s->lives = !s->over;
}

PP_RULE(earthworld) = {.step = step};
