/* Boxing: a BCD byte per boxer, which is 0xc0 at the hundredth hit; a clock in BCD; no lives. */
#include "rule.h"

static int32_t hits(uint8_t byte) {
  return byte == 0xc0 ? 100 : pp_bcd(byte);
}

static void step(pp_score *s, const uint8_t *ram) {
  int32_t mine = hits(ram[18]), theirs = hits(ram[19]);
  pp_score_set(s, mine - theirs);
  // the clock shows seconds, tens of them in a nibble
  int out_of_time = ram[16] < 16 && ram[17] == 0;
  s->over = mine == 100 || theirs == 100 || out_of_time;
}

PP_RULE(boxing) = {.step = step};
