/* Demon attack: six digits in BCD, which hold a pattern before a game begins; a count of spare
 * lives; when none is left, one value of a byte ends the game. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int idle = ram[1] == 0xab && ram[3] == 0xcd && ram[5] == 0xea;
  pp_score_set(s, idle ? 0 : pp_bcd6(ram[1], ram[3], ram[5]));
  s->over = ram[114] == 0 && ram[113] == 0xbd;
  s->lives = s->over ? 0 : ram[114] + 1;
}

PP_RULE(demon_attack) = {.step = step};
