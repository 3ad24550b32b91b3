/* Krull: six digits in BCD; a count of spare lives; when none is left, two bytes mark the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[28], ram[29], ram[30]));
  s->over = ram[0] == 128 && ram[31] == 0 && ram[34] == 3;
  s->lives = s->over ? 0 : (ram[31] & 7) + 1;
}

PP_RULE(krull) = {.step = step};
