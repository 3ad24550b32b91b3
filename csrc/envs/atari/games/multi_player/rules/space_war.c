// STUB
#include "../rule.h"
static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)s, (void)ram, (void)mode, (void)players;
}
PP_PLAYERS_RULE(space_war) = {.step = step};
