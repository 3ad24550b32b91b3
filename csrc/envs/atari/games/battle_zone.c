// battle_zone.c: thousands, a digit in each nibble, in which ten is a blank.
#include "../rule.h"

static int32_t digit(int32_t nibble) {
  return nibble == 10 ? 0 : nibble;
}

static void step(pp_score *s, const uint8_t *ram) {
  int32_t high = digit(ram[30] >> 4) * 100 + digit(ram[30] & 15) * 10;
  pp_score_set(s, (high + digit(ram[29] >> 4)) * 1000);
  s->lives = ram[58] & 15;
  s->over = s->lives == 0;
}

PP_RULE(battle_zone) = {.step = step};
