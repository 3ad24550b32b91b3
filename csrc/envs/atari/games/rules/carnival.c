// carnival.c: four digits of tens in BCD; the bullets left are a plain count; no lives.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[45], ram[46]) * 10);
  s->over = ram[3] == 0;
}

PP_RULE(carnival) = {.step = step};
