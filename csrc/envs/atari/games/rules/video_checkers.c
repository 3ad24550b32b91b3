/* Video checkers: a game is over when a side has neither man nor king left; one life. */
#include "rule.h"

enum { MAN = 0x10, KING = 0x20, THEIRS = 0x80 };

/* Returns whether a piece of this side stands on the board, ram[0..35]. Every ninth byte is no
 * square, except the last one: it is the square at which the player points. */
static int has_pieces(const uint8_t *board, int side) {
  for (int i = 0; i < 36; i++) {
    int square = i == 35 || i % 9 != 8;
    if (square && (board[i] == (side | MAN) || board[i] == (side | KING))) return 1;
  }
  return 0;
}

static void step(pp_score *s, const uint8_t *ram) {
  int lost = !has_pieces(ram, 0), won = !lost && !has_pieces(ram, THEIRS);
  s->reward = won - lost;
  s->score += s->reward;
  s->over = won || lost;
  s->lives = !s->over;
}

PP_RULE(video_checkers) = {.step = step};
