/* Koolaid: four digits of hundreds in BCD; one value of a byte marks the end; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[0], ram[1]) * 100);
  s->over = ram[81] == 128;
}

PP_RULE(koolaid) = {.step = step};
