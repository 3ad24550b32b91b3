/* Amidar: six digits in BCD; one value of the byte that holds the lives means that the game is
 * over. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[91], ram[90], ram[89]));
  s->lives = ram[86] & 15;
  s->over = ram[86] == 128;
}

PP_RULE(amidar) = {.step = step};
