/* Flag capture: two digits in BCD; a count of seconds ends the game at zero; one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd(ram[106]));
  s->over = ram[107] == 0;
  s->lives = !s->over;
}

PP_RULE(flag_capture) = {.step = step};
