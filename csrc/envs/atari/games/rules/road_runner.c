/* Road runner: four digits of hundreds, a nibble each, where ten is a blank; a count of spare
 * lives; when none is left, either of two flags ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_digits4(ram[76], ram[75], ram[74], ram[73]) * 100);
  s->over = (ram[68] & 7) == 0 && (ram[57] != 0 || ram[61] != 0);
  s->lives = s->over ? 0 : (ram[68] & 7) + 1;
}

PP_RULE(road_runner) = {.step = step};
