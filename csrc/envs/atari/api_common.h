// api_common.h: what environments of Atari games share, whichever API they follow.
#ifndef PP_ENVS_ATARI_API_COMMON_H_
#define PP_ENVS_ATARI_API_COMMON_H_

#include <stdint.h>

#include "console/console.h"
#include "joystick.h"
#include "picture/screen.h"
#include "pp_env.h"

// the cartridge, and what was chosen for all consoles of a pool
typedef struct pp_arcade {
  pp_cartridge *cartridge;
  int32_t mode, difficulty;  // -1: the game's first mode; 0
  float sticky;              // probability that a frame repeats the action before it
  int32_t num_actions;
  uint8_t actions[PP_ACTIONS];  // those of the action space, in ALE's order
  uint8_t color[256][4];        // red, green and blue of each palette index, and nothing
} pp_arcade;

typedef struct pp_arcade_options {
  const pp_value *rom;  // the program's bytes
  int64_t mode, difficulty;
  double sticky;
  int64_t full_action_space;  // all that ALE knows, else those that the game uses
} pp_arcade_options;

// Fill in a zeroed arcade for a game by ale-py's name of it; on error the status is negative,
// config->error says why, and the arcade may be finished.
int pp_arcade_init(pp_arcade *arcade, pp_config *config, const char *game,
                   const pp_arcade_options *options);
void pp_arcade_fini(pp_arcade *arcade);

// is it part of the action space?
int pp_arcade_has_action(const pp_arcade *arcade, int action);

// switch a console on, as ALE does with loadROM after setInt("random_seed", ...), and choose
void pp_arcade_load(const pp_arcade *arcade, pp_console *console, uint32_t random_seed);

// Make a screen for this cartridge's colours with the best code for this machine; sizes in range
// have been checked, so nothing but memory can be missing. options say all but palette and isa.
int pp_arcade_make_screen(const pp_arcade *arcade, pp_screen_options options, pp_screen **screen);

// writes red, green and blue of each pixel of a screen
void pp_arcade_paint(const pp_arcade *arcade, const uint8_t *screen, uint8_t *rgb);

// the last screen, or its size alone: what the callback `render` does
int pp_arcade_render(const pp_arcade *arcade, pp_console *console, pp_image *image);

// what the definitions of environments over an arcade have in common: all but the options goes by
// these names
#define PP_ARCADE_DEF(table, count)                                                         \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .reward_threshold = NAN, .options = table, \
  .num_options = count, .num_fields = NUM_FIELDS, .fields = fields, .configure = configure, \
  .release = release, .seed = seed, .reset = reset, .step = step, .observe = observe,       \
  .render = render,                                                                         \
  .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = PP_ACTIONS}

#endif  // PP_ENVS_ATARI_API_COMMON_H_
