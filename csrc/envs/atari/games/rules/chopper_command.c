/* Chopper command: four digits of hundreds in BCD; lives in a nibble. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[108], ram[110]) * 100);
  s->lives = ram[100] & 15;
  s->over = s->lives == 0;
}

PP_RULE(chopper_command) = {.step = step};
