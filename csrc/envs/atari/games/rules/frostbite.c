/* Frostbite: six digits in BCD; a count of spare lives; when none is left, a bit ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[72], ram[73], ram[74]));
  s->over = (ram[76] & 15) == 0 && (ram[113] & 0x80) != 0;
  s->lives = s->over ? 0 : (ram[76] & 15) + 1;
}

PP_RULE(frostbite) = {.step = step};
