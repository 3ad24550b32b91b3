/* Tetris: four digits in BCD, where only growth is a reward; a bit marks the end; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[114], ram[113]));
  if (s->reward < 0) s->reward = 0;
  s->over = ram[115] >> 7;
}

PP_RULE(tetris) = {.step = step};
