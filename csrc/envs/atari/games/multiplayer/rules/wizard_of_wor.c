/* Wizard of wor: four BCD digits of hundreds per player, of which 80 is the start of a double
 * score; lives are counted when a player is hit; below zero the player is out. */
#include "../../rules/rule.h"
#include "../rule.h"

enum { LIVES = 2 };

static void reset(pp_scores *s, int mode, int players) {
  (void)mode;
  for (int i = 0; i < players; i++) s->lives[i] = LIVES;
}

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode;
  for (int i = 0; i < players; i++) {
    int32_t score = pp_bcd4(ram[8 - i], ram[6 - i]);
    pp_player_score(s, i, (score >= 8000 ? score - 8000 : score) * 100);
    if ((ram[87 - i] & 1) == 0) s->lives[i] = (ram[13 - i] & 15) - 1;
  }
  s->over = s->lives[0] < 0 && s->lives[1] < 0 && ram[116] == 248;
}

PP_MULTIPLAYER_RULE(wizard_of_wor) = {.reset = reset, .step = step};
