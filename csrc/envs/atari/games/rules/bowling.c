/* Bowling: four digits in BCD, seventeen half frames, no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[38], ram[33]));
  s->over = ram[36] > 16;
}

PP_RULE(bowling) = {.step = step};
