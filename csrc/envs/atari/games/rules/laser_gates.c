/* Laser gates: six digits in BCD; the game is over when a byte is zero; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[0], ram[1], ram[2]));
  s->over = ram[3] == 0;
}

PP_RULE(laser_gates) = {.step = step};
