/* Hangman: words guessed and words missed, in BCD; the game is over when the two differ, or when
 * a clock of idle frames wraps around; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[107]) - pp_bcd(ram[108]));

  uint8_t before = s->state[0];
  s->state[0] = ram[113];
  s->over = s->score != 0 || (before == 255 && ram[113] == 0);
  s->lives = !s->over;
}

PP_RULE(hangman) = {.step = step};
