/* Setup: what the environments of the four Atari APIs share: the game that a pool plays,
 * pictures of its screen, and parts of the definitions. */
#ifndef PP_ENVS_ATARI_SETUP_H
#define PP_ENVS_ATARI_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "console/console.h"
#include "joystick.h"
#include "picture/screen.h"
#include "pp_env.h"

enum { PP_RAM_BYTES = 128 };

/* the cartridge of a pool, and the settings of all its consoles; read-only after pp_setup_init */
typedef struct pp_setup {
  pp_cartridge *cartridge;
  int32_t mode, difficulty; /* -1: the game's first mode; difficulty 0 */
  int32_t num_actions;
  uint8_t actions[PP_ACTIONS]; /* the action space, in ALE's order */
  /* red, green and blue of each palette index; the fourth is unused */
  uint8_t color[256][4];
  pp_isa isa; /* the vector instructions that pictures are made with */
} pp_setup;

typedef struct pp_setup_options {
  const pp_value *rom; /* the program's bytes */
  int64_t mode, difficulty;
  /* nonzero: all actions that ALE allows; 0: those that the game uses */
  int64_t full_action_space;
  int players; /* 2 or 4: on the ALE of multi_agent_ale_py; 0: one player */
} pp_setup_options;

/* Fills in a zeroed setup for a game, by ale-py's name of it or its ROM. On error the status is
 * negative, config->error says why, and pp_setup_fini may be called. Two environment variables are
 * read here: PP_ATARI_BUILD names the build to use (unset or empty: the best that the processor can
 * run), PP_ATARI_JIT=0 interprets programs. */
int pp_setup_init(pp_setup *setup, pp_config *config, const char *game,
                  const pp_setup_options *options);
void pp_setup_fini(pp_setup *setup);

/* Returns whether an action of ALE's list is in the action space. */
bool pp_setup_has_action(const pp_setup *setup, int action);

/* Switches a console on, as ALE does with loadROM after setInt("random_seed", ...), and chooses
 * mode and difficulty. sticky: the probability that a frame repeats the previous action; with
 * several players nothing sticks. */
void pp_setup_load(const pp_setup *setup, pp_console *console, uint32_t random_seed, double sticky);

/* Makes a screen with this cartridge's colours and the setup's vector instructions. palette and isa
 * of `options` are ignored. The caller has checked its sizes, so PP_ERR_MEMORY is the only
 * error. */
int pp_setup_make_screen(const pp_setup *setup, pp_screen_options options, pp_screen **screen);

/* Writes red, green and blue of each pixel of a screen. */
void pp_setup_color(const pp_setup *setup, const uint8_t *screen, uint8_t *rgb);

/* Implements the callback `render`: writes the last screen, or only its size. */
int pp_setup_render(const pp_setup *setup, pp_console *console, pp_image *image);

/* ------------------------------------------------------------------------------- definitions -- */

/* entries of a table of options */
#define PP_INT_OPTION(option, default_value, lowest, highest, text) \
  {.name = option,                                                  \
   .type = PP_OPT_INT,                                              \
   .number = default_value,                                         \
   .low = lowest,                                                   \
   .high = highest,                                                 \
   .doc = text}
/* one that may be drawn anew at each reset */
#define PP_VARYING_FLOAT_OPTION(option, default_value, lowest, highest, text) \
  {.name = option,                                                            \
   .type = PP_OPT_FLOAT,                                                      \
   .number = default_value,                                                   \
   .low = lowest,                                                             \
   .high = highest,                                                           \
   .doc = text,                                                               \
   .varies = true}
#define PP_BOOL_OPTION(option, default_value, text) \
  {.name = option, .type = PP_OPT_BOOL, .number = default_value, .doc = text}

/* options that several APIs have */
#define PP_FULL_ACTION_SPACE_OPTION          \
  PP_BOOL_OPTION("full_action_space", false, \
                 "all actions that ALE allows, instead of those that the game uses")
#define PP_STICKY_OPTION(default_value)                                     \
  PP_VARYING_FLOAT_OPTION("repeat_action_probability", default_value, 0, 1, \
                          "probability that a frame repeats the previous action")
#define PP_IMG_HEIGHT_OPTION \
  PP_INT_OPTION("img_height", 84, 1, PP_RESIZE_MAX_SIDE, "rows of a frame")
#define PP_IMG_WIDTH_OPTION \
  PP_INT_OPTION("img_width", 84, 1, PP_RESIZE_MAX_SIDE, "columns of a frame")
#define PP_ROM_OPTION    \
  {.name = "rom",        \
   .type = PP_OPT_BYTES, \
   .doc = "the game's program; if not given, Python takes it from ale-py"}

/* the info that holds the console's RAM */
#define PP_RAM_FIELD        \
  {.name = "ram",           \
   .is_info = true,         \
   .when = PP_ALWAYS,       \
   .dtype = PP_UINT8,       \
   .ndim = 1,               \
   .shape = {PP_RAM_BYTES}, \
   .high = 255}

/* The part of a pp_env_def that is the same for all three APIs. The file that uses it must define
 * `fields`, NUM_FIELDS, and the callbacks configure, release, init, seed, reset, step, observe,
 * check_state and render. */
#define PP_ATARI_DEF(table, count)                                                        \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .options = table, .num_options = count,  \
  .num_fields = NUM_FIELDS, .fields = fields, .configure = configure, .release = release, \
  .init = init, .seed = seed, .reset = reset, .step = step, .observe = observe,           \
  .check_state = check_state, .render = render,                                           \
  .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = PP_ACTIONS}

#endif
