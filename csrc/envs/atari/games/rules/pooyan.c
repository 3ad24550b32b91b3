// pooyan.c: six digits in BCD; one life more than counted, the last of which ends with a flag.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[8], ram[9], ram[10]));
  s->over = ram[22] == 0 && ram[24] == 5;
  s->lives = s->over ? 0 : (ram[22] & 7) + 1;
}

PP_RULE(pooyan) = {.step = step};
