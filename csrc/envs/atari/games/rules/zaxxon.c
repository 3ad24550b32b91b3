/* Zaxxon: four digits of hundreds in BCD; lives are three bits. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[104], ram[105]) * 100);
  s->lives = ram[106] & 7;
  s->over = s->lives == 0;
}

PP_RULE(zaxxon) = {.step = step};
