/* Star gunner: four digits of hundreds, a nibble each, where ten is a blank; a byte counts the
 * lives, but is used only once the first of six is gone. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 5;
}

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_digits4(ram[6], ram[5], ram[4], ram[3]) * 100);
  if (ram[7] == 5) s->started = 1;
  s->over = ram[7] == 0;
  if (s->over) {
    s->lives = 0;
  } else if (s->started) {
    s->lives = ram[7] & 15;
  }
}

PP_RULE(star_gunner) = {.reset = reset, .step = step};
