/* Tutankham: four digits in BCD; lives are two bits of a byte that is zero at the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[26], ram[28]));
  s->over = ram[30] == 0;
  s->lives = ram[30] & 3;
}

PP_RULE(tutankham) = {.step = step};
