/* Name this game: six digits in BCD; lives are three bits. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[68], ram[69], ram[70]));
  s->lives = ram[71] & 7;
  s->over = s->lives == 0;
}

PP_RULE(name_this_game) = {.step = step};
