/* Fishing derby: a BCD byte per angler, up to 99; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[61]) - pp_bcd(ram[62]));
  s->over = ram[61] == 0x99 || ram[62] == 0x99;
}

PP_RULE(fishing_derby) = {.step = step};
