/* Battle zone: thousands, a digit in each nibble, where ten is a blank; lives are in a low
 * nibble. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_digits4(0, ram[30] >> 4, ram[30], ram[29] >> 4) * 1000);
  s->lives = ram[58] & 15;
  s->over = s->lives == 0;
}

PP_RULE(battle_zone) = {.step = step};
