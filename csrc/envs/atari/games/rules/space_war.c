/* Space war: a BCD byte of hits; ten hits end the game, and so does a clock; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[39]));
  s->over = ram[0] == 0 || s->score == 10;
  s->lives = !s->over;
}

PP_RULE(space_war) = {.step = step};
