/* Ms pacman: six digits in BCD; a count of spare lives; the last life ends with an animation. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[122], ram[121], ram[120]));
  s->over = (ram[123] & 15) == 0 && ram[39] == 0x53;
  s->lives = s->over ? 0 : (ram[123] & 7) + 1;
}

PP_RULE(ms_pacman) = {.step = step};
