/* Pong: all of Video Olympics, for two and four players; players 0 and 2 play against 1 and 3.
 * Two binary numbers; the game ends at 21 points; no lives. A team that does not serve for two
 * seconds loses a point of reward, but not of the score. */
#include "../rule.h"

enum {
  PATIENCE = 120, /* frames */
  FLYING = 16,    /* least value of the byte that counts down while a ball moves */
};

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode;
  int32_t first = ram[14], second = ram[13];
  int32_t *waited = &s->kept[0];
  *waited = ram[12] < FLYING ? *waited + 1 : 0;
  bool fined = *waited == PATIENCE;
  if (fined) *waited = 0;
  bool second_serves = ram[18] == 0;
  for (int i = 0; i < players; i++) {
    pp_player_score(s, i, i & 1 ? second - first : first - second);
    if (fined && (i & 1) == second_serves) s->reward[i]--;
  }
  s->over = first == 21 || second == 21;
}

PP_MULTIPLAYER_RULE(pong) = {.step = step};
