/* Backgammon: signed counts of the men in each place; whoever bears off all fifteen men wins the
 * one point. */
#include "rule.h"

/* ram[0..27] are the places; the player's own men are counted below zero, and a man that is being
 * moved is in no place */
enum { PLACES = 28, MEN = 15 };

static void step(pp_score *s, const uint8_t *ram) {
  int32_t mine = 0, theirs = 0;
  for (int i = 0; i < PLACES; i++) {
    int32_t men = (int8_t)ram[i];
    *(men < 0 ? &mine : &theirs) += men;
  }
  int32_t reward = 0;
  if (mine == -MEN && theirs == MEN) {
    if (ram[14] == MEN) reward = -1;
    if (ram[0] == 256 - MEN) reward = 1;
  }
  s->reward = reward;
  s->score += reward;
  s->over = reward != 0;
  s->lives = !s->over;
}

PP_RULE(backgammon) = {.step = step};
