// word_zapper.c: misses are a signed number; two bytes tell of the end; one life.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  s->lives = 1;
  s->reward = 0;
  // no game is being played
  if (ram[79] == 0) return;
  pp_score_set(s, -(int8_t)ram[92]);
  s->over = ram[94] == 0 || ram[92] == 255;
  if (s->over) s->lives = 0;
}

PP_RULE(word_zapper) = {.step = step};
