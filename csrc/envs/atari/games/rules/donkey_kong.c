/* Donkey kong: four digits of hundreds in BCD; a count of lives; when none is left, one value of
 * a countdown of the third kind ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[7], ram[8]) * 100);
  s->lives = ram[35];
  s->over = s->lives == 0 && ram[11] == 31 && ram[15] == 3;
}

PP_RULE(donkey_kong) = {.step = step};
