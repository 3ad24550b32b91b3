/* Kangaroo: four digits of hundreds in BCD; a count of spare lives, which underflows at the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd4(ram[39], ram[40]) * 100);
  s->over = ram[45] == 255;
  s->lives = s->over ? 0 : (ram[45] & 7) + 1;
}

PP_RULE(kangaroo) = {.step = step};
