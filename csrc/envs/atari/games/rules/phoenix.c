/* Phoenix: six digits: the upper four in BCD, and tens in a high nibble; lives are three bits;
 * one value of a byte marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[73], ram[72]) * 100 + (ram[71] >> 4) * 10);
  s->over = ram[76] == 128;
  s->lives = s->over ? 0 : ram[75] & 7;
}

PP_RULE(phoenix) = {.step = step};
