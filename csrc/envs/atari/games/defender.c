// defender.c: six digits, each a nibble of its own in which ten is a blank.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t score = 0;
  // the lowest digit is in ram[28], the highest in ram[33]
  for (int i = 33; i >= 28; --i) {
    int32_t digit = ram[i] & 15;
    score = score * 10 + (digit == 10 ? 0 : digit);
  }
  pp_score_set(s, score);
  s->lives = ram[66];
  s->over = s->lives == 0;
}

PP_RULE(defender) = {.step = step};
