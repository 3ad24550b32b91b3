/* Carnival: four digits of tens in BCD; the game is over when no bullet is left; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[45], ram[46]) * 10);
  s->over = ram[3] == 0;
}

PP_RULE(carnival) = {.step = step};
