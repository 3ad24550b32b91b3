/* Haunted house: the matches used are counted in BCD, and each costs a point; a count of lives. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  s->reward = s->started && pp_bcd(ram[2]) != s->state[0] ? -1 : 0;
  s->score += s->reward;
  s->started = 1;
  s->state[0] = (uint8_t)pp_bcd(ram[2]);
  s->lives = ram[22];
  s->over = s->lives == 0;
}

PP_RULE(haunted_house) = {.step = step};
