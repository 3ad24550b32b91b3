/* Tennis: points and games as binary numbers; the reward is the change in games or, if there is
 * none, the change in points; no lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int32_t mine = ram[71], theirs = ram[72];
  int32_t points = ram[69] - ram[70], last_points = s->state[0] - s->state[1];
  int32_t games = mine - theirs, last_games = s->state[2] - s->state[3];
  s->reward = games != last_games ? games - last_games : points - last_points;
  s->score += s->reward;
  for (int i = 0; i < 4; i++) s->state[i] = ram[69 + i];
  s->over = mine == 7 || theirs == 7 || ((mine >= 6 || theirs >= 6) && (games >= 2 || games <= -2));
}

PP_RULE(tennis) = {.step = step};
