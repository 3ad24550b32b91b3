// hangman.c: words guessed and missed in BCD, whose difference ends the game, and so does a clock
// of idle frames that restarts; one life.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[107]) - pp_bcd(ram[108]));

  uint8_t before = s->state[0];
  s->state[0] = ram[113];
  s->over = s->score != 0 || (before == 255 && ram[113] == 0);
  s->lives = !s->over;
}

PP_RULE(hangman) = {.step = step};
