// othello.c: a BCD byte of discs per player; one life; it never ends.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[78]) - pp_bcd(ram[80]));
  s->lives = 1;
}

PP_RULE(othello) = {.step = step};
