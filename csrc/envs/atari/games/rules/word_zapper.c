/* Word zapper: the score is minus the misses, a signed number; two bytes mark the end; one life. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 1;
}

static void step(pp_score *s, const uint8_t *ram) {
  // no game is being played: everything stays as after the last frame, the reward too
  if (ram[79] == 0) return;
  pp_score_set(s, -(int8_t)ram[92]);
  s->over = ram[94] == 0 || ram[92] == 255;
  s->lives = !s->over;
}

PP_RULE(word_zapper) = {.reset = reset, .step = step};
