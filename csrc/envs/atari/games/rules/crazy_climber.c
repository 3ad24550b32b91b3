/* Crazy climber: four digits from the hundreds on, a byte each, where only gains are rewards; a
 * count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, ram[5] * 100000 + ram[4] * 10000 + ram[3] * 1000 + ram[2] * 100);
  if (s->reward < 0) s->reward = 0;
  s->lives = ram[42];
  s->over = s->lives == 0;
}

PP_RULE(crazy_climber) = {.step = step};
