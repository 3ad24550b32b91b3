/* Mario bros: four digits of hundreds in BCD and a count of lives per player; the game is over
 * when both are out. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  pp_player_score(s, 0, pp_bcd4(ram[9], ram[10]) * 100);
  pp_player_score(s, 1, pp_bcd4(ram[11], ram[12]) * 100);
  s->lives[0] = ram[7] - 1;
  s->lives[1] = ram[8] - 1;
  s->over = s->lives[0] < 0 && s->lives[1] < 0;
}

PP_MULTIPLAYER_RULE(mario_bros) = {.step = step};
