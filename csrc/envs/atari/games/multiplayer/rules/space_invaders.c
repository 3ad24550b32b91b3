/* Space invaders: four BCD digits per player, which wrap; lives that both share. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode;
  s->over = (ram[24] & 128) || ram[73] == 0;
  for (int i = 0; i < players; i++) {
    pp_player_score(s, i, pp_bcd4(ram[102 + i], ram[104 + i]));
    if (s->reward[i] < 0) s->reward[i] += 10000;
    s->lives[i] = ram[73] - 1;
  }
}

PP_MULTIPLAYER_RULE(space_invaders) = {.step = step};
