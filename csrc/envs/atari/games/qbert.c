// qbert.c: six digits in BCD; a byte that counts down with the lives, past zero to 254.
#include "../rule.h"

static void reset(pp_score *s) {
  s->lives = 4;
  s->notes[0] = 2;
}

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[89], ram[90], ram[91]));
  uint8_t now = ram[8], last = s->notes[0];
  // a new game may begin right after the last life
  s->over = now == 254 || (now == 2 && last == 255);
  if (s->over) {
    s->lives = 0;
  } else if (now == (uint8_t)(last - 1)) {
    --s->lives;
  }
  s->notes[0] = now;
}

PP_RULE(qbert) = {.reset = reset, .step = step};
