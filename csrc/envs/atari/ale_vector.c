// ale_vector.c: the environments of ale-py 0.12.1's AtariVectorEnv, all games in one definition.
//
// Each returns the bits of that class for the same options, seed and actions: FIRE and no-ops of a
// reset, frame skip, pooling, resize, stack, clipped rewards, counts of frames. The rules were
// found by running it. Its face (parallel_pool/compat/ale.py) is the only one that shows them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_common.h"
#include "base/mt19937.h"
#include "frame_count.h"
#include "picture/preprocessing.h"
#include "picture/screen.h"
#include "pp_env.h"

// ----------------------------------------------------------------------------- constants

enum {
  MAX_STACK = 1024,
  MAX_COUNT = 100000,  // of frames in one step, and of no-ops in a reset
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

// All but the last are observations, so that they can be asked for at any time. LOST_LIFE is there
// for steps that life_loss_info calls terminations although the game goes on.
enum { OBS, LIVES, FRAMES, EPISODE_FRAMES, LOST_LIFE, NUM_FIELDS };

static const pp_option options[NUM_OPTIONS] = {
    [GAME] = {.name = "game",
              .type = PP_OPT_STRING,
              .required = 1,
              .doc = "ale-py's name of the game, as in space_invaders"},
    [MAX_FRAMES] = {.name = "max_num_frames_per_episode",
                    .type = PP_OPT_INT,
                    .number = 108000,
                    .low = 1,
                    .high = INT32_MAX,
                    .doc = "frames that truncate an episode, those of its reset not counted"},
    [STICKY] = {.name = "repeat_action_probability",
                .type = PP_OPT_FLOAT,
                .number = 0,
                .low = 0,
                .high = 1,
                .doc = "probability that a frame repeats the previous action"},
    [FULL_ACTION_SPACE] = {.name = "full_action_space",
                           .type = PP_OPT_BOOL,
                           .doc = "all 18 actions instead of those that the game uses"},
    [CONTINUOUS] = {.name = "continuous",
                    .type = PP_OPT_BOOL,
                    .doc = "an action is its number and how far a paddle turns, both float32"},
    [IMG_HEIGHT] = {.name = "img_height",
                    .type = PP_OPT_INT,
                    .number = 84,
                    .low = 1,
                    .high = PP_RESIZE_MAX_SIDE,
                    .doc = "rows of a frame"},
    [IMG_WIDTH] = {.name = "img_width",
                   .type = PP_OPT_INT,
                   .number = 84,
                   .low = 1,
                   .high = PP_RESIZE_MAX_SIDE,
                   .doc = "columns of a frame"},
    [GRAYSCALE] = {.name = "grayscale",
                   .type = PP_OPT_BOOL,
                   .number = 1,
                   .doc = "luminance, else red, green and blue of each pixel"},
    [STACK_NUM] = {.name = "stack_num",
                   .type = PP_OPT_INT,
                   .number = 4,
                   .low = 1,
                   .high = MAX_STACK,
                   .doc = "frames in one observation, oldest first"},
    [FRAMESKIP] = {.name = "frameskip",
                   .type = PP_OPT_INT,
                   .number = 4,
                   .low = 1,
                   .high = MAX_COUNT,
                   .doc = "frames of the game in one step"},
    [MAXPOOL] = {.name = "maxpool",
                 .type = PP_OPT_BOOL,
                 .number = 1,
                 .doc = "show the brighter of a step's last two frames, pixel by pixel"},
    [NOOP_MAX] = {.name = "noop_max",
                  .type = PP_OPT_INT,
                  .number = 30,
                  .low = 1,
                  .high = MAX_COUNT,
                  .doc = "a reset plays fewer frames than this, FIRE among them"},
    [EPISODIC_LIFE] = {.name = "episodic_life",
                       .type = PP_OPT_BOOL,
                       .doc = "a lost life ends the episode, and with it the game"},
    [LIFE_LOSS_INFO] = {.name = "life_loss_info",
                        .type = PP_OPT_BOOL,
                        .doc = "a lost life shows as a termination, but the game goes on"},
    [REWARD_CLIPPING] = {.name = "reward_clipping",
                         .type = PP_OPT_BOOL,
                         .number = 1,
                         .doc = "rewards -1, 0 and 1"},
    [USE_FIRE_RESET] = {.name = "use_fire_reset",
                        .type = PP_OPT_BOOL,
                        .number = 1,
                        .doc = "a reset begins with FIRE, if the game has it"},
    [ROM] = {.name = "rom", .type = PP_OPT_BYTES, .required = 1, .doc = "the game's program"},
};

// configure fills in what depends on options
static const pp_field fields[NUM_FIELDS] = {
    [OBS] = {.name = "obs", .dtype = PP_UINT8, .ndim = 3, .low = 0, .high = 255},
    [LIVES] = {.name = "lives", .dtype = PP_INT32, .low = INT32_MIN, .high = INT32_MAX},
    [FRAMES] = {.name = "frame_number", .dtype = PP_INT32, .low = 0, .high = INT32_MAX},
    [EPISODE_FRAMES] = {.name = "episode_frame_number",
                        .dtype = PP_INT32,
                        .low = 0,
                        .high = INT32_MAX},
    [LOST_LIFE] = {.name = "lost_life", .is_info = 1, .when = PP_ALWAYS, .dtype = PP_BOOL},
};

// ---------------------------------------------------------------------------------- data

// what all environments of a pool share
typedef struct hall {
  pp_arcade arcade;
  pp_camera camera;
  int32_t frameskip, max_frames;
  uint32_t noop_max;
  uint8_t is_continuous, pools, fires, clips;
  uint8_t ends_on_life_loss, tells_life_loss;
} hall;

// plain data, so that a copy is a snapshot
typedef struct play {
  pp_cabinet cabinet;
  pp_mt19937 noop_random;
  int32_t elapsed;    // frames of the episode's steps
  int32_t lives;      // after the last step or reset
  uint8_t lost_life;  // in the last step, which did not end the episode
  pp_film film;
} play;

// --------------------------------------------------------------------------------- reset

static void power_up(const hall *shared, play *self, uint32_t seed) {
  pp_cabinet_power_up(&self->cabinet, &shared->arcade, seed);
  pp_mt19937_seed(&self->noop_random, seed);
}

static int seed(pp_env *env, const pp_seed *words) {
  // a longer seed is fresh entropy; the generators take 32 bits of it
  power_up(env->shared, env->state, words->words[0]);
  return PP_OK;
}

// FIRE is the first of the frames that a reset plays, and counts as one of them.
static void play_opening(const hall *shared, play *self) {
  int64_t noops = (int64_t)pp_mt19937_below(&self->noop_random, shared->noop_max) - shared->fires;
  if (shared->fires)
    pp_cabinet_act(&self->cabinet, &shared->arcade, (pp_move){PP_FIRE, 1}, noops <= 0);
  for (int64_t i = 0; i < noops; i++) {
    pp_cabinet_act(&self->cabinet, &shared->arcade, (pp_move){PP_NOOP, 1}, i + 1 == noops);
    if (pp_cabinet_game_over(&self->cabinet))
      pp_cabinet_begin_game(&self->cabinet, &shared->arcade);
  }
}

static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)how;
  (void)result;
  const hall *shared = env->shared;
  play *self = env->state;
  if (!self->cabinet.has_power) power_up(shared, self, 0);
  pp_cabinet_begin_game(&self->cabinet, &shared->arcade);
  play_opening(shared, self);
  self->elapsed = 0;
  self->lives = pp_cabinet_lives(&self->cabinet);
  self->lost_life = 0;
  const uint8_t *screen = pp_cabinet_screen(&self->cabinet, &shared->arcade);
  pp_film_start(&self->film, &shared->camera, screen);
  return PP_OK;
}

// ---------------------------------------------------------------------------------- step

static pp_move read_move(const hall *shared, const void *action) {
  if (!shared->is_continuous) return (pp_move){shared->arcade.actions[*(const int64_t *)action], 1};
  const float *parts = action;
  int last = shared->arcade.num_actions - 1;
  // the face makes these numbers itself
  int number = parts[0] > 0 ? (int)fminf(parts[0], (float)last) : 0;
  return (pp_move){shared->arcade.actions[number], parts[1]};
}

static int lives_lost(const play *self) {
  int lives = pp_cabinet_lives(&self->cabinet);
  return 0 < lives && lives < self->lives;
}

static int has_ended(const hall *shared, const play *self) {
  return pp_cabinet_game_over(&self->cabinet) || self->elapsed >= shared->max_frames ||
         (shared->ends_on_life_loss && lives_lost(self));
}

// Takes the picture of a frame that is looked at: `left` frames of the step follow it.
static void take_picture(const hall *shared, play *self, int32_t left) {
  const uint8_t *screen = pp_cabinet_screen(&self->cabinet, &shared->arcade);
  if (left == 0) {
    pp_film_take_last(&self->film, &shared->camera, screen, shared->pools);
  } else {
    pp_film_take_first(&self->film, &shared->camera, screen);
  }
}

// Plays one step's frames and returns their rewards. A frame that ends the episode is not seen.
static int64_t play_frames(const hall *shared, play *self, pp_move what) {
  int64_t reward = 0;
  for (int32_t left = shared->frameskip - 1; left >= 0; left--) {
    int is_seen = left <= shared->pools;
    reward += pp_cabinet_act(&self->cabinet, &shared->arcade, what, is_seen);
    self->elapsed++;
    if (has_ended(shared, self)) {
      pp_film_cut(&self->film, &shared->camera, shared->pools && left == 0);
      break;
    }
    if (is_seen) take_picture(shared, self, left);
  }
  return reward;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const hall *shared = env->shared;
  play *self = env->state;
  int64_t reward = play_frames(shared, self, read_move(shared, action));
  int ended = has_ended(shared, self);
  int is_terminal = pp_cabinet_game_over(&self->cabinet) ||
                    ((shared->ends_on_life_loss || shared->tells_life_loss) && lives_lost(self));
  result->terminated = ended && is_terminal;
  result->truncated = ended && !is_terminal;
  self->lost_life = !ended && is_terminal;
  self->lives = pp_cabinet_lives(&self->cabinet);
  if (shared->clips) reward = (reward > 0) - (reward < 0);
  result->reward[0] = (double)reward;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, int32_t is_reset) {
  (void)is_reset;
  const hall *shared = env->shared;
  play *self = env->state;
  if (rows[OBS]) pp_film_show(&self->film, &shared->camera, rows[OBS]);
  if (rows[LIVES]) *(int32_t *)rows[LIVES] = pp_cabinet_lives(&self->cabinet);
  if (rows[FRAMES]) *(int32_t *)rows[FRAMES] = (int32_t)self->cabinet.frames;
  if (rows[EPISODE_FRAMES])
    *(int32_t *)rows[EPISODE_FRAMES] = (int32_t)self->cabinet.episode_frames;
  if (rows[LOST_LIFE]) *(uint8_t *)rows[LOST_LIFE] = self->lost_life;
  return PP_OK;
}

static int render(pp_env *env, pp_image *image) {
  const hall *shared = env->shared;
  play *self = env->state;
  return pp_arcade_render(&shared->arcade, &self->cabinet.console, image);
}

// --------------------------------------------------------------------------- configuration

static void release(void *memory) {
  hall *shared = memory;
  pp_arcade_fini(&shared->arcade);
  pp_screen_destroy(shared->camera.screen);
  free(shared);
}

static int make_arcade(pp_config *config, hall *shared) {
  const pp_value *values = config->options;
  const pp_arcade_options chosen = {
      .rom = &values[ROM],
      .mode = -1,
      .difficulty = -1,
      .sticky = values[STICKY].f,
      .full_action_space = values[FULL_ACTION_SPACE].i || values[CONTINUOUS].i,
  };
  return pp_arcade_init(&shared->arcade, config, values[GAME].s, &chosen);
}

static int make_camera(const pp_value *values, hall *shared) {
  const pp_screen_options screen = {
      .rows = shared->arcade.cartridge->lines,
      .height = (int)values[IMG_HEIGHT].i,
      .width = (int)values[IMG_WIDTH].i,
      .gray = values[GRAYSCALE].i != 0,
      .area = true,
  };
  shared->camera.stack = (int32_t)values[STACK_NUM].i;
  shared->camera.pads_zero = true;
  return pp_arcade_make_screen(&shared->arcade, screen, &shared->camera.screen);
}

static void read_options(const pp_value *values, hall *shared) {
  shared->frameskip = (int32_t)values[FRAMESKIP].i;
  shared->max_frames = (int32_t)values[MAX_FRAMES].i;
  shared->noop_max = (uint32_t)values[NOOP_MAX].i;
  shared->is_continuous = values[CONTINUOUS].i != 0;
  shared->pools = values[MAXPOOL].i && shared->frameskip > 1;
  shared->fires = values[USE_FIRE_RESET].i && pp_arcade_has_action(&shared->arcade, PP_FIRE);
  shared->clips = values[REWARD_CLIPPING].i != 0;
  shared->ends_on_life_loss = values[EPISODIC_LIFE].i != 0;
  shared->tells_life_loss = values[LIFE_LOSS_INFO].i != 0;
}

static void describe(pp_config *config, const hall *shared) {
  pp_field *obs = &config->fields[OBS];
  obs->shape[0] = shared->camera.stack;
  obs->shape[1] = config->options[IMG_HEIGHT].i;
  obs->shape[2] = config->options[IMG_WIDTH].i;
  if (shared->camera.screen->planes > 1) obs->shape[obs->ndim++] = shared->camera.screen->planes;
  config->action.n = shared->arcade.num_actions;
  if (shared->is_continuous) {
    config->action = (pp_field){
        .name = "action", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .high = PP_ACTIONS - 1};
  }
  config->state_size = offsetof(play, film) + pp_film_bytes(&shared->camera);
}

static int configure(pp_config *config) {
  hall *shared = calloc(1, sizeof *shared);
  if (!shared) return PP_ERR_MEMORY;
  int status = make_arcade(config, shared);
  if (status >= 0) status = make_camera(config->options, shared);
  if (status < 0) {
    release(shared);
    return status;
  }
  read_options(config->options, shared);
  describe(config, shared);
  config->shared = shared;
  return PP_OK;
}

// ------------------------------------------------------------------------------ definition

const pp_env_def pp_env_ale_vector = {
    PP_ARCADE_DEF(options, NUM_OPTIONS),
    .id = "_AleVector-v0",
    .family = "ale_vector",
    .reference = "ale-py 0.12.1 AtariVectorEnv",
};
