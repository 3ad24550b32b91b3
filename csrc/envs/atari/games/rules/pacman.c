/* Pacman: six digits in BCD; a count of spare lives; the last life ends with an animation. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[80], ram[78], ram[76]));
  s->over = ram[24] == 0 && ram[100] == 63;
  s->lives = s->over ? 0 : ram[24] + 1;
}

PP_RULE(pacman) = {.step = step};
