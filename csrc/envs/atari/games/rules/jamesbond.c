// jamesbond.c: six digits in BCD; without spare lives one value of a byte means that it is over.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[94], ram[93], ram[92]));
  int32_t spare = ram[6] & 15;
  s->over = spare == 0 && ram[12] == 0x68;
  s->lives = s->over ? 0 : spare + 1;
}

PP_RULE(jamesbond) = {.step = step};
