/* Joust: six BCD digits per player; a signed count of lives, which is -1 when a player is out.
 * The game is over when both are out or one has 990000 points. */
#include "../../rules/rule.h"
#include "../rule.h"

enum { MOST = 990000 };

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  pp_player_score(s, 0, pp_bcd6(ram[3], ram[5], ram[7]));
  pp_player_score(s, 1, pp_bcd6(ram[4], ram[6], ram[8]));
  s->lives[0] = (int8_t)ram[1];
  s->lives[1] = (int8_t)ram[2];
  s->over = (s->lives[0] == -1 && s->lives[1] == -1) || s->score[0] >= MOST || s->score[1] >= MOST;
}

PP_MULTIPLAYER_RULE(joust) = {.step = step};
