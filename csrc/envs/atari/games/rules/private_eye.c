/* Private eye: six digits in BCD; a byte above one marks the end; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[72], ram[73], ram[74]));
  s->over = ram[66] > 1;
}

PP_RULE(private_eye) = {.step = step};
