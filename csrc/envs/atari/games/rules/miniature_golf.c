/* Miniature golf: the reward for a finished hole is its par minus the strokes; both are read off
 * the display, which shows the par until the first stroke and the strokes from then on. */
#include "rule.h"

enum { HOLE, PAR, SHOWN, STROKES_HIGH, STROKES_LOW };

static void step(pp_score *s, const uint8_t *ram) {
  uint8_t *state = s->state;
  int32_t strokes = state[STROKES_HIGH] * 256 + state[STROKES_LOW];
  s->reward = 0;
  if (ram[47] != state[HOLE]) {
    if (strokes) s->reward = state[PAR] - strokes;
    strokes = 0;
    state[HOLE] = ram[47];
  }
  if (ram[8]) {
    state[PAR] = (uint8_t)pp_bcd(ram[8]);
  } else {
    // the hundreds are not shown: ninety-nine is followed by zero, and that stroke is lost
    uint8_t now = (uint8_t)pp_bcd(ram[7]);
    strokes += now < state[SHOWN] ? now : now - state[SHOWN];
    state[SHOWN] = now;
  }
  state[STROKES_HIGH] = (uint8_t)(strokes >> 8);
  state[STROKES_LOW] = (uint8_t)strokes;
  s->score += s->reward;
  s->over = ram[47] == 0;
  s->lives = !s->over;
}

PP_RULE(miniature_golf) = {.step = step};
