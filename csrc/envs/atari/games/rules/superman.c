/* Superman: a finished game pays the seconds that are left of a hundred minutes, and nothing else
 * scores; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t seconds = pp_bcd(ram[99]) * 60 + pp_bcd(ram[98]);
  s->over = ram[0] == 172 && ram[1] == 242 && (ram[31] & 64);
  s->lives = !s->over;
  s->reward = s->over ? 5999 - seconds : 0;
  s->score += s->reward;
}

PP_RULE(superman) = {.step = step};
