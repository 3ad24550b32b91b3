/* Double dunk: a BCD byte of points per team; the game is over when a team has 24 points or more
 * and the program waits at a certain address, which is on the stack. A team that makes the other
 * wait for two seconds loses a point of reward, but not of the score. No lives. */
#include "../../rules/rule.h"
#include "../rule.h"

enum { PATIENCE = 120 }; /* frames */

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[118]), second = pp_bcd(ram[119]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);

  // the upper two bits say who has to act; nobody has while the lower ones are set alone
  int turn = ram[9] >> 6;
  bool both = ram[9] == 0;
  int32_t *waited = &s->kept[0];
  if (turn == 0 && !both) *waited = 0;
  if (++*waited > PATIENCE) {
    *waited = 0;
    // this replaces the reward for points of the same frame
    s->reward[0] = turn == 2 || both ? -1 : 0;
    s->reward[1] = turn != 2 || both ? -1 : 0;
  }
  s->over = (first > 23 || second > 23) && ram[126] == 231;
}

PP_MULTIPLAYER_RULE(double_dunk) = {.step = step};
