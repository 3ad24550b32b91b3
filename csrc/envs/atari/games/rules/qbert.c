/* Q*bert: six digits in BCD, which pay nothing at the end; a byte that counts down with the lives,
 * past zero to minus two. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 4;
  s->state[0] = 2;
}

static void step(pp_score *s, const uint8_t *ram) {
  int8_t now = (int8_t)ram[8], last = (int8_t)s->state[0];
  s->state[0] = ram[8];
  // a new game may begin right after the last life
  s->over = now == -2 || (now == 2 && last == -1);
  if (s->over) {
    s->lives = 0;
    s->reward = 0;
    return;
  }
  pp_score_set(s, pp_bcd6(ram[89], ram[90], ram[91]));
  if (now == last - 1) s->lives--;
}

PP_RULE(qbert) = {.reset = reset, .step = step};
