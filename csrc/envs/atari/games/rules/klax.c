/* Klax: six digits in BCD; the game is over when the drops reach the number allowed; all these
 * bytes are in the cartridge's own RAM; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[182], ram[181], ram[180]));
  s->over = ram[233] == ram[238] && ram[238] != 0;
  s->lives = !s->over;
}

PP_RULE(klax) = {.step = step};
