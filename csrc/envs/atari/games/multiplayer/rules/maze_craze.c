/* Maze craze: a bit of each player who was caught, and is out; a byte of each who found the exit,
 * and has won. */
#include "../rule.h"

enum { CAUGHT = 0x40, AT_EXIT = 0xff };

static void step(pp_scores *s, const uint8_t *ram, int mode, int players) {
  (void)mode, (void)players;
  bool out[2] = {ram[106] & CAUGHT, ram[107] & CAUGHT};
  bool found[2] = {ram[108] == AT_EXIT, ram[109] == AT_EXIT};
  for (int i = 0; i < 2; i++) {
    s->reward[i] = out[i] && s->lives[i] == 0 ? -1 : 0;
    s->lives[i] = -out[i];
  }
  bool is_won = found[0] != found[1];
  s->over = is_won || (out[0] && out[1]);
  if (!is_won) return;
  int winner = found[1];
  // memory that no game has: ALE then lets the other player win
  if (out[winner]) winner = 1 - winner;
  s->reward[winner] = 1;
  s->reward[1 - winner] = -1;
}

PP_MULTIPLAYER_RULE(maze_craze) = {.step = step};
