/* Flag capture: what each player is rewarded for differs. The second's is a BCD byte of points.
 * The first's is read from another byte, which is five times one more than the first's last digit
 * (a place in the table of digits' pictures), as if it were BCD too. No lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  pp_player_score(s, 0, pp_bcd(ram[43]));
  pp_player_score(s, 1, pp_bcd(ram[107]));
  s->over = s->score[0] == 99 || s->score[1] == 99;
}

PP_MULTIPLAYER_RULE(flag_capture) = {.step = step};
