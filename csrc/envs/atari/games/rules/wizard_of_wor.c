/* Wizard of wor: four digits of hundreds in BCD, modulo 8000; lives are in a low nibble, which is
 * not read while a bit is set. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 3;
}

static void step(pp_score *s, const uint8_t *ram) {
  int32_t score = pp_bcd4(ram[8], ram[6]);
  pp_score_set(s, (score >= 8000 ? score - 8000 : score) * 100);
  int32_t lives = ram[13] & 15;
  if ((ram[87] & 1) == 0) s->lives = lives;
  s->over = lives == 0 && ram[116] == 248;
  if (s->over) s->lives = 0;
}

PP_RULE(wizard_of_wor) = {.reset = reset, .step = step};
