/* Venture: four digits of hundreds in BCD; a count of spare lives; when none is left, a bit and a
 * count end the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[71], ram[72]) * 100);
  s->over = ram[70] == 0 && (ram[63] & 128) && ram[77] == 255;
  s->lives = s->over ? 0 : (ram[70] & 7) + 1;
}

PP_RULE(venture) = {.step = step};
