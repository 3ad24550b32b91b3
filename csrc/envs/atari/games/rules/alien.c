/* Alien: each digit of the score is stored as its picture's offset, eight times its value; a
 * blank is 128. */
#include "rule.h"

static int32_t digit(uint8_t byte) {
  return byte == 128 ? 0 : byte >> 3;
}

static void step(pp_score *s, const uint8_t *ram) {
  pp_score_set(s, digit(ram[3]) * 100000 + digit(ram[5]) * 10000 + digit(ram[7]) * 1000 +
                      digit(ram[9]) * 100 + digit(ram[11]) * 10);
  s->lives = ram[64] & 15;
  s->over = s->lives == 0;
}

PP_RULE(alien) = {.step = step};
