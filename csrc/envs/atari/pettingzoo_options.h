/* PettingZoo options: the options of Atari games for two and four players, atari/<game>. */
#ifndef PP_ENVS_ATARI_PETTINGZOO_OPTIONS_H
#define PP_ENVS_ATARI_PETTINGZOO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "picture/screen.h"
#include "pp_env.h"
#include "setup.h"

/* the options that all games have; a game's own follow them */
enum {
  PP_PETTINGZOO_OBS_TYPE,
  PP_PETTINGZOO_FULL_ACTION_SPACE,
  PP_PETTINGZOO_MAX_CYCLES,
  PP_PETTINGZOO_FRAME_SKIP,
  PP_PETTINGZOO_STICKY,
  PP_PETTINGZOO_MAX_POOL,
  PP_PETTINGZOO_SCREEN_HEIGHT,
  PP_PETTINGZOO_SCREEN_WIDTH,
  PP_PETTINGZOO_STACK_SIZE,
  PP_PETTINGZOO_INDICATOR,
  PP_PETTINGZOO_RAM_INFO,
  PP_PETTINGZOO_ROM,
  PP_PETTINGZOO_OWN
};

typedef enum pp_pettingzoo_view {
  PP_PETTINGZOO_RGB,
  PP_PETTINGZOO_GRAY,
  PP_PETTINGZOO_RAM
} pp_pettingzoo_view;

/* what all environments of a pool share */
typedef struct pp_pettingzoo_options {
  pp_setup setup;
  pp_screen *screen; /* null: RAM */
  pp_pettingzoo_view view;
  int32_t players;
  int32_t max_cycles; /* frames of an episode */
  int32_t frame_skip;
  int32_t stack;
  bool pools; /* the brighter of the last two screens, pixel by pixel */
  bool has_ram_info;
  bool is_resized;    /* otherwise the screen in its own size */
  bool has_indicator; /* a plane for each player, of which the player's own is 255 */
} pp_pettingzoo_options;

/* Makes the settings from config->options, and describes the fields. On error the status is
 * negative, and config->error says why. */
int pp_pettingzoo_options_create(pp_config *config, pp_pettingzoo_options **out);
void pp_pettingzoo_options_destroy(pp_pettingzoo_options *options);

/* Returns the planes of a player's observation: those of the stack, and the indicator's. */
int pp_pettingzoo_planes(const pp_pettingzoo_options *options);

#endif
