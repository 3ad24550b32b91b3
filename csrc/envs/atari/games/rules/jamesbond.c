/* Jamesbond: six digits in BCD; a count of spare lives; when none is left, one value of a byte
 * ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[94], ram[93], ram[92]));
  int32_t spare = ram[6] & 15;
  s->over = spare == 0 && ram[12] == 0x68;
  s->lives = s->over ? 0 : spare + 1;
}

PP_RULE(jamesbond) = {.step = step};
