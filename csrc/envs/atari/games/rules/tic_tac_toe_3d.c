/* Tic tac toe 3d: the game is over when the program waits at a certain address, which is on the
 * stack; a byte then holds the winner (8: the player); one life. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  s->over = ram[126] == 16 && ram[127] == 243;
  s->lives = !s->over;
  s->reward = !s->over ? 0 : ram[97] == 8 ? 1 : -1;
  s->score += s->reward;
}

PP_RULE(tic_tac_toe_3d) = {.step = step};
