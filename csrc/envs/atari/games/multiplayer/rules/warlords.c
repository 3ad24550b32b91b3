/* Warlords: a bit for each player who is out; the last one left wins. */
#include "../rule.h"

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode;
  int32_t left = 0, winner = 0;
  for (int i = 0; i < players; i++) {
    bool is_out = ram[110] >> (7 - i) & 1;
    s->reward[i] = is_out && s->lives[i] == 0 ? -1 : 0;
    s->lives[i] = -is_out;
    if (is_out) continue;
    left++;
    winner = i;
  }
  s->over = left <= 1;
  if (left == 1) s->reward[winner] = 1;
}

PP_MULTIPLAYER_RULE(warlords) = {.step = step};
