/* Boxing: a BCD byte per boxer, which is 0xc0 at the hundredth hit; a clock in BCD; no lives. */
#include "../../rules/rule.h"
#include "../rule.h"

static int32_t hits(uint8_t byte) {
  return byte == 0xc0 ? 100 : pp_bcd(byte);
}

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  int32_t first = hits(ram[18]), second = hits(ram[19]);
  pp_player_score(s, 0, first - second);
  pp_player_score(s, 1, second - first);
  // the clock shows seconds, tens of them in a nibble
  bool out_of_time = ram[16] < 16 && ram[17] == 0;
  s->over = first == 100 || second == 100 || out_of_time;
}

PP_MULTIPLAYER_RULE(boxing) = {.step = step};
