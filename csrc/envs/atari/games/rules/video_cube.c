/* Video cube: the score is the number of sides with one colour, and six such sides end the game;
 * the game is lost when the count of moves overflows its byte; one life. */
#include "rule.h"

enum { FACES = 6, CELLS = 9 };

static int32_t plain_faces(const uint8_t *cells) {
  int32_t plain = 0;
  for (int face = 0; face < FACES; face++, cells += CELLS) {
    int same = 1;
    for (int i = 1; i < CELLS; i++) same &= cells[i] == cells[0];
    plain += same;
  }
  return plain;
}

static void step(pp_score *s, const uint8_t *ram) {
  int lost = s->state[0] == 255 && ram[91] == 0;
  s->state[0] = ram[91];
  int32_t plain = plain_faces(&ram[32]);
  pp_score_set(s, plain);
  if (lost) s->reward = -1;
  s->over = lost || plain == FACES;
  s->lives = !s->over;
}

PP_RULE(video_cube) = {.step = step};
