// ale.c: the environments ALE/<Game>-v5: Atari 2600 games as ale-py 0.12.1's AtariEnv has them.
//
// Each returns the bits of gymnasium.make("ALE/<Game>-v5") with the same options, seed and actions:
// whole screens or RAM, frame skip fixed or drawn, sticky and continuous actions, counts of frames.
// The rules were found by running AtariEnv.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arcade.h"
#include "base/float_trig.h"
#include "base/random.h"
#include "console.h"
#include "film.h"
#include "pp_env.h"
#include "screen.h"

// ----------------------------------------------------------------------------- constants

enum {
  MAX_SKIP = 100000,  // frames of the game in one step
  MAX_STACK = 64,
  RAM_BYTES = 128,
  WIDTH = PP_LINE_PIXELS,
};

enum {
  MODE,
  DIFFICULTY,
  OBS_TYPE,
  FRAMESKIP,
  FRAMESKIP_END,
  STICKY,
  FULL_ACTION_SPACE,
  CONTINUOUS,
  THRESHOLD,
  MAX_FRAMES,
  RAM_INFO,
  PREPROCESSING,
  NOOP_MAX,
  FRAME_SKIP,
  SCREEN_WIDTH,
  SCREEN_HEIGHT,
  LIFE_LOSS,
  GRAY_OBS,
  NEW_AXIS,
  SCALE_OBS,
  STACK_SIZE,
  STACK_ZERO,
  ROM,
  NUM_OPTIONS
};

// the RAM comes last, for it is there on request only
enum { OBS, LIVES, EPISODE_FRAMES, FRAMES, RAM, NUM_FIELDS };

static const pp_option options[NUM_OPTIONS] = {
    [MODE] = {.name = "mode",
              .type = PP_OPT_INT,
              .number = -1,
              .low = -1,
              .high = UINT16_MAX,
              .doc = "the game's mode; -1 or None: its first"},
    [DIFFICULTY] = {.name = "difficulty",
                    .type = PP_OPT_INT,
                    .number = -1,
                    .low = -1,
                    .high = UINT8_MAX,
                    .doc = "the game's difficulty; -1 or None: its first"},
    [OBS_TYPE] = {.name = "obs_type",
                  .type = PP_OPT_STRING,
                  .text = "rgb",
                  .doc = "rgb, grayscale or ram"},
    [FRAMESKIP] = {.name = "frameskip",
                   .type = PP_OPT_INT,
                   .number = 4,
                   .low = 1,
                   .high = MAX_SKIP,
                   .doc = "frames of the game in one step, or a range (low, high) to draw from"},
    [FRAMESKIP_END] = {.name = "frameskip_end",
                       .type = PP_OPT_INT,
                       .number = 0,
                       .low = 0,
                       .high = MAX_SKIP,
                       .doc = "end of such a range, itself never drawn; 0: no range"},
    [STICKY] = {.name = "repeat_action_probability",
                .type = PP_OPT_FLOAT,
                .number = 0.25,
                .low = 0,
                .high = 1,
                .doc = "probability that a frame repeats the previous action"},
    [FULL_ACTION_SPACE] = {.name = "full_action_space",
                           .type = PP_OPT_BOOL,
                           .doc = "all 18 actions instead of those that the game uses"},
    [CONTINUOUS] = {.name = "continuous",
                    .type = PP_OPT_BOOL,
                    .doc = "actions are a stick's radius and angle, and how far FIRE is pressed"},
    [THRESHOLD] = {.name = "continuous_action_threshold",
                   .type = PP_OPT_FLOAT,
                   .number = 0.5,
                   .doc = "beyond it a continuous action counts as a direction, or as FIRE"},
    [MAX_FRAMES] = {.name = "max_num_frames_per_episode",
                    .type = PP_OPT_INT,
                    .number = 108000,
                    .low = INT32_MIN,
                    .high = INT32_MAX,
                    .doc = "frames that truncate an episode; None, 0 and less: no such limit"},
    [RAM_INFO] = {.name = "ram_info",
                  .type = PP_OPT_BOOL,
                  .doc = "adds the console's 128 bytes of RAM to the infos"},
    // the arguments of Gymnasium's AtariPreprocessing and FrameStackObservation
    [PREPROCESSING] = {.name = "preprocessing",
                       .type = PP_OPT_BOOL,
                       .doc = "steps and pictures of gymnasium.wrappers.AtariPreprocessing"},
    [NOOP_MAX] = {.name = "noop_max",
                  .type = PP_OPT_INT,
                  .number = 30,
                  .low = 0,
                  .high = MAX_SKIP,
                  .doc = "most steps without action that a reset may begin with; 0: none"},
    [FRAME_SKIP] = {.name = "frame_skip",
                    .type = PP_OPT_INT,
                    .number = 4,
                    .low = 1,
                    .high = MAX_SKIP,
                    .doc = "steps of the game in one; the last two are pooled"},
    [SCREEN_WIDTH] = {.name = "screen_width",
                      .type = PP_OPT_INT,
                      .number = 84,
                      .low = 1,
                      .high = PP_RESIZE_MAX_SIDE,
                      .doc = "columns of a picture"},
    [SCREEN_HEIGHT] = {.name = "screen_height",
                       .type = PP_OPT_INT,
                       .number = 84,
                       .low = 1,
                       .high = PP_RESIZE_MAX_SIDE,
                       .doc = "rows of a picture"},
    [LIFE_LOSS] = {.name = "terminal_on_life_loss",
                   .type = PP_OPT_BOOL,
                   .doc = "a lost life ends the episode"},
    [GRAY_OBS] = {.name = "grayscale_obs",
                  .type = PP_OPT_BOOL,
                  .number = 1,
                  .doc = "luminance, else red, green and blue"},
    [NEW_AXIS] = {.name = "grayscale_newaxis",
                  .type = PP_OPT_BOOL,
                  .doc = "an axis of one at the end of gray pictures"},
    [SCALE_OBS] = {.name = "scale_obs",
                   .type = PP_OPT_BOOL,
                   .doc = "float32 from 0 to 1, else bytes"},
    [STACK_SIZE] = {.name = "stack_size",
                    .type = PP_OPT_INT,
                    .number = 0,
                    .low = 0,
                    .high = MAX_STACK,
                    .doc = "pictures in one observation, oldest first; 0: one, without an axis"},
    [STACK_ZERO] = {.name = "stack_padding_zero",
                    .type = PP_OPT_BOOL,
                    .doc = "black pictures before a reset's own, else copies of it"},
    [ROM] = {.name = "rom",
             .type = PP_OPT_BYTES,
             .doc = "the game's program; Python takes it from ale-py where it is not given"},
};

// configure fills in what depends on options
static const pp_field fields[NUM_FIELDS] = {
    [OBS] = {.name = "obs", .dtype = PP_UINT8, .low = 0, .high = 255},
    [LIVES] = {.name = "lives", .is_info = 1, .when = PP_ALWAYS, .dtype = PP_INT64},
    [EPISODE_FRAMES] = {.name = "episode_frame_number",
                        .is_info = 1,
                        .when = PP_ALWAYS,
                        .dtype = PP_INT64},
    [FRAMES] = {.name = "frame_number", .is_info = 1, .when = PP_ALWAYS, .dtype = PP_INT64},
    [RAM] = {.name = "ram",
             .is_info = 1,
             .when = PP_ALWAYS,
             .dtype = PP_UINT8,
             .ndim = 1,
             .shape = {RAM_BYTES},
             .high = 255},
};

// ---------------------------------------------------------------------------------- data

typedef enum view { VIEW_RGB, VIEW_GRAY, VIEW_RAM } view;

// what all environments of a pool share
typedef struct hall {
  pp_arcade arcade;
  pp_screen *screen;  // of VIEW_GRAY
  view view;
  int32_t skip, skip_end;  // skip_end 0: always skip frames
  int32_t max_frames;
  float threshold;
  uint8_t color[256][4];  // red, green, blue of each palette index
  uint8_t is_continuous, tells_ram;
  uint8_t is_filmed;  // what follows counts
  uint8_t ends_on_life_loss;
  int32_t frame_skip, noop_max;
  pp_camera camera;
} hall;

// plain data, so that a copy is a snapshot
typedef struct play {
  pp_console console;
  int64_t frames;  // since the console was switched on
  int64_t episode_frames;
  uint8_t has_power;  // the console was switched on
  uint8_t truncated;  // by the limit of frames: the console stands still
  uint8_t is_seeded;  // and nothing was played since
  uint32_t seeds[2];  // of the generator of frame skips, and ALE's
  int32_t lives;      // as far as the film has seen
  pp_film film;       // there is room for it only if is_filmed
} play;

// what a player does for one step
typedef struct move {
  int action;
  float strength;  // how far a paddle turns
} move;

// ------------------------------------------------------------------------------- console

static void power_up(const hall *shared, play *self, uint32_t seed) {
  pp_arcade_load(&shared->arcade, &self->console, seed);
  // the reset that switching on includes is counted, too
  self->frames = self->console.waited;
  self->has_power = 1;
}

// Runs one frame, unless the episode is over; returns its reward.
static int run_frame(const hall *shared, play *self, move what, int draw) {
  pp_console *console = &self->console;
  if (self->truncated) {
    pp_console_wait(console, what.action, what.strength);
    return 0;
  }
  int counts = !pp_console_game_over(console);
  self->frames += counts;
  self->episode_frames += counts;
  self->truncated = shared->max_frames > 0 && self->episode_frames >= shared->max_frames;
  const pp_cartridge *cartridge = shared->arcade.cartridge;
  return pp_console_act_by(console, cartridge, what.action, what.strength, draw);
}

// ------------------------------------------------------------------------------- actions

// ALE's number of each combination of up, none, down (rows) with left, none, right (columns)
static const uint8_t directions[3][3] = {{7, 2, 6}, {4, 0, 3}, {9, 5, 8}};
static const uint8_t directions_firing[3][3] = {{15, 10, 14}, {12, 1, 11}, {17, 13, 16}};

static int side_of(float value, float threshold) {
  return (value > threshold) - (value < -threshold);
}

// a stick held at a radius and an angle, all in float32 as NumPy's scalars have it
static move read_stick(const hall *shared, const float stick[3]) {
  float x = stick[0] * pp_float_cos(stick[1]);
  float y = stick[0] * pp_float_sin(stick[1]);
  int column = 1 + side_of(x, shared->threshold);
  int row = 1 - side_of(y, shared->threshold);
  int fires = stick[2] > shared->threshold;
  int action = fires ? directions_firing[row][column] : directions[row][column];
  // a radius beyond the space turns a paddle by its size, whatever its sign
  return (move){action, fabsf(stick[0])};
}

static move read_move(const hall *shared, const void *action) {
  if (shared->is_continuous) {
    return read_stick(shared, action);
  }
  return (move){shared->arcade.actions[*(const int64_t *)action], 1};
}

// ------------------------------------------------------------------------------- callbacks

// The first number of the sequence seeds the generator of frame skips, the second one ALE's.
static void seed_both(pp_env *env) {
  play *self = env->state;
  pp_rng_seed(env->rng, &self->seeds[0], 1);
  power_up(env->shared, self, self->seeds[1]);
}

static int seed(pp_env *env, const pp_seed *words) {
  play *self = env->state;
  uint32_t state[PP_SEED_OUTPUT];
  pp_seed_expand(words->words, words->num_words, state);
  memcpy(self->seeds, state, sizeof self->seeds);
  seed_both(env);
  self->is_seeded = 1;
  return PP_OK;
}

static void begin_game(const hall *shared, play *self) {
  pp_console_reset_game(&self->console, shared->arcade.cartridge);
  self->episode_frames = self->console.waited;
  self->frames += self->console.waited;
  self->truncated = 0;
}

// One step of AtariEnv; draw: its last frame will be looked at. Returns its reward.
static int64_t play_step(pp_env *env, move what, int draw) {
  const hall *shared = env->shared;
  play *self = env->state;
  int64_t skip = shared->skip;
  if (shared->skip_end) skip = pp_rng_integers(env->rng, shared->skip, shared->skip_end);
  int64_t reward = 0;
  for (int64_t left = skip; left > 0; left--) {
    reward += run_frame(shared, self, what, draw && left == 1);
  }
  return reward;
}

static int has_ended(const play *self) {
  return self->truncated || pp_console_game_over(&self->console);
}

// The steps without action that AtariPreprocessing begins with, and the first picture.
static void begin_film(pp_env *env) {
  const hall *shared = env->shared;
  play *self = env->state;
  int64_t noops = 0;
  if (shared->noop_max) noops = pp_rng_integers(env->rng, 1, (int64_t)shared->noop_max + 1);
  for (int64_t i = 1; i <= noops; i++) {
    play_step(env, (move){shared->arcade.actions[0], 1}, i == noops);
    if (!has_ended(self)) continue;
    // the wrapper resets with the same seed again
    if (self->is_seeded) seed_both(env);
    begin_game(shared, self);
  }
  self->lives = pp_console_lives(&self->console);
  const uint8_t *screen = pp_console_draw(&self->console, shared->arcade.cartridge);
  pp_film_start(&self->film, &shared->camera, screen);
}

static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)how;
  (void)result;
  const hall *shared = env->shared;
  play *self = env->state;
  if (!self->has_power) power_up(shared, self, 0);
  begin_game(shared, self);
  if (shared->is_filmed) begin_film(env);
  self->is_seeded = 0;
  return PP_OK;
}

// A step of AtariPreprocessing: several of AtariEnv. Returns whether a lost life ended the episode.
static int film_step(pp_env *env, move what, double *reward) {
  const hall *shared = env->shared;
  play *self = env->state;
  const int32_t count = shared->frame_skip;
  for (int32_t t = 0; t < count; t++) {
    *reward += (double)play_step(env, what, t >= count - 2);
    int lives = pp_console_lives(&self->console);
    int lost_life = shared->ends_on_life_loss && lives < self->lives;
    self->lives = lives;
    if (lost_life || has_ended(self)) {
      pp_film_cut(&self->film, &shared->camera, t > 0 && t == count - 1);
      return lost_life;
    }
    if (t < count - 2) continue;
    const uint8_t *screen = pp_console_draw(&self->console, shared->arcade.cartridge);
    if (t == count - 2) {
      pp_film_take_first(&self->film, &shared->camera, screen);
    } else {
      pp_film_take_last(&self->film, &shared->camera, screen, count > 1);
    }
  }
  return 0;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const hall *shared = env->shared;
  play *self = env->state;
  move what = read_move(shared, action);
  int lost_life = 0;
  if (shared->is_filmed) {
    lost_life = film_step(env, what, result->reward);
  } else {
    result->reward[0] = (double)play_step(env, what, shared->view != VIEW_RAM);
  }
  result->terminated = lost_life || pp_console_game_over(&self->console);
  result->truncated = self->truncated;
  return PP_OK;
}

// Writes red, green and blue of each pixel.
static void paint(const hall *shared, const uint8_t *screen, uint8_t *row) {
  const size_t line = WIDTH * 3;
  for (int y = 0; y < shared->arcade.cartridge->lines; y++, screen += WIDTH, row += line) {
    if (y > 0 && memcmp(screen, screen - WIDTH, WIDTH) == 0) {
      memcpy(row, row - line, line);
      continue;
    }
    // four bytes at a time, of which the last is written over by the next pixel
    for (int x = 0; x < WIDTH - 1; x++) memcpy(row + 3 * x, shared->color[screen[x]], 4);
    memcpy(row + 3 * (WIDTH - 1), shared->color[screen[WIDTH - 1]], 3);
  }
}

static void show(const hall *shared, play *self, uint8_t *row) {
  if (shared->is_filmed) {
    pp_film_show(&self->film, &shared->camera, row);
    return;
  }
  if (shared->view == VIEW_RAM) {
    memcpy(row, pp_console_ram(&self->console), RAM_BYTES);
    return;
  }
  const uint8_t *screen = pp_console_draw(&self->console, shared->arcade.cartridge);
  if (shared->view == VIEW_GRAY) {
    pp_screen_frame(shared->screen, screen, NULL, row);
  } else {
    paint(shared, screen, row);
  }
}

static int observe(pp_env *env, void *const *rows, int32_t is_reset) {
  (void)is_reset;
  const hall *shared = env->shared;
  play *self = env->state;
  if (rows[OBS]) show(shared, self, rows[OBS]);
  if (rows[LIVES]) *(int64_t *)rows[LIVES] = pp_console_lives(&self->console);
  if (rows[EPISODE_FRAMES]) *(int64_t *)rows[EPISODE_FRAMES] = self->episode_frames;
  if (rows[FRAMES]) *(int64_t *)rows[FRAMES] = self->frames;
  if (shared->tells_ram && rows[RAM]) memcpy(rows[RAM], pp_console_ram(&self->console), RAM_BYTES);
  return PP_OK;
}

static int render(pp_env *env, pp_image *image) {
  const hall *shared = env->shared;
  play *self = env->state;
  return pp_arcade_render(&shared->arcade, &self->console, image);
}

// --------------------------------------------------------------------------- configuration

static void release(void *memory) {
  hall *shared = memory;
  pp_arcade_fini(&shared->arcade);
  pp_screen_destroy(shared->screen);
  pp_screen_destroy(shared->camera.screen);
  free(shared);
}

static int fail(pp_config *config, const char *text) {
  snprintf(config->error->text, sizeof config->error->text, "%s", text);
  return PP_ERR_ARGUMENT;
}

static int make_arcade(pp_config *config, hall *shared) {
  const pp_value *values = config->options;
  const pp_arcade_options chosen = {
      .rom = &values[ROM],
      .mode = values[MODE].i,
      .difficulty = values[DIFFICULTY].i,
      .sticky = values[STICKY].f,
      // a stick reaches all eighteen
      .full_action_space = values[FULL_ACTION_SPACE].i || values[CONTINUOUS].i,
  };
  return pp_arcade_init(&shared->arcade, config, config->variant, &chosen);
}

static int read_options(pp_config *config, hall *shared) {
  const pp_value *values = config->options;
  const char *kind = values[OBS_TYPE].s;
  if (strcmp(kind, "rgb") == 0) {
    shared->view = VIEW_RGB;
  } else if (strcmp(kind, "grayscale") == 0) {
    shared->view = VIEW_GRAY;
  } else if (strcmp(kind, "ram") == 0) {
    shared->view = VIEW_RAM;
  } else {
    return fail(config, "obs_type: choose rgb, grayscale or ram");
  }
  shared->skip = (int32_t)values[FRAMESKIP].i;
  shared->skip_end = (int32_t)values[FRAMESKIP_END].i;
  if (shared->skip_end && shared->skip_end <= shared->skip) {
    return fail(config, "frameskip=(low, high): choose low < high");
  }
  if (values[PREPROCESSING].i && values[CONTINUOUS].i && values[NOOP_MAX].i) {
    return fail(config, "noop_max with continuous=True: choose noop_max=0");
  }
  shared->max_frames = (int32_t)values[MAX_FRAMES].i;
  shared->threshold = (float)values[THRESHOLD].f;
  shared->is_continuous = values[CONTINUOUS].i != 0;
  shared->tells_ram = values[RAM_INFO].i != 0;
  return PP_OK;
}

static int make_screen(const hall *shared, int height, int width, int gray, pp_screen **out) {
  const pp_screen_options screen = {
      .rows = shared->arcade.cartridge->lines,
      .height = height,
      .width = width,
      .gray = gray,
      .area = true,
  };
  return pp_arcade_make_screen(&shared->arcade, screen, out);
}

static int make_camera(const pp_value *values, hall *shared) {
  pp_camera *camera = &shared->camera;
  shared->is_filmed = 1;
  shared->frame_skip = (int32_t)values[FRAME_SKIP].i;
  shared->noop_max = (int32_t)values[NOOP_MAX].i;
  shared->ends_on_life_loss = values[LIFE_LOSS].i != 0;
  camera->stack = values[STACK_SIZE].i ? (int32_t)values[STACK_SIZE].i : 1;
  camera->pads_zero = values[STACK_ZERO].i != 0;
  camera->scales = values[SCALE_OBS].i != 0;
  for (int i = 0; i < 256; i++) camera->scaled[i] = (float)i / 255.0f;
  return make_screen(shared, (int)values[SCREEN_HEIGHT].i, (int)values[SCREEN_WIDTH].i,
                     values[GRAY_OBS].i != 0, &camera->screen);
}

static int make_view(const pp_value *values, hall *shared) {
  const uint8_t (*palette)[3] = pp_arcade_palette(&shared->arcade);
  for (int i = 0; i < 256; i++) memcpy(shared->color[i], palette[i], 3);
  if (values[PREPROCESSING].i) return make_camera(values, shared);
  if (shared->view != VIEW_GRAY) return PP_OK;
  return make_screen(shared, shared->arcade.cartridge->lines, WIDTH, 1, &shared->screen);
}

static void describe_film(pp_field *obs, const pp_value *values) {
  if (values[STACK_SIZE].i) obs->shape[obs->ndim++] = values[STACK_SIZE].i;
  obs->shape[obs->ndim++] = values[SCREEN_HEIGHT].i;
  obs->shape[obs->ndim++] = values[SCREEN_WIDTH].i;
  if (!values[GRAY_OBS].i || values[NEW_AXIS].i) {
    obs->shape[obs->ndim++] = values[GRAY_OBS].i ? 1 : 3;
  }
  if (!values[SCALE_OBS].i) return;
  obs->dtype = PP_FLOAT32;
  obs->high = 1;
}

static void describe_screen(pp_field *obs, const hall *shared) {
  obs->ndim = shared->view == VIEW_RAM ? 1 : shared->view == VIEW_GRAY ? 2 : 3;
  obs->shape[0] = shared->view == VIEW_RAM ? RAM_BYTES : shared->arcade.cartridge->lines;
  obs->shape[1] = WIDTH;
  obs->shape[2] = 3;
}

static void describe(pp_config *config, const hall *shared) {
  // numpy.pi as a float32
  static const double lows[3] = {0, -0x1.921fb6p+1, 0}, highs[3] = {1, 0x1.921fb6p+1, 1};
  pp_field *action = &config->action;
  if (shared->is_filmed) {
    describe_film(&config->fields[OBS], config->options);
    config->state_size = offsetof(play, film) + pp_film_bytes(&shared->camera);
  } else {
    describe_screen(&config->fields[OBS], shared);
    config->state_size = offsetof(play, film);
  }
  config->num_fields = shared->tells_ram ? NUM_FIELDS : RAM;
  action->n = shared->arcade.num_actions;
  if (!shared->is_continuous) return;
  *action = (pp_field){.name = "action",
                       .dtype = PP_FLOAT32,
                       .space = PP_BOX,
                       .ndim = 1,
                       .shape = {3},
                       .lows = lows,
                       .highs = highs};
}

static int configure(pp_config *config) {
  hall *shared = calloc(1, sizeof *shared);
  if (!shared) return PP_ERR_MEMORY;
  int status = make_arcade(config, shared);
  if (status >= 0) status = read_options(config, shared);
  if (status >= 0) status = make_view(config->options, shared);
  if (status < 0) {
    release(shared);
    return status;
  }
  describe(config, shared);
  config->shared = shared;
  return PP_OK;
}

// ------------------------------------------------------------------------------ definitions

// everything but the names is the same for all games
#define TASK(game, envpool, ale)                \
  {PP_ARCADE_DEF,                               \
   .id = "ALE/" ale "-v5",                      \
   .family = "ale",                             \
   .variant = #game,                            \
   .reference = "ale-py 0.12.1 ALE/" ale "-v5", \
   .state_size = sizeof(play)},

const pp_env_def pp_env_ale[104] = {
#include "tasks.inl"
};
