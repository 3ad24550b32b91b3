/* Combat: tanks and planes; a BCD byte of hits per player; a clock, which is 0 at the end; no
 * lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[33]), second = pp_bcd(ram[34]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  s->over = first == 99 || second == 99 || ram[8] == 0;
}

PP_MULTIPLAYER_RULE(combat) = {.step = step};
