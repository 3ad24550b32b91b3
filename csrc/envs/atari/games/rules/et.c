/* E.T.: six digits in BCD; a signed count of spare lives; when no life is left, one value of a byte
 * ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[95], ram[96], ram[97]));
  s->lives = (int8_t)(uint8_t)(ram[101] + 1);
  s->over = s->lives == 0 && ram[0] == 8;
}

PP_RULE(et) = {.step = step};
