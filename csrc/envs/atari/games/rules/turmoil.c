// turmoil.c: four digits in BCD and another number, all of tens; a count of lives; an end flag.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, (pp_bcd4(ram[10], ram[9]) + ram[83]) * 10);
  s->lives = ram[57];
  s->over = s->lives == 0 && ram[69] == 1;
}

PP_RULE(turmoil) = {.step = step};
