/* Video chess: a byte says how the game ended: 0 is a win, 1 a loss. It is valid only while a
 * colour of the screen is the usual one, which it is not while the program computes or sleeps; one
 * life. */
#include "rule.h"

enum { USUAL = 0x82 };

static void step(pp_score *s, const uint8_t *ram) {
  s->over = ram[110] < 2 && ram[97] == USUAL;
  s->lives = !s->over;
  s->reward = !s->over ? 0 : ram[110] == 0 ? 1 : -1;
  s->score += s->reward;
}

PP_RULE(video_chess) = {.step = step};
