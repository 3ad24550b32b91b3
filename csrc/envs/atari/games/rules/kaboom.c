/* Kaboom: six digits in BCD; a game is one life, over with the last bucket or the highest score. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[35], ram[36], ram[37]));
  s->over = ram[33] == 0 || s->score == 999999;
  s->lives = !s->over;
}

PP_RULE(kaboom) = {.step = step};
