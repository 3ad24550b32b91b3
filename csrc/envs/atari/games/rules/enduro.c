/* Enduro: the score is the cars overtaken; memory holds the day and, in BCD, the cars still to be
 * overtaken on it: 200 on day one, 300 later; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t day = ram[45], left = pp_bcd4(ram[44], ram[43]);
  pp_score_set(s, day == 0 ? 0 : 200 + 300 * (day - 1) - left);
  s->over = ram[47] == 255;
}

PP_RULE(enduro) = {.step = step};
