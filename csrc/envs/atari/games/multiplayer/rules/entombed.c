/* Entombed: two bits of lives per player; the game is over when one of them has none. In mode 2
 * the players compete: the score is the difference of their lives. In mode 3 they cooperate: both
 * get one point whenever the depth that they have reached grows. */
#include "../rule.h"

enum { LIVES = 3, COOPERATIVE = 3 };

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)players;
  s->lives[0] = ram[71] & LIVES;
  s->lives[1] = ram[71] >> 4 & LIVES;
  s->over = s->lives[0] == 0 || s->lives[1] == 0;
  if (mode != COOPERATIVE) {
    pp_player_score(s, 0, s->lives[0] - s->lives[1]);
    pp_player_score(s, 1, s->lives[1] - s->lives[0]);
    return;
  }
  s->reward[0] = s->reward[1] = ram[111] > s->kept[0];
  s->kept[0] = ram[111];
}

PP_MULTIPLAYER_RULE(entombed) = {.step = step};
