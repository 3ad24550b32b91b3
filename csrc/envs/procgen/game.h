/* A game in play: a handle of the library with one environment, and the record of its episode. */
#ifndef PP_ENVS_PROCGEN_GAME_H
#define PP_ENVS_PROCGEN_GAME_H

#include "base/record.h"
#include "carried.h"
#include "games.h"

enum {
  PROCGEN_FRAME = 64 * 64 * 3,
  PROCGEN_PICTURE_SIDE = 512,
  PROCGEN_PICTURE = 512 * 512 * 3,
};

/* what makes a handle; the same for all environments of a pool */
typedef struct procgen_rules {
  procgen_library library;
  const procgen_game *game;
  const char *assets;
  int32_t mode; /* the library's: no exploration */
  int32_t debug_mode;
  procgen_level_range range;
  int32_t num_levels;
  int32_t start_level;
  uint8_t is_sequential;
  uint8_t centers_agent;
  uint8_t has_backgrounds;
  uint8_t is_monochrome;
  uint8_t has_one_theme;
  uint8_t generates_assets;
  uint8_t paints_velocity;
} procgen_rules;

/* The library writes into it for as long as the handle lives, so it never moves. */
typedef struct procgen_play {
  const procgen_rules *rules;
  libenv_handle *handle; /* null: none yet, or it is of no more use */

  /* the handle's buffers */
  int32_t action;
  float reward;
  int32_t prev_level_seed;
  int32_t level_seed;
  uint8_t prev_level_complete;
  uint8_t first; /* the last step ended an episode: the frame is that of a new level */
  uint8_t frame[PROCGEN_FRAME];
  uint8_t *picture; /* PROCGEN_PICTURE bytes, which are untouched until something is drawn */

  /* what plays the episode again: its first level, the actions since then, and what was carried
   * into it */
  int32_t level;
  pp_record actions; /* one byte each */
  procgen_carried carried;
  int32_t level_steps; /* since the present level began */
} procgen_play;

int procgen_play_init(procgen_play *it, const procgen_rules *rules, pp_error *error);
void procgen_play_fini(procgen_play *it);

/* Makes the game anew, as the environment with this index of a handle with this rand_seed. */
int procgen_play_start(procgen_play *it, uint32_t rand_seed, int32_t index, pp_error *error);

/* Makes the game anew, at the beginning of an episode with it->level and it->carried. */
int procgen_play_resume(procgen_play *it, pp_error *error);

/* Goes on to the next episode, if the present one has begun. */
int procgen_play_next(procgen_play *it, pp_error *error);

/* Advances by one action, which must be recorded already. */
void procgen_play_step(procgen_play *it, uint8_t action);

/* Draws the present frame into it->picture. */
void procgen_play_draw(procgen_play *it);

/* Gives the handle up. */
void procgen_play_stop(procgen_play *it);

#endif
