// tic_tac_toe_3d.c: a game is over as soon as it waits at a certain place of its program, whose
// address is on the stack; a byte then names the winner, 8 is the player; one life.
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  s->over = ram[126] == 16 && ram[127] == 243;
  s->lives = !s->over;
  s->reward = !s->over ? 0 : ram[97] == 8 ? 1 : -1;
  s->score += s->reward;
}

PP_RULE(tic_tac_toe_3d) = {.step = step};
