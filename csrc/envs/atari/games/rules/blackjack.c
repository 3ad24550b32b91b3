/* Blackjack: the player's chips, four digits in BCD; a thousand of them break the bank; one
 * life. */
#include <stdbool.h>

#include "rule.h"

/* Without chips the program writes this instead of digits. The game ends. */
enum { BROKE_HIGH = 0x0b, BROKE_LOW = 0xbb };

static void step(pp_score *s, const uint8_t *ram) {
  bool is_broke = ram[6] == BROKE_HIGH && ram[9] == BROKE_LOW;
  pp_score_set(s, is_broke ? 0 : pp_bcd4(ram[6], ram[9]));
  s->over = is_broke || s->score >= 1000;
  s->lives = !s->over;
}

PP_RULE(blackjack) = {.step = step};
