/* Ice hockey: a BCD byte of goals per team; a clock; no lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[10]), second = pp_bcd(ram[11]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  s->over = ram[6] == 0 && ram[7] == 0;
}

PP_MULTIPLAYER_RULE(ice_hockey) = {.step = step};
