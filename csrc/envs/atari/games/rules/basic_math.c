/* Basic math: two digits in BCD, one life; a byte is set once all problems have been asked. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[4]));
  s->over = ram[6] != 0;
  s->lives = !s->over;
}

PP_RULE(basic_math) = {.step = step};
