/* Darkchambers: four digits of tens in BCD; the game is over when no strength is left, or when a
 * new game has begun, which is seen from a fall of the score or of another count; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t before = s->score;
  pp_score_set(s, pp_bcd4(ram[79], ram[76]) * 10);
  int restarted = s->started && (s->score < before || ram[85] < s->state[0]);
  if (restarted) s->reward = 0;
  s->started = 1;
  s->state[0] = ram[85];
  s->over = restarted || (ram[74] & 31) == 0;
  s->lives = !s->over;
}

PP_RULE(darkchambers) = {.step = step};
