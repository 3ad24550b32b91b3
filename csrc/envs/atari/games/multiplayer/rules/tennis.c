/* Tennis: points of the game and games of the set, binary; no lives. A server who lets the ball
 * bounce for three seconds loses a point of reward, but not of the score. */
#include "../rule.h"

enum { PATIENCE = 180 }; /* frames */

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = ram[71], second = ram[72], lead = first - second;
  int32_t points = ram[69] - ram[70], last_points = s->kept[1], last_lead = s->kept[2];
  int32_t reward = lead != last_lead ? lead - last_lead : points - last_points;
  s->reward[0] = reward;
  s->reward[1] = -reward;
  s->kept[1] = points;
  s->kept[2] = lead;
  int32_t *waited = &s->kept[0];
  *waited = ram[76] == 0 ? 1 : *waited + 1;
  if (*waited == PATIENCE) {
    *waited = 0;
    // the players serve in turn
    s->reward[(first + second) & 1]--;
  }
  s->over = first == 7 || second == 7 || ((first >= 6 || second >= 6) && (lead >= 2 || lead <= -2));
}

PP_MULTIPLAYER_RULE(tennis) = {.step = step};
