/* ALE vector: the environments of ale-py 0.12.1's AtariVectorEnv, all games in one definition.
 *
 * Each returns the bits of that class for the same options, seed and actions: FIRE and no-ops of a
 * reset, frame skip, pooling, resize, stack, clipped rewards, frame counts. The rules were found by
 * running it. Only parallel_pool/_apis/ale/vector_env.py makes these environments. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mt19937.h"
#include "base/state_check.h"
#include "console_check.h"
#include "frame_count.h"
#include "picture/preprocessing.h"
#include "picture/screen.h"
#include "pp_env.h"
#include "setup.h"

/* --------------------------------------------------------------------------------- constants -- */

enum {
  MAX_STACK = 1024,
  MAX_COUNT = 100000, /* of frames in one step, and of no-ops in a reset */
};

enum {
  GAME,
  MAX_FRAMES,
  STICKY,
  FULL_ACTION_SPACE,
  CONTINUOUS,
  IMG_HEIGHT,
  IMG_WIDTH,
  GRAYSCALE,
  STACK_NUM,
  FRAMESKIP,
  MAXPOOL,
  NOOP_MAX,
  EPISODIC_LIFE,
  LIFE_LOSS_INFO,
  REWARD_CLIPPING,
  USE_FIRE_RESET,
  ROM,
  NUM_OPTIONS
};

/* All but LOST_LIFE are observations, so that they can be read at any time. LOST_LIFE marks the
 * steps that life_loss_info reports as terminations although the game continues. */
enum { OBS, LIVES, FRAMES, EPISODE_FRAMES, LOST_LIFE, NUM_FIELDS };

static const pp_option options[NUM_OPTIONS] = {
    [GAME] = {.name = "game",
              .type = PP_OPT_STRING,
              .required = true,
              .doc = "ale-py's name of the game, as in space_invaders"},
    [MAX_FRAMES] =
        PP_INT_OPTION("max_num_frames_per_episode", 108000, 1, INT32_MAX,
                      "frames that truncate an episode; those of its reset are not counted"),
    [STICKY] = PP_STICKY_OPTION(0),
    [FULL_ACTION_SPACE] = PP_FULL_ACTION_SPACE_OPTION,
    [CONTINUOUS] = PP_BOOL_OPTION(
        "continuous", false, "an action is its number and how far a paddle turns, both float32"),
    [IMG_HEIGHT] = PP_IMG_HEIGHT_OPTION,
    [IMG_WIDTH] = PP_IMG_WIDTH_OPTION,
    [GRAYSCALE] =
        PP_BOOL_OPTION("grayscale", true, "luminance; otherwise red, green and blue of each pixel"),
    [STACK_NUM] =
        PP_INT_OPTION("stack_num", 4, 1, MAX_STACK, "frames in one observation, oldest first"),
    [FRAMESKIP] = PP_INT_OPTION("frameskip", 4, 1, MAX_COUNT, "frames of the game in one step"),
    [MAXPOOL] = PP_BOOL_OPTION("maxpool", true,
                               "show the brighter of a step's last two frames, pixel by pixel"),
    [NOOP_MAX] =
        PP_INT_OPTION("noop_max", 30, 1, MAX_COUNT,
                      "a reset plays fewer frames than this; FIRE, if used, is played in any case"),
    [EPISODIC_LIFE] =
        PP_BOOL_OPTION("episodic_life", false, "a lost life ends the episode and the game"),
    [LIFE_LOSS_INFO] =
        PP_BOOL_OPTION("life_loss_info", false,
                       "a lost life is reported as a termination, but the game continues"),
    [REWARD_CLIPPING] = PP_BOOL_OPTION("reward_clipping", true, "rewards are -1, 0 or 1"),
    [USE_FIRE_RESET] =
        PP_BOOL_OPTION("use_fire_reset", true, "a reset begins with FIRE, if the game has it"),
    [ROM] = {.name = "rom", .type = PP_OPT_BYTES, .required = true, .doc = "the game's program"},
};

/* configure fills in what depends on options */
static const pp_field fields[NUM_FIELDS] = {
    [OBS] = {.name = "obs", .dtype = PP_UINT8, .ndim = 3, .low = 0, .high = 255},
    [LIVES] = {.name = "lives", .dtype = PP_INT32, .low = INT32_MIN, .high = INT32_MAX},
    [FRAMES] = {.name = "frame_number", .dtype = PP_INT32, .low = 0, .high = INT32_MAX},
    [EPISODE_FRAMES] = {.name = "episode_frame_number",
                        .dtype = PP_INT32,
                        .low = 0,
                        .high = INT32_MAX},
    [LOST_LIFE] = {.name = "lost_life", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL},
};

/* -------------------------------------------------------------------------------------- data -- */

/* what all environments of a pool share */
typedef struct shared_data {
  pp_setup setup;
  pp_preprocessor preprocessor;
  int32_t frameskip, max_frames;
  uint32_t noop_max;
  uint8_t is_continuous, pools, fires, clips;
  uint8_t ends_on_life_loss, reports_life_loss;
} shared_data;

/* plain data, so that a copy is a snapshot */
typedef struct play {
  pp_counted_console counted;
  pp_mt19937 noop_random;
  int32_t elapsed;   /* frames of the episode's steps */
  int32_t lives;     /* after the last step or reset */
  uint8_t lost_life; /* a life was lost in the last step, which did not end the episode */
  pp_frames frames;
} play;

/* ------------------------------------------------------------------------------------- reset -- */

static void power_up(const pp_env *env, uint32_t seed) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  pp_counted_power_up(&self->counted, &shared->setup, seed, env->options[STICKY].f);
  pp_mt19937_seed(&self->noop_random, seed);
}

static int init(pp_env *env) {
  play *self = env->state;
  pp_console_use_cache(&self->counted.console, env->cache);
  return PP_OK;
}

static int seed(pp_env *env, const pp_seed *words) {
  // a longer seed is fresh entropy, of which the generators take 32 bits
  power_up(env, words->words[0]);
  return PP_OK;
}

/* Plays FIRE, if the options ask for it and the game has it, and the no-ops of a reset. FIRE counts
 * as one of them. */
static void play_opening(const shared_data *shared, play *self) {
  int64_t noops = (int64_t)pp_mt19937_below(&self->noop_random, shared->noop_max) - shared->fires;
  if (shared->fires)
    pp_counted_act(&self->counted, &shared->setup, (pp_move){PP_FIRE, 1}, noops <= 0);
  for (int64_t i = 0; i < noops; i++) {
    pp_counted_act(&self->counted, &shared->setup, (pp_move){PP_NOOP, 1}, i + 1 == noops);
    if (pp_counted_game_over(&self->counted)) pp_counted_begin_game(&self->counted, &shared->setup);
  }
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  const shared_data *shared = env->shared;
  play *self = env->state;
  if (!self->counted.has_power) power_up(env, 0);
  self->counted.console.sticky = (float)env->options[STICKY].f;
  pp_counted_begin_game(&self->counted, &shared->setup);
  play_opening(shared, self);
  self->elapsed = 0;
  self->lives = pp_counted_lives(&self->counted);
  self->lost_life = 0;
  pp_counted_screen(&self->counted, &shared->setup);
  pp_frames_start(&self->frames, &shared->preprocessor, &self->counted.console);
  return PP_OK;
}

/* -------------------------------------------------------------------------------------- step -- */

static pp_move read_move(const shared_data *shared, const void *action) {
  if (!shared->is_continuous) return (pp_move){shared->setup.actions[*(const int64_t *)action], 1};
  const float *parts = action;
  int last = shared->setup.num_actions - 1;
  // parallel_pool/_apis/ale/vector_env.py makes these numbers
  int number = parts[0] > 0 ? (int)fminf(parts[0], (float)last) : 0;
  return (pp_move){shared->setup.actions[number], parts[1]};
}

static bool lives_lost(const play *self) {
  int lives = pp_counted_lives(&self->counted);
  return 0 < lives && lives < self->lives;
}

static bool has_ended(const shared_data *shared, const play *self) {
  return pp_counted_game_over(&self->counted) || self->elapsed >= shared->max_frames ||
         (shared->ends_on_life_loss && lives_lost(self));
}

/* Plays one step's frames and returns their rewards. A frame that ends the episode is not shown. */
static int64_t play_frames(const shared_data *shared, play *self, pp_move move) {
  pp_console *console = &self->counted.console;
  uint8_t kept[PP_SCREEN_BYTES];
  const uint8_t *first = NULL;
  int64_t reward = 0;
  for (int32_t left = shared->frameskip - 1; left >= 0; left--) {
    bool is_shown = left <= shared->pools;
    reward += pp_counted_act(&self->counted, &shared->setup, move, is_shown);
    self->elapsed++;
    if (shared->pools && left == 0 && !first) first = pp_console_screen_before(console);
    if (has_ended(shared, self)) {
      pp_frames_cut(&self->frames, &shared->preprocessor, first);
      break;
    }
    const uint8_t *screen = is_shown ? pp_counted_screen(&self->counted, &shared->setup) : NULL;
    if (left == 0) {
      pp_frames_add(&self->frames, &shared->preprocessor, console, first);
    } else if (is_shown && pp_console_is_mid_frame(console)) {
      // the next frame continues this one, in the same screen
      first = memcpy(kept, screen, sizeof(kept));
    }
  }
  return reward;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  int status = pp_console_check_power(env, self->counted.has_power);
  if (status < 0) return status;
  int64_t reward = play_frames(shared, self, read_move(shared, action));
  bool ended = has_ended(shared, self);
  bool is_terminal = pp_counted_game_over(&self->counted) ||
                     ((shared->ends_on_life_loss || shared->reports_life_loss) && lives_lost(self));
  result->terminated = ended && is_terminal;
  result->truncated = ended && !is_terminal;
  self->lost_life = !ended && is_terminal;
  self->lives = pp_counted_lives(&self->counted);
  if (shared->clips) reward = (reward > 0) - (reward < 0);
  result->reward[0] = (double)reward;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const shared_data *shared = env->shared;
  play *self = env->state;
  if (rows[OBS]) pp_frames_show(&self->frames, &shared->preprocessor, rows[OBS]);
  if (rows[LIVES]) *(int32_t *)rows[LIVES] = pp_counted_lives(&self->counted);
  if (rows[FRAMES]) *(int32_t *)rows[FRAMES] = (int32_t)self->counted.frames;
  if (rows[EPISODE_FRAMES])
    *(int32_t *)rows[EPISODE_FRAMES] = (int32_t)self->counted.episode_frames;
  if (rows[LOST_LIFE]) *(uint8_t *)rows[LOST_LIFE] = self->lost_life;
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const shared_data *shared = env->shared;
  const play *self = saved->state, *present = env->state;
  bool is_possible = pp_counted_check(env, &self->counted, &present->counted, &shared->setup) &&
                     pp_state_check_mt19937(env, &self->noop_random) &&
                     pp_state_check_range(env, "elapsed", self->elapsed, 0, shared->max_frames) &&
                     pp_frames_check(env, &self->frames, &shared->preprocessor);
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

static int render(pp_env *env, pp_image *image) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  return pp_setup_render(&shared->setup, &self->counted.console, image);
}

/* ----------------------------------------------------------------------------- configuration -- */

static void release(void *memory) {
  shared_data *shared = memory;
  pp_setup_fini(&shared->setup);
  pp_screen_destroy(shared->preprocessor.screen);
  free(shared);
}

static int make_setup(pp_config *config, shared_data *shared) {
  const pp_value *values = config->options;
  const pp_setup_options chosen = {
      .rom = &values[ROM],
      .mode = -1,
      .difficulty = -1,
      .full_action_space = values[FULL_ACTION_SPACE].i || values[CONTINUOUS].i,
  };
  return pp_setup_init(&shared->setup, config, values[GAME].s, &chosen);
}

static int make_preprocessor(const pp_value *values, shared_data *shared) {
  const pp_screen_options screen = {
      .rows = shared->setup.cartridge->lines,
      .height = (int)values[IMG_HEIGHT].i,
      .width = (int)values[IMG_WIDTH].i,
      .gray = values[GRAYSCALE].i != 0,
      .area = true,
  };
  shared->preprocessor.stack = (int32_t)values[STACK_NUM].i;
  shared->preprocessor.pads_zero = true;
  return pp_setup_make_screen(&shared->setup, screen, &shared->preprocessor.screen);
}

static void read_options(const pp_value *values, shared_data *shared) {
  shared->frameskip = (int32_t)values[FRAMESKIP].i;
  shared->max_frames = (int32_t)values[MAX_FRAMES].i;
  shared->noop_max = (uint32_t)values[NOOP_MAX].i;
  shared->is_continuous = values[CONTINUOUS].i != 0;
  shared->pools = values[MAXPOOL].i && shared->frameskip > 1;
  shared->fires = values[USE_FIRE_RESET].i && pp_setup_has_action(&shared->setup, PP_FIRE);
  shared->clips = values[REWARD_CLIPPING].i != 0;
  shared->ends_on_life_loss = values[EPISODIC_LIFE].i != 0;
  shared->reports_life_loss = values[LIFE_LOSS_INFO].i != 0;
}

static void describe(pp_config *config, const shared_data *shared) {
  pp_field *obs = &config->fields[OBS];
  obs->shape[0] = shared->preprocessor.stack;
  obs->shape[1] = config->options[IMG_HEIGHT].i;
  obs->shape[2] = config->options[IMG_WIDTH].i;
  if (shared->preprocessor.screen->planes > 1)
    obs->shape[obs->ndim++] = shared->preprocessor.screen->planes;
  config->action.n = shared->setup.num_actions;
  if (shared->is_continuous) {
    config->action = (pp_field){
        .name = "action", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .high = PP_ACTIONS - 1};
  }
  config->state_size = offsetof(play, frames) + pp_frames_size(&shared->preprocessor);
  config->cache_size = sizeof(pp_line_cache);
}

static int configure(pp_config *config) {
  shared_data *shared = calloc(1, sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  int status = make_setup(config, shared);
  if (status >= 0) status = make_preprocessor(config->options, shared);
  if (status < 0) {
    release(shared);
    return status;
  }
  read_options(config->options, shared);
  describe(config, shared);
  config->shared = shared;
  return PP_OK;
}

/* -------------------------------------------------------------------------------- definition -- */

const pp_env_def pp_env_ale_vector = {
    PP_ATARI_DEF(options, NUM_OPTIONS),
    .id = "_AleVector-v0",
    .family = "ale_vector",
    .reference = "ale-py 0.12.1 AtariVectorEnv",
};
