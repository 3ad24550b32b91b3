/* Space war: a BCD byte of points per player; the game ends at ten, or when time is up; no
 * lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[39]), second = pp_bcd(ram[40]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  s->over = ram[0] == 0 || first == 10 || second == 10;
}

PP_MULTIPLAYER_RULE(space_war) = {.step = step};
