/* Frogger: four digits in BCD; the lives left underflow when the last is lost. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[76], ram[78]));
  s->over = ram[80] == 255;
  s->lives = s->over ? 0 : ram[80];
}

PP_RULE(frogger) = {.step = step};
