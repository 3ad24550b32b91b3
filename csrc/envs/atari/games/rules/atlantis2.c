/* Atlantis2: six digits in BCD; the buildings left underflow when the last is lost. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[35], ram[34], ram[33]));
  s->over = ram[113] == 255;
  s->lives = s->over ? 0 : ram[113];
}

PP_RULE(atlantis2) = {.step = step};
