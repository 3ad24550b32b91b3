/* Skiing: the score is minus the time in hundredths of a second; one value of a byte marks the
 * end; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, -(ram[104] * 6000 + pp_bcd4(ram[105], ram[106])));
  s->over = ram[17] == 255;
}

PP_RULE(skiing) = {.step = step};
