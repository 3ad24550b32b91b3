/* Elevator action: six digits in BCD; a count of lives, whose zero ends the game only while
 * another byte is not zero. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[7], ram[8], ram[9]));
  s->lives = ram[3];
  s->over = s->lives == 0 && ram[1] != 0;
}

PP_RULE(elevator_action) = {.step = step};
