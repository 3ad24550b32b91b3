/* King kong: four digits in BCD; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[2], ram[3]));
  s->lives = ram[110];
  s->over = s->lives == 0;
}

PP_RULE(king_kong) = {.step = step};
