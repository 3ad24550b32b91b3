/* Surround: a BCD byte of wins per player; ten wins, whether stored as 0x10 or as 0x0a; no
 * lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[119]), second = pp_bcd(ram[118]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  s->over = first == 10 || second == 10;
}

PP_MULTIPLAYER_RULE(surround) = {.step = step};
