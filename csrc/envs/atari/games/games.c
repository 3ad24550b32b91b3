/* Games: the table of games, and look-ups in it. */
#include "games.h"

#include <stddef.h>
#include <string.h>

#define GAME(game, envpool_word, ale_word, ...) extern const pp_rule pp_rule_##game;
#include "table.def"

#define GAME(game, envpool_word, ale_word, ...) \
  {.name = #game, .rule = &pp_rule_##game, __VA_ARGS__},
static const pp_game games[] = {
#include "table.def"
};

_Static_assert(sizeof(games) / sizeof(games[0]) == PP_GAME_COUNT, "a row for each game");

static const uint16_t only_zero[] = {0};
const pp_game pp_game_without_rules = {.name = "",
                                       .actions = 1,
                                       .difficulties = 1,
                                       .modes = only_zero,
                                       .mode_count = 1,
                                       .mode_byte = -1};

const pp_game *pp_game_find(const char *name) {
  for (size_t i = 0; i < PP_GAME_COUNT; i++) {
    if (strcmp(games[i].name, name) == 0) return &games[i];
  }
  return NULL;
}

int pp_game_mode(const pp_game *game, int mode) {
  for (int i = 0; i < game->mode_count; i++) {
    if (game->modes[i] == mode) return i;
  }
  return -1;
}
