// video_chess.c: a byte tells how the game ends: 0 is a win, 1 a loss; it does not count while the
// colours of a screen that nobody looks at are changed; one life.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  int asleep = (ram[112] & ram[113]) != 0;
  s->over = ram[110] < 2 && !asleep;
  s->lives = !s->over;
  s->reward = !s->over ? 0 : ram[110] == 0 ? 1 : -1;
  s->score += s->reward;
}

PP_RULE(video_chess) = {.step = step};
