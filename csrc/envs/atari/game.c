// game.c: the games that the console plays, one rule set each.
#include "game.h"

#include <stddef.h>
#include <string.h>

static int bcd(uint8_t byte) {
  return (byte >> 4) * 10 + (byte & 15);
}

// ---------------------------------------------------------------------------- Pong

static void pong_reset(pp_score *s) {
  *s = (pp_score){0};
}

// the two scores are plain numbers; a game ends at 21
static void pong_step(pp_score *s, const uint8_t *ram) {
  int left = ram[13], right = ram[14], score = right - left;
  s->reward = score - s->score;
  s->score = score;
  s->over = left == 21 || right == 21;
}

// ---------------------------------------------------------------------------- Breakout

static void breakout_reset(pp_score *s) {
  *s = (pp_score){.lives = 5};
}

// the score has three decimal digits; lives count down from five
static void breakout_step(pp_score *s, const uint8_t *ram) {
  int score = (ram[76] & 15) * 100 + bcd(ram[77]);
  s->reward = score - s->score;
  s->score = score;
  // the byte is zero until the game has started
  int lives = ram[57];
  if (!s->started && lives == 5) s->started = 1;
  s->over = s->started && lives == 0;
  s->lives = lives;
}

// ---------------------------------------------------------------------------- none

static void bare_reset(pp_score *s) {
  *s = (pp_score){0};
}

static void bare_step(pp_score *s, const uint8_t *ram) {
  (void)s;
  (void)ram;
}

static const int8_t no_actions[] = {0, -1};
static const uint8_t only_zero[] = {0};
const pp_game pp_game_bare = {.name = "",
                              .actions = no_actions,
                              .modes = only_zero,
                              .mode_count = 1,
                              .mode_byte = -1,
                              .difficulties = only_zero,
                              .difficulty_count = 1,
                              .reset = bare_reset,
                              .step = bare_step};

// ---------------------------------------------------------------------------- the list

static const int8_t pong_actions[] = {0, 1, 3, 4, 11, 12, -1};
static const int8_t breakout_actions[] = {0, 1, 3, 4, -1};
static const uint8_t pong_modes[] = {0, 1};
static const uint8_t breakout_modes[] = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44};
static const uint8_t four_difficulties[] = {0, 1, 2, 3};
static const uint8_t two_difficulties[] = {0, 1};

static const pp_game games[] = {
    {.name = "pong",
     .actions = pong_actions,
     .modes = pong_modes,
     .mode_count = 2,
     .mode_byte = 22,
     .select_frames = 2,
     .difficulties = four_difficulties,
     .difficulty_count = 4,
     .reset = pong_reset,
     .step = pong_step},
    {.name = "breakout",
     .actions = breakout_actions,
     .modes = breakout_modes,
     .mode_count = 12,
     .mode_byte = 50,
     .select_frames = 1,
     .difficulties = two_difficulties,
     .difficulty_count = 2,
     .reset = breakout_reset,
     .step = breakout_step},
};

const pp_game *pp_game_find(const char *name) {
  for (size_t i = 0; i < sizeof games / sizeof games[0]; ++i) {
    if (strcmp(games[i].name, name) == 0) return &games[i];
  }
  return NULL;
}
