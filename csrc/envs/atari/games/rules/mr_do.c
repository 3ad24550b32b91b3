/* Mr do: four digits of tens in BCD; a count of lives; one value of a byte marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[3], ram[2]) * 10);
  s->over = ram[90] == 64;
  s->lives = s->over ? 0 : ram[91];
}

PP_RULE(mr_do) = {.step = step};
