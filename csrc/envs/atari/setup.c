/* Setup: makes a pool's cartridge, checks mode and difficulty, and colours screens. */
#include "setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "games/games.h"
#include "games/multiplayer/roms.h"
#include "picture/palette.h"

/* ---------------------------------------------------------------------------------- settings -- */

/* Writes the message for a value that the game does not have. It lists the values that it has. */
static int refuse_value(pp_config *config, const char *what, int64_t value, const uint16_t *choices,
                        int count) {
  char *text = config->error->text;
  size_t room = sizeof(config->error->text);
  int used = snprintf(text, room, "%s=%lld: choose -1", what, (long long)value);
  for (int i = 0; i < count && used > 0 && (size_t)used < room; i++) {
    used += snprintf(text + used, room - (size_t)used, ", %d", choices[i]);
  }
  // the list may be longer than the message
  if ((size_t)used >= room) memcpy(text + room - 4, "...", 4);
  return PP_ERR_ARGUMENT;
}

static int check_mode(pp_config *config, const pp_game *game, int64_t mode) {
  for (int i = 0; i < game->mode_count; i++) {
    if (mode == -1 || mode == game->modes[i]) return PP_OK;
  }
  return refuse_value(config, "mode", mode, game->modes, game->mode_count);
}

static int check_difficulty(pp_config *config, const pp_game *game, int64_t difficulty) {
  uint16_t choices[8];
  int count = 0;
  for (int i = 0; i < 8; i++) {
    if (game->difficulties >> i & 1) choices[count++] = (uint16_t)i;
  }
  for (int i = 0; i < count; i++) {
    if (difficulty == -1 || difficulty == choices[i]) return PP_OK;
  }
  return refuse_value(config, "difficulty", difficulty, choices, count);
}

/* ---------------------------------------------------------------------------------- the game -- */

/* Chooses how the computer runs the cartridge: as fast as it can, or as two variables say.
 * PP_ATARI_BUILD is for the proof, which compares each build; PP_ATARI_JIT=0 for systems where
 * machine code that is made at run time is not wanted. */
static int choose_build(pp_cartridge_options *cartridge, pp_config *config) {
  const char *build = getenv("PP_ATARI_BUILD"), *jit = getenv("PP_ATARI_JIT");
  if (!pp_cartridge_choose_build(cartridge, build)) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "PP_ATARI_BUILD=%.40s: choose base, v3 (AVX2) or v4 (AVX-512), as far as the "
                   "processor has them, or unset the variable",
                   build);
  }
  if (!jit || jit[0] == 0 || strcmp(jit, "1") == 0) return PP_OK;
  if (strcmp(jit, "0") != 0) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "PP_ATARI_JIT=%.40s: choose 0 (interpret programs) or 1 (translate them to "
                   "machine code), or unset the variable",
                   jit);
  }
  cartridge->interprets = true;
  return PP_OK;
}

static bool has_game(const pp_cartridge_options *cartridge) {
  return cartridge->players ? pp_multiplayer_rom_find(cartridge->game) != NULL
                            : pp_game_find(cartridge->game) != NULL;
}

static int make_cartridge(pp_setup *setup, pp_config *config, const char *game,
                          const pp_setup_options *options) {
  pp_cartridge_options cartridge = {
      .rom = (const uint8_t *)options->rom->s,
      .size = (size_t)options->rom->size,
      .game = game,
      .players = options->players,
  };
  int status = choose_build(&cartridge, config);
  if (status < 0) return status;
  setup->isa = cartridge.isa;
  status = pp_cartridge_create(&cartridge, &setup->cartridge);
  if (status != PP_ERR_ARGUMENT) return status;
  if (!has_game(&cartridge)) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "game=%s is not a game of ale-py: choose one, such as space_invaders", game);
  }
  return pp_fail(
      config->error, PP_ERR_ARGUMENT,
      "rom of %s has %zu bytes: choose one of 2048, 4096, 8192, 16384, or 10240 to 10496 bytes",
      game, cartridge.size);
}

static void list_actions(pp_setup *setup, bool all) {
  const pp_game *game = setup->cartridge->game;
  uint32_t listed = !all ? game->actions : game->legal ? game->legal : (1u << PP_ACTIONS) - 1;
  for (int action = 0; action < PP_ACTIONS; action++) {
    if (!(listed >> action & 1)) continue;
    setup->actions[setup->num_actions++] = (uint8_t)action;
  }
}

static const uint8_t (*palette_of(const pp_setup *setup))[3] {
  return setup->cartridge->hardware->pal ? pp_palette_pal : pp_palette_ntsc;
}

int pp_setup_init(pp_setup *setup, pp_config *config, const char *game,
                  const pp_setup_options *options) {
  int status = make_cartridge(setup, config, game, options);
  if (status < 0) return status;
  const pp_game *facts = setup->cartridge->game;
  status = check_mode(config, facts, options->mode);
  if (status >= 0) status = check_difficulty(config, facts, options->difficulty);
  if (status < 0) return status;
  setup->mode = (int32_t)options->mode;
  setup->difficulty = (int32_t)options->difficulty;
  list_actions(setup, options->full_action_space != 0);
  const uint8_t (*palette)[3] = palette_of(setup);
  for (int i = 0; i < 256; i++) memcpy(setup->color[i], palette[i], 3);
  return PP_OK;
}

void pp_setup_fini(pp_setup *setup) {
  pp_cartridge_destroy(setup->cartridge);
  setup->cartridge = NULL;
}

bool pp_setup_has_action(const pp_setup *setup, int action) {
  return memchr(setup->actions, action, (size_t)setup->num_actions) != NULL;
}

/* ---------------------------------------------------------------------------------- consoles -- */

void pp_setup_load(const pp_setup *setup, pp_console *console, uint32_t random_seed,
                   double sticky) {
  const pp_cartridge *cartridge = setup->cartridge;
  if (cartridge->multiplayer) {
    pp_console_load_multiplayer(console, cartridge, random_seed);
  } else {
    pp_console_load(console, cartridge, random_seed, (float)sticky);
  }
  // pp_setup_init has checked both
  if (setup->mode >= 0) (void)pp_console_set_mode(console, cartridge, setup->mode);
  if (setup->difficulty < 0) return;
  (void)pp_console_set_difficulty(console, cartridge, setup->difficulty);
}

/* ---------------------------------------------------------------------------------- pictures -- */

int pp_setup_make_screen(const pp_setup *setup, pp_screen_options options, pp_screen **screen) {
  options.palette = palette_of(setup);
  options.isa = setup->isa;
  *screen = pp_screen_create(&options);
  return *screen ? PP_OK : PP_ERR_MEMORY;
}

void pp_setup_color(const pp_setup *setup, const uint8_t *screen, uint8_t *rgb) {
  const size_t line = PP_LINE_PIXELS * 3;
  const int last = PP_LINE_PIXELS - 1;
  for (int y = 0; y < setup->cartridge->lines; y++, screen += PP_LINE_PIXELS, rgb += line) {
    if (y > 0 && memcmp(screen, screen - PP_LINE_PIXELS, PP_LINE_PIXELS) == 0) {
      memcpy(rgb, rgb - line, line);
      continue;
    }
    // copies four bytes at a time; the next pixel overwrites the fourth
    for (int x = 0; x < last; x++) memcpy(rgb + 3 * x, setup->color[screen[x]], 4);
    memcpy(rgb + 3 * last, setup->color[screen[last]], 3);
  }
}

int pp_setup_render(const pp_setup *setup, pp_console *console, pp_image *image) {
  image->width = PP_LINE_PIXELS;
  image->height = setup->cartridge->lines;
  if (!image->pixels) return PP_OK;
  pp_setup_color(setup, pp_console_draw(console, setup->cartridge), image->pixels);
  return PP_OK;
}
