/* Space invaders: four digits in BCD, which wrap around; a bit, or the loss of the last life,
 * ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[102], ram[104]));
  if (s->reward < 0) s->reward += 10000;
  s->over = (ram[24] & 128) || ram[73] == 0;
  s->lives = s->over ? 0 : ram[73];
}

PP_RULE(space_invaders) = {.step = step};
