/* Riverraid: each digit of score and lives is the offset of a picture, eight bytes per picture;
 * an offset without a picture counts as zero. */
#include "rule.h"

enum { BLANK = 88, LAST_LIFE = 89 };

static int32_t digit(uint8_t picture) {
  return picture % 8 == 0 && picture <= 72 ? picture / 8 : 0;
}

static void step(pp_score *s, const uint8_t *ram) {
  int32_t score = 0;
  const uint8_t pictures[] = {ram[77], ram[79], ram[81], ram[83], ram[85], ram[87]};
  for (int i = 0; i < 6; i++) score = score * 10 + digit(pictures[i]);
  pp_score_set(s, score);
  uint8_t now = ram[64], last = s->state[0];
  // no picture of lives: the game has not begun yet, or it is over
  s->over = now == BLANK && last == LAST_LIFE;
  if (now == BLANK) {
    s->lives = s->over ? 0 : 4;
  } else {
    s->lives = now == LAST_LIFE ? 1 : now / 8 + 1;
  }
  s->state[0] = now;
}

PP_RULE(riverraid) = {.step = step};
