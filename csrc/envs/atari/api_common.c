// api_common.c: makes cartridges for pools, and refuses what a game does not have.
#include "api_common.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "games/games.h"
#include "picture/palette.h"

// ---------------------------------------------------------------------------- refusals

// says that a value is none of the game's, and which are; -1 stands for the first of them
static int refuse(pp_config *config, const char *what, int64_t value, const uint16_t *choices,
                  int count) {
  char *text = config->error->text;
  size_t room = sizeof config->error->text;
  int used = snprintf(text, room, "%s=%lld: choose -1", what, (long long)value);
  for (int i = 0; i < count && used > 0 && (size_t)used < room; ++i) {
    used += snprintf(text + used, room - (size_t)used, ", %d", choices[i]);
  }
  // a game may have more than there is room for
  if ((size_t)used >= room) memcpy(text + room - 4, "...", 4);
  return PP_ERR_ARGUMENT;
}

static int check_mode(pp_config *config, const pp_game *game, int64_t mode) {
  for (int i = 0; i < game->mode_count; ++i) {
    if (mode == -1 || mode == game->modes[i]) return PP_OK;
  }
  return refuse(config, "mode", mode, game->modes, game->mode_count);
}

static int check_difficulty(pp_config *config, const pp_game *game, int64_t difficulty) {
  uint16_t choices[8];
  int count = 0;
  for (int i = 0; i < 8; ++i) {
    if (game->difficulties >> i & 1) choices[count++] = (uint16_t)i;
  }
  for (int i = 0; i < count; ++i) {
    if (difficulty == -1 || difficulty == choices[i]) return PP_OK;
  }
  return refuse(config, "difficulty", difficulty, choices, count);
}

// ---------------------------------------------------------------------------- the arcade

static int make_cartridge(pp_arcade *arcade, pp_config *config, const char *game,
                          const pp_value *rom) {
  const uint8_t *bytes = (const uint8_t *)rom->s;
  size_t size = (size_t)rom->size;
  int status = pp_cartridge_create(bytes, size, game, &arcade->cartridge);
  if (status == PP_ERR_ATARI_MEMORY) return PP_ERR_MEMORY;
  if (status >= 0) return PP_OK;
  char *text = config->error->text;
  const size_t room = sizeof config->error->text;
  if (status == PP_ERR_ATARI_GAME) {
    snprintf(text, room, "game=%s is none of ale-py's: choose one, as in space_invaders", game);
  } else {
    snprintf(text, room,
             "rom of %s has %zu bytes, as no cartridge has: give 2048, 4096, 8192, 16384, or 10240 "
             "to 10496",
             game, size);
  }
  return PP_ERR_ARGUMENT;
}

static void list_actions(pp_arcade *arcade, bool all) {
  const pp_game *game = arcade->cartridge->game;
  uint32_t listed = !all ? game->actions : game->legal ? game->legal : (1u << PP_ACTIONS) - 1;
  for (int action = 0; action < PP_ACTIONS; ++action) {
    if (!(listed >> action & 1)) continue;
    arcade->actions[arcade->num_actions++] = (uint8_t)action;
  }
}

static const uint8_t (*palette_of(const pp_arcade *arcade))[3] {
  return arcade->cartridge->hardware->pal ? pp_palette_pal : pp_palette_ntsc;
}

int pp_arcade_init(pp_arcade *arcade, pp_config *config, const char *game,
                   const pp_arcade_options *options) {
  int status = make_cartridge(arcade, config, game, options->rom);
  if (status < 0) return status;
  const pp_game *facts = arcade->cartridge->game;
  status = check_mode(config, facts, options->mode);
  if (status >= 0) status = check_difficulty(config, facts, options->difficulty);
  if (status < 0) return status;
  arcade->mode = (int32_t)options->mode;
  arcade->difficulty = (int32_t)options->difficulty;
  arcade->sticky = (float)options->sticky;
  list_actions(arcade, options->full_action_space != 0);
  const uint8_t (*palette)[3] = palette_of(arcade);
  for (int i = 0; i < 256; ++i) memcpy(arcade->color[i], palette[i], 3);
  return PP_OK;
}

void pp_arcade_fini(pp_arcade *arcade) {
  pp_cartridge_destroy(arcade->cartridge);
  arcade->cartridge = NULL;
}

int pp_arcade_has_action(const pp_arcade *arcade, int action) {
  return memchr(arcade->actions, action, (size_t)arcade->num_actions) != NULL;
}

// ---------------------------------------------------------------------------- consoles

void pp_arcade_load(const pp_arcade *arcade, pp_console *console, uint32_t random_seed) {
  const pp_cartridge *cartridge = arcade->cartridge;
  pp_console_load(console, cartridge, random_seed, arcade->sticky);
  // init has checked both
  if (arcade->mode >= 0) (void)pp_console_set_mode(console, cartridge, arcade->mode);
  if (arcade->difficulty < 0) return;
  (void)pp_console_set_difficulty(console, cartridge, arcade->difficulty);
}

// ---------------------------------------------------------------------------- pictures

int pp_arcade_make_screen(const pp_arcade *arcade, pp_screen_options options, pp_screen **screen) {
  options.palette = palette_of(arcade);
  options.isa = pp_isa_best();
  *screen = pp_screen_create(&options);
  return *screen ? PP_OK : PP_ERR_MEMORY;
}

void pp_arcade_paint(const pp_arcade *arcade, const uint8_t *screen, uint8_t *rgb) {
  const size_t line = PP_LINE_PIXELS * 3;
  const int last = PP_LINE_PIXELS - 1;
  for (int y = 0; y < arcade->cartridge->lines; y++, screen += PP_LINE_PIXELS, rgb += line) {
    if (y > 0 && memcmp(screen, screen - PP_LINE_PIXELS, PP_LINE_PIXELS) == 0) {
      memcpy(rgb, rgb - line, line);
      continue;
    }
    // four bytes at a time, of which the last is written over by the next pixel
    for (int x = 0; x < last; x++) memcpy(rgb + 3 * x, arcade->color[screen[x]], 4);
    memcpy(rgb + 3 * last, arcade->color[screen[last]], 3);
  }
}

int pp_arcade_render(const pp_arcade *arcade, pp_console *console, pp_image *image) {
  image->width = PP_LINE_PIXELS;
  image->height = arcade->cartridge->lines;
  if (!image->pixels) return PP_OK;
  pp_arcade_paint(arcade, pp_console_draw(console, arcade->cartridge), image->pixels);
  return PP_OK;
}
