/* PettingZoo: the environments atari/<game>: Atari games of two to four players with the API of
 * PettingZoo's ParallelAtariEnv. */
#ifndef PP_ENVS_ATARI_PETTINGZOO_H
#define PP_ENVS_ATARI_PETTINGZOO_H

#include <stdbool.h>
#include <stdint.h>

#include "console/console.h"
#include "games/multiplayer/roms.h"
#include "pp_env.h"

/* plain data, so that a copy is a snapshot */
typedef struct pp_pettingzoo {
  pp_console console;
  int64_t frames; /* of the episode */
  bool has_power;
  bool has_held;                      /* `held` holds actions of this episode */
  uint8_t held[PP_ATARI_MAX_PLAYERS]; /* what each player did in the last frame */
  bool is_out[PP_ATARI_MAX_PLAYERS];
  bool has_ended[PP_ATARI_MAX_PLAYERS]; /* in the last step */
  int32_t oldest;                       /* frame of the ring */
  uint8_t pictures[];                   /* where `pettingzoo.c` makes pictures; see there */
} pp_pettingzoo;

/* the last two only with the option ram_info */
enum {
  PP_PETTINGZOO_OBS,
  PP_PETTINGZOO_LIVE,
  PP_PETTINGZOO_ENDED,
  PP_PETTINGZOO_RAM_FIELD,
  PP_PETTINGZOO_LIVES,
  PP_PETTINGZOO_NUM_FIELDS
};
extern const pp_field pp_pettingzoo_fields[PP_PETTINGZOO_NUM_FIELDS];

/* the callbacks of the definitions */
int pp_pettingzoo_configure(pp_config *config);
void pp_pettingzoo_release(void *shared);
int pp_pettingzoo_init(pp_env *env);
int pp_pettingzoo_seed(pp_env *env, const pp_seed *seed);
int pp_pettingzoo_reset(pp_env *env, pp_reset *how);
int pp_pettingzoo_step(pp_env *env, const void *action, pp_result *result);
int pp_pettingzoo_observe(pp_env *env, void *const *rows, bool is_reset);
int pp_pettingzoo_check_state(const pp_env *env, const pp_saved *saved);
int pp_pettingzoo_render(pp_env *env, pp_image *image);

#endif
