// players.h: the environments atari/<game>: Atari games of two to four players with the API of
// PettingZoo's ParallelAtariEnv.
#ifndef PP_ENVS_ATARI_PLAYERS_H_
#define PP_ENVS_ATARI_PLAYERS_H_

#include <stdbool.h>
#include <stdint.h>

#include "console/console.h"
#include "games/multi_player/games.h"
#include "pp_env.h"

// plain data, so that a copy is a snapshot
typedef struct pp_match {
  pp_console console;
  int64_t frames;  // of the episode
  bool has_power;
  bool has_held;                 // `held` holds actions of this episode
  uint8_t held[PP_MAX_PLAYERS];  // what each player did in the last frame
  bool is_out[PP_MAX_PLAYERS];
  bool has_ended[PP_MAX_PLAYERS];  // in the last step
  int32_t oldest;                  // frame of the ring
  uint8_t pictures[];              // where `players.c` makes pictures; see there
} pp_match;

// the last two only with the option ram_info
enum {
  PP_PLAYERS_OBS,
  PP_PLAYERS_LIVE,
  PP_PLAYERS_ENDED,
  PP_PLAYERS_RAM_FIELD,
  PP_PLAYERS_LIVES,
  PP_PLAYERS_NUM_FIELDS
};
extern const pp_field pp_players_fields[PP_PLAYERS_NUM_FIELDS];

// the callbacks of the definitions
int pp_players_configure(pp_config *config);
void pp_players_release(void *shared);
int pp_players_init(pp_env *env);
int pp_players_seed(pp_env *env, const pp_seed *seed);
int pp_players_reset(pp_env *env, pp_reset *how);
int pp_players_step(pp_env *env, const void *action, pp_result *result);
int pp_players_observe(pp_env *env, void *const *rows, bool is_reset);
int pp_players_check_state(const pp_env *env, const pp_saved *saved);
int pp_players_render(pp_env *env, pp_image *image);

#endif  // PP_ENVS_ATARI_PLAYERS_H_
