/* Time pilot: four digits of hundreds in BCD; a count of spare lives, read only while a nibble
 * says that a game runs; a byte marks the end. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 5;
}

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[15], ram[13]) * 100);
  s->over = ram[32] != 0;
  if (s->over) {
    s->lives = 0;
  } else if ((ram[0] & 15) == 2) {
    s->lives = (ram[11] & 7) + 1;
  }
}

PP_RULE(time_pilot) = {.reset = reset, .step = step};
