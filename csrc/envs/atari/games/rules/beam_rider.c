/* Beam rider: six digits in BCD; the byte of spare lives blinks while one is being lost. */
#include "rule.h"

static void reset(pp_score *s) {
  s->lives = 3;
}

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[11], ram[10], ram[9]));
  s->over = ram[5] == 255;
  int32_t lives = s->over ? 0 : ram[5] + 1;
  // a lost life counts only when the blinking has ended
  if (s->over || lives != s->lives - 1 || ram[12] == 1) s->lives = lives;
}

PP_RULE(beam_rider) = {.reset = reset, .step = step};
