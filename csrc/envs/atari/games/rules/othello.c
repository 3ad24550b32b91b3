/* Othello: a BCD byte of discs per player; the game is over when neither player has been to move
 * for fifty-one frames; one life. */
#include "rule.h"

enum { IDLE_LIMIT = 51 };

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[78]) - pp_bcd(ram[80]));

  uint8_t *idle = &s->state[0];
  if (ram[64]) {
    *idle = 0;
  } else if (*idle < IDLE_LIMIT) {
    *idle += 1;
  }
  s->over = *idle == IDLE_LIMIT;
  s->lives = !s->over;
}

PP_RULE(othello) = {.step = step};
