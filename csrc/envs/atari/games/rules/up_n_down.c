/* Up n down: six digits in BCD; a count of spare lives; when none is left, a count above 0x40
 * ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[0], ram[1], ram[2]));
  s->over = (ram[6] & 15) == 0 && ram[20] > 0x40;
  s->lives = s->over ? 0 : (ram[6] & 15) + 1;
}

PP_RULE(up_n_down) = {.step = step};
