/* Solaris: six digits of tens in BCD; lives are in a low nibble. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[94], ram[93], ram[92]) * 10);
  s->lives = ram[89] & 15;
  s->over = ram[89] == 0;
}

PP_RULE(solaris) = {.step = step};
