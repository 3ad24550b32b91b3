/* Othello: a BCD byte of discs per player; no lives. A player who makes no move for ten seconds
 * loses a point of reward, but not of the score. After the last move nobody is on turn. */
#include "../../rules/rule.h"
#include "../rule.h"

enum { PATIENCE = 600, IDLE_LIMIT = 76 }; /* frames */
enum { SECOND = 1, FIRST = 255 };         /* whose turn it is; 0: nobody's */

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = pp_bcd(ram[78]), second = pp_bcd(ram[80]);
  int32_t *waited = &s->kept[0], *last_first = &s->kept[1], *last_second = &s->kept[2];
  int32_t *idle = &s->kept[3];
  if (first != *last_first || second != *last_second) *waited = 0;
  *last_first = first;
  *last_second = second;
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  if (++*waited == PATIENCE) {
    *waited = 0;
    if (ram[64] == FIRST) s->reward[0]--;
    if (ram[64] == SECOND) s->reward[1]--;
  }
  *idle = ram[64] ? 0 : *idle + 1;
  s->over = *idle >= IDLE_LIMIT;
}

PP_MULTIPLAYER_RULE(othello) = {.step = step};
