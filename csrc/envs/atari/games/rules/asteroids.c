/* Asteroids: four digits of tens in BCD, which wrap around; lives are in a high nibble. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[61], ram[62]) * 10);
  if (s->reward < 0) s->reward += 100000;
  s->lives = ram[60] >> 4;
  s->over = s->lives == 0;
}

PP_RULE(asteroids) = {.step = step};
