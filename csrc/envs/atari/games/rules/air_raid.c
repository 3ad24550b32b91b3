/* Air raid: six digits in BCD; a byte counts the spare lives and underflows when the last life is
 * lost; one life is reported. */
#include "rule.h"

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, pp_bcd6(ram[40], ram[41], ram[42]));
  s->over = ram[39] == 255;
  s->lives = !s->over;
}

PP_RULE(air_raid) = {.step = step};
