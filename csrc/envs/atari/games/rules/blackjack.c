// blackjack.c: the player's chips, four digits in BCD; a thousand of them break the bank; one life.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[6], ram[9]));
  s->over = s->score >= 1000;
  s->lives = !s->over;
}

PP_RULE(blackjack) = {.step = step};
