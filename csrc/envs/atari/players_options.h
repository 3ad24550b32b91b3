// players_options.h: the options of Atari games for two and four players, atari/<game>.
#ifndef PP_ENVS_ATARI_PLAYERS_OPTIONS_H_
#define PP_ENVS_ATARI_PLAYERS_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>

#include "api_common.h"
#include "picture/screen.h"
#include "pp_env.h"

// the options that all games have; a game's own follow them
enum {
  PP_PLAYERS_OBS_TYPE,
  PP_PLAYERS_FULL_ACTION_SPACE,
  PP_PLAYERS_MAX_CYCLES,
  PP_PLAYERS_FRAME_SKIP,
  PP_PLAYERS_STICKY,
  PP_PLAYERS_MAX_POOL,
  PP_PLAYERS_SCREEN_HEIGHT,
  PP_PLAYERS_SCREEN_WIDTH,
  PP_PLAYERS_STACK_SIZE,
  PP_PLAYERS_INDICATOR,
  PP_PLAYERS_RAM_INFO,
  PP_PLAYERS_ROM,
  PP_PLAYERS_OWN
};

typedef enum pp_players_view { PP_PLAYERS_RGB, PP_PLAYERS_GRAY, PP_PLAYERS_RAM } pp_players_view;

// what all environments of a pool share
typedef struct pp_players_options {
  pp_setup setup;
  pp_screen *screen;  // null: RAM
  pp_players_view view;
  int32_t players;
  int32_t max_cycles;  // frames of an episode
  int32_t frame_skip;
  int32_t stack;
  bool pools;  // the brighter of the last two screens, pixel by pixel
  bool has_ram_info;
  bool is_resized;     // otherwise the screen in its own size
  bool has_indicator;  // a plane for each player, of which the player's own is 255
} pp_players_options;

// Makes the settings from config->options, and describes the fields. On error the status is
// negative, and config->error says why.
int pp_players_options_create(pp_config *config, pp_players_options **out);
void pp_players_options_destroy(pp_players_options *options);

// Returns the planes of a player's observation: those of the stack, and the indicator's.
int pp_players_planes(const pp_players_options *options);

#endif  // PP_ENVS_ATARI_PLAYERS_OPTIONS_H_
