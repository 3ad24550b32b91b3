/* Double dunk: a BCD byte of points per team; the game is over when a team has 24 points or more
 * and the program waits at a certain address, which is on the stack. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t mine = pp_bcd(ram[118]), theirs = pp_bcd(ram[119]);
  pp_score_set(s, mine - theirs);
  s->over = (mine > 23 || theirs > 23) && ram[126] == 231;
}

PP_RULE(double_dunk) = {.step = step};
