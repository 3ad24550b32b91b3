// games.c: the table of the games that ALE plays.
#include "games.h"

#include <stddef.h>
#include <string.h>

// pp_rule_*, and `games`
#include "table.inl"

enum { GAME_COUNT = sizeof games / sizeof games[0] };

static const uint16_t only_zero[] = {0};
const pp_game pp_game_bare = {.name = "",
                              .actions = 1,
                              .difficulties = 1,
                              .modes = only_zero,
                              .mode_count = 1,
                              .mode_byte = -1};

const pp_game *pp_game_list(int *count) {
  *count = GAME_COUNT;
  return games;
}

const pp_game *pp_game_find(const char *name) {
  for (size_t i = 0; i < GAME_COUNT; ++i) {
    if (strcmp(games[i].name, name) == 0) return &games[i];
  }
  return NULL;
}

int pp_game_mode(const pp_game *game, int mode) {
  for (int i = 0; i < game->mode_count; ++i) {
    if (game->modes[i] == mode) return i;
  }
  return -1;
}
