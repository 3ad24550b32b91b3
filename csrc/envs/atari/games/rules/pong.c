/* Pong: two binary numbers; the game ends at 21 points; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t left = ram[13], right = ram[14];
  pp_score_set(s, right - left);
  s->over = left == 21 || right == 21;
}

PP_RULE(pong) = {.step = step};
