/* Defender: six digits, a byte each, where ten in the low nibble is a blank; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t high = pp_digits4(ram[33], ram[32], ram[31], ram[30]);
  pp_score_set(s, high * 100 + pp_digits4(0, 0, ram[29], ram[28]));
  s->lives = ram[66];
  s->over = s->lives == 0;
}

PP_RULE(defender) = {.step = step};
