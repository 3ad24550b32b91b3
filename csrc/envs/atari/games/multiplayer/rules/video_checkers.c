/* Video checkers: the game ends when a player has no pieces; no lives. A player who makes no move
 * for 601 frames loses a point of reward. */
#include "../rule.h"

enum { MAN = 0x10, KING = 0x20, SECOND = 0x80 };
enum { PATIENCE = 601, FIRST_OF_SECOND = 16 };

/* Returns whether a piece of this side stands on the board, ram[0..35]. Every ninth byte is no
 * square, except the last one: it is the square at which the player points. */
static bool has_pieces(const uint8_t *board, int side) {
  for (int i = 0; i < 36; i++) {
    bool is_square = i == 35 || i % 9 != 8;
    if (is_square && (board[i] == (side | MAN) || board[i] == (side | KING))) return true;
  }
  return false;
}

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  // the square chosen last says who is to move; 1 and 2, as 0 means: not known yet
  int32_t mover = 1 + (ram[64] >= FIRST_OF_SECOND);
  int32_t *waited = &s->kept[0], *last_mover = &s->kept[1];
  if (*last_mover && mover != *last_mover) *waited = 0;
  *last_mover = mover;
  bool fined = ++*waited == PATIENCE;
  if (fined) *waited = 0;

  bool lost = !has_pieces(ram, 0), won = !lost && !has_pieces(ram, SECOND);
  pp_player_score(s, 0, won - lost);
  pp_player_score(s, 1, lost - won);
  if (fined) s->reward[mover - 1]--;
  s->over = won || lost;
}

PP_MULTIPLAYER_RULE(video_checkers) = {.step = step};
