/* Human cannonball: hits in BCD; seven hits or seven misses end the game; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[54]));
  s->over = ram[54] == 7 || ram[55] == 7;
  s->lives = !s->over;
}

PP_RULE(human_cannonball) = {.step = step};
