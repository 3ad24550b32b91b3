// haunted_house.c: the matches used are counted, and each costs a point; a plain count of lives.
#include "../rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  s->reward = s->started && ram[2] != s->notes[0] ? -1 : 0;
  s->score += s->reward;
  s->started = 1;
  s->notes[0] = ram[2];
  s->lives = ram[22];
  s->over = s->lives == 0;
}

PP_RULE(haunted_house) = {.step = step};
