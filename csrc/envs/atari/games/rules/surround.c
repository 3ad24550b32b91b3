/* Surround: a BCD byte per player; ten wins, whether it is stored as 0x10 or as 0x0a. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[119]) - pp_bcd(ram[118]));
  s->over = pp_bcd(ram[118]) == 10 || pp_bcd(ram[119]) == 10;
  s->lives = !s->over;
}

PP_RULE(surround) = {.step = step};
