/* Mario bros: four digits of hundreds in BCD; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[9], ram[10]) * 100);
  s->lives = ram[7];
  s->over = s->lives == 0;
}

PP_RULE(mario_bros) = {.step = step};
