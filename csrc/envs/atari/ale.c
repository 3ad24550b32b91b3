/* ALE: the environments ALE/<Game>-v5: Atari 2600 games with the API of ale-py 0.12.1's AtariEnv.
 *
 * Each returns the bits of gymnasium.make("ALE/<Game>-v5") with the same options, seed and actions:
 * screens or RAM, fixed or random frame skip, sticky and continuous actions, frame counts; and with
 * preprocessing=True those of Gymnasium's AtariPreprocessing and FrameStackObservation around it.
 * The rules were found by running AtariEnv. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ale_options.h"
#include "base/random.h"
#include "console_check.h"
#include "frame_count.h"
#include "picture/preprocessing.h"
#include "picture/screen.h"
#include "pp_env.h"

/* -------------------------------------------------------------------------------------- data -- */

/* the RAM comes last, because only the option ram_info adds it */
enum { OBS, LIVES, EPISODE_FRAMES, FRAMES, RAM, NUM_FIELDS };

/* configure fills in what depends on options */
static const pp_field fields[NUM_FIELDS] = {
    [OBS] = {.name = "obs", .dtype = PP_UINT8, .low = 0, .high = 255},
    [LIVES] = {.name = "lives", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
    [EPISODE_FRAMES] = {.name = "episode_frame_number",
                        .is_info = true,
                        .when = PP_ALWAYS,
                        .dtype = PP_INT64},
    [FRAMES] = {.name = "frame_number", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
    [RAM] = PP_RAM_FIELD,
};

/* plain data, so that a copy is a snapshot */
typedef struct play {
  pp_counted_console counted;
  uint8_t truncated; /* by max_num_frames_per_episode: the console runs no more frames */
  uint8_t is_seeded; /* no game has been played since the last seed */
  uint32_t seeds[2]; /* of the generator of frame skips, and of ALE's */
  int32_t lives;     /* after the last reset or step of AtariEnv, for preprocessing */
  pp_frames frames;  /* part of the state only if is_preprocessed */
} play;

/* ------------------------------------------------------------------------------------- seeds -- */

/* Seeds the generator of frame skips with the first number of the seed sequence, and ALE's with the
 * second. */
static void seed_both(pp_env *env) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  pp_rng_seed(env->rng, &self->seeds[0], 1);
  pp_counted_power_up(&self->counted, &shared->setup, self->seeds[1], pp_ale_options_sticky(env));
}

static int init(pp_env *env) {
  play *self = env->state;
  pp_console_use_cache(&self->counted.console, env->cache);
  return PP_OK;
}

static int seed(pp_env *env, const pp_seed *words) {
  play *self = env->state;
  uint32_t state[PP_SEED_OUTPUT];
  pp_seed_expand(words->words, words->num_words, state);
  memcpy(self->seeds, state, sizeof(self->seeds));
  seed_both(env);
  self->is_seeded = 1;
  return PP_OK;
}

/* ---------------------------------------------------------------------------------- AtariEnv -- */

static void begin_game(const pp_ale_options *shared, play *self) {
  pp_counted_begin_game(&self->counted, &shared->setup);
  self->truncated = 0;
}

/* Runs one frame, unless the episode was truncated; returns its reward. */
static int run_frame(const pp_ale_options *shared, play *self, pp_move move, bool draw) {
  pp_counted_console *counted = &self->counted;
  if (self->truncated) {
    pp_console_hold(&counted->console, move.action, move.strength);
    return 0;
  }
  int reward = pp_counted_act(counted, &shared->setup, move, draw);
  self->truncated = shared->max_frames > 0 && counted->episode_frames >= shared->max_frames;
  return reward;
}

/* Plays one step of AtariEnv and returns its reward. draw: the last frame's screen may be read. */
static int64_t play_step(pp_env *env, pp_move move, bool draw) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  int64_t skip = shared->skip;
  if (shared->skip_end) skip = pp_rng_integers(env->rng, shared->skip, shared->skip_end);
  int64_t reward = 0;
  for (int64_t left = skip; left > 0; left--) {
    reward += run_frame(shared, self, move, draw && left == 1);
  }
  return reward;
}

static bool has_ended(const play *self) {
  return self->truncated || pp_counted_game_over(&self->counted);
}

/* ------------------------------------------------------------------------ AtariPreprocessing -- */

/* Plays the no-op steps with which a reset of AtariPreprocessing begins, and makes the first
 * frame. */
static void begin_frames(pp_env *env) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  int64_t noops = 0;
  if (shared->noop_max) noops = pp_rng_integers(env->rng, 1, (int64_t)shared->noop_max + 1);
  for (int64_t i = 1; i <= noops; i++) {
    play_step(env, (pp_move){shared->setup.actions[0], 1}, i == noops);
    if (!has_ended(self)) continue;
    // the wrapper resets with the same seed
    if (self->is_seeded) seed_both(env);
    begin_game(shared, self);
  }
  self->lives = pp_counted_lives(&self->counted);
  pp_counted_screen(&self->counted, &shared->setup);
  pp_frames_start(&self->frames, &shared->preprocessor, &self->counted.console);
}

/* Returns the last screen, which is to be pooled with that of the next step of AtariEnv: a copy in
 * `kept` if that step may draw over it, otherwise NULL. */
static const uint8_t *keep_screen(const pp_ale_options *shared, play *self, uint8_t *kept) {
  const uint8_t *screen = pp_counted_screen(&self->counted, &shared->setup);
  bool is_one_frame = shared->skip == 1 && !shared->skip_end;
  if (is_one_frame && !pp_console_is_mid_frame(&self->counted.console)) return NULL;
  return memcpy(kept, screen, PP_SCREEN_BYTES);
}

/* Plays one step of AtariPreprocessing, which is several steps of AtariEnv, and adds its reward.
 * Returns whether a lost life ended the episode. */
static bool preprocessed_step(pp_env *env, pp_move move, double *reward) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  pp_console *console = &self->counted.console;
  uint8_t kept[PP_SCREEN_BYTES];
  const uint8_t *first = NULL;
  for (int32_t left = shared->frame_skip - 1; left >= 0; left--) {
    *reward += (double)play_step(env, move, left <= 1);
    int lives = pp_counted_lives(&self->counted);
    bool lost_life = shared->ends_on_life_loss && lives < self->lives;
    self->lives = lives;
    bool is_second = left == 0 && shared->frame_skip > 1;
    if (is_second && !first) first = pp_console_screen_before(console);
    if (lost_life || has_ended(self)) {
      pp_frames_cut(&self->frames, &shared->preprocessor, first);
      return lost_life;
    }
    if (left == 1) first = keep_screen(shared, self, kept);
  }
  pp_counted_screen(&self->counted, &shared->setup);
  pp_frames_add(&self->frames, &shared->preprocessor, console, first);
  return false;
}

/* ---------------------------------------------------------------------------- reset and step -- */

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  double sticky = pp_ale_options_sticky(env);
  if (!self->counted.has_power) pp_counted_power_up(&self->counted, &shared->setup, 0, sticky);
  self->counted.console.sticky = (float)sticky;
  begin_game(shared, self);
  if (shared->is_preprocessed) begin_frames(env);
  self->is_seeded = 0;
  return PP_OK;
}

static pp_move read_move(const pp_ale_options *shared, const void *action) {
  if (shared->is_continuous) return pp_move_of_stick(action, shared->threshold);
  return (pp_move){shared->setup.actions[*(const int64_t *)action], 1};
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  int status = pp_console_check_power(env, self->counted.has_power);
  if (status < 0) return status;
  pp_move move = read_move(shared, action);
  bool lost_life = false;
  if (shared->is_preprocessed) {
    lost_life = preprocessed_step(env, move, result->reward);
  } else {
    result->reward[0] = (double)play_step(env, move, shared->view != PP_ALE_RAM);
  }
  result->terminated = lost_life || pp_counted_game_over(&self->counted);
  result->truncated = self->truncated;
  return PP_OK;
}

/* ------------------------------------------------------------------------------ observations -- */

static void write_observation(const pp_ale_options *shared, play *self, uint8_t *row) {
  if (shared->is_preprocessed) {
    pp_frames_show(&self->frames, &shared->preprocessor, row);
    return;
  }
  if (shared->view == PP_ALE_RAM) {
    memcpy(row, pp_console_ram(&self->counted.console), PP_RAM_BYTES);
    return;
  }
  const uint8_t *screen = pp_counted_screen(&self->counted, &shared->setup);
  if (shared->view == PP_ALE_GRAY) {
    pp_screen_frame(shared->screen, screen, NULL, NULL, row);
  } else {
    pp_setup_color(&shared->setup, screen, row);
  }
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  if (rows[OBS]) write_observation(shared, self, rows[OBS]);
  if (rows[LIVES]) *(int64_t *)rows[LIVES] = pp_counted_lives(&self->counted);
  if (rows[EPISODE_FRAMES]) *(int64_t *)rows[EPISODE_FRAMES] = self->counted.episode_frames;
  if (rows[FRAMES]) *(int64_t *)rows[FRAMES] = self->counted.frames;
  if (shared->has_ram_info && rows[RAM]) {
    memcpy(rows[RAM], pp_console_ram(&self->counted.console), PP_RAM_BYTES);
  }
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const pp_ale_options *shared = env->shared;
  const play *self = saved->state, *present = env->state;
  bool is_possible =
      pp_counted_check(env, &self->counted, &present->counted, &shared->setup) &&
      (!shared->is_preprocessed || pp_frames_check(env, &self->frames, &shared->preprocessor));
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

static int render(pp_env *env, pp_image *image) {
  const pp_ale_options *shared = env->shared;
  play *self = env->state;
  return pp_setup_render(&shared->setup, &self->counted.console, image);
}

/* ----------------------------------------------------------------------------- configuration -- */

static void release(void *shared) {
  pp_ale_options_destroy(shared);
}

static int configure(pp_config *config) {
  pp_ale_options *shared;
  int status = pp_ale_options_create(config, &shared);
  if (status < 0) return status;
  config->state_size = offsetof(play, frames);
  if (shared->is_preprocessed) config->state_size += pp_frames_size(&shared->preprocessor);
  config->cache_size = sizeof(pp_line_cache);
  config->num_fields = shared->has_ram_info ? NUM_FIELDS : RAM;
  config->shared = shared;
  return PP_OK;
}

/* ------------------------------------------------------------------------------- definitions -- */

/* everything but the names is the same for all games */
#define GAME(game, envpool_word, ale_word, ...)           \
  {PP_ATARI_DEF(pp_ale_option_table, PP_ALE_NUM_OPTIONS), \
   .id = "ALE/" ale_word "-v5",                           \
   .family = "ale",                                       \
   .variant = #game,                                      \
   .reference = "ale-py 0.12.1 ALE/" ale_word "-v5",      \
   .state_size = sizeof(play)},

const pp_env_def pp_env_ale[PP_GAME_COUNT] = {
#include "games/table.def"
};
