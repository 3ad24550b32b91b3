// hangman.c: words guessed and missed in BCD, whose difference ends the game; one life.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[107]) - pp_bcd(ram[108]));
  s->over = s->score != 0;
  s->lives = !s->over;
}

PP_RULE(hangman) = {.step = step};
