/* Video pinball: six digits in BCD; the balls left are four minus a count, plus one if a bit is
 * set; another bit marks the end. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[52], ram[50], ram[48]));
  s->over = ram[47] & 1;
  s->lives = s->over ? 0 : 4 - (ram[25] & 7) + (ram[40] & 1);
}

PP_RULE(video_pinball) = {.step = step};
