// klax.c: six digits of score and the state of the game, all in the cartridge's own RAM.
#include "../rule.h"

enum { LOST = 3 };

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[182], ram[181], ram[180]));
  s->over = ram[238] == LOST;
  s->lives = !s->over;
}

PP_RULE(klax) = {.step = step};
