// othello.c: a BCD byte of discs per player; one life; the game ends when no player is to move for
// fifty-one frames.
#include "rule.h"

enum { PATIENCE = 51 };

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[78]) - pp_bcd(ram[80]));

  uint8_t *idle = &s->state[0];
  if (ram[64]) {
    *idle = 0;
  } else if (*idle < PATIENCE) {
    *idle += 1;
  }
  s->over = *idle == PATIENCE;
  s->lives = !s->over;
}

PP_RULE(othello) = {.step = step};
