/* Keystone kapers: four digits in BCD; a count of lives; when none is left, a byte at zero ends
 * the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[27], ram[28]));
  s->lives = ram[22];
  s->over = s->lives == 0 && ram[8] == 0;
}

PP_RULE(keystone_kapers) = {.step = step};
