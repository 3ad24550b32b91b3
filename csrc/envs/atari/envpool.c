/* EnvPool: the environments <Game>-v5: Atari 2600 games with the API of EnvPool 1.2.5.
 *
 * Each returns the bits of EnvPool's environment of the same name and options for the same seed:
 * frame skip, no-op starts, FIRE on reset, life-loss episodes, pooling, resize and stack. The rules
 * were found by running EnvPool; tests/support/reference/envpool_atari.py states them in Python.
 *
 * It differs from EnvPool in two points. If an episode terminates in the step of its time limit,
 * that step reports both terminated and truncated. A time limit alone keeps the discount at 1. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/frame_stack.h"
#include "base/mt19937.h"
#include "base/state_check.h"
#include "console/console.h"
#include "console_check.h"
#include "picture/screen.h"
#include "pp_env.h"
#include "setup.h"

/* --------------------------------------------------------------------------------- constants -- */

enum {
  SEEN_ROWS = 210, /* EnvPool drops the bottom of taller screens */
  MAX_STACK = 64,
  MAX_COUNT = 100000, /* of frames in one step, and of no-ops in a reset */
  MAX_EPISODE_STEPS = 27000,
};

/* EnvPool's seed -1, with which ALE would take its seed from the clock */
#define SEED_OF_THE_CLOCK UINT32_MAX

enum {
  STACK_NUM,
  FRAME_SKIP,
  NOOP_MAX,
  ZERO_DISCOUNT,
  EPISODIC_LIFE,
  REWARD_CLIP,
  USE_FIRE_RESET,
  IMG_HEIGHT,
  IMG_WIDTH,
  MODE,
  DIFFICULTY,
  FULL_ACTION_SPACE,
  STICKY,
  USE_AREA,
  GRAY_SCALE,
  ROM,
  NUM_OPTIONS
};

enum { OBS, LIVES, RAW_REWARD, GAME_OVER, RAM, NUM_FIELDS };

static const pp_option options[NUM_OPTIONS] = {
    [STACK_NUM] =
        PP_INT_OPTION("stack_num", 4, 1, MAX_STACK, "frames in one observation, oldest first"),
    [FRAME_SKIP] = PP_INT_OPTION("frame_skip", 4, 0, MAX_COUNT,
                                 "frames of the game in one step; the last two are pooled"),
    [NOOP_MAX] = PP_INT_OPTION("noop_max", 30, 1, MAX_COUNT,
                               "upper bound of the no-op frames at the beginning of a reset"),
    [ZERO_DISCOUNT] = PP_BOOL_OPTION("zero_discount_on_life_loss", false,
                                     "discount 0 on a step that changes the number of lives"),
    [EPISODIC_LIFE] = PP_BOOL_OPTION(
        "episodic_life", false, "a lost life ends the episode; the next one continues the game"),
    [REWARD_CLIP] = PP_BOOL_OPTION("reward_clip", false,
                                   "reward is -1, 0 or 1; the info `reward` is not clipped"),
    [USE_FIRE_RESET] = PP_BOOL_OPTION("use_fire_reset", true,
                                      "press FIRE at the end of a reset, if the game has it"),
    [IMG_HEIGHT] = PP_IMG_HEIGHT_OPTION,
    [IMG_WIDTH] = PP_IMG_WIDTH_OPTION,
    [MODE] = PP_INT_OPTION("mode", -1, -1, UINT16_MAX, "the game's mode; -1: its first"),
    [DIFFICULTY] = PP_INT_OPTION("difficulty", -1, -1, UINT8_MAX, "the game's difficulty; -1: 0"),
    [FULL_ACTION_SPACE] = PP_FULL_ACTION_SPACE_OPTION,
    [STICKY] = PP_STICKY_OPTION(0),
    [USE_AREA] =
        PP_BOOL_OPTION("use_inter_area_resize", true,
                       "resize as OpenCV's INTER_AREA does; otherwise as its INTER_LINEAR"),
    [GRAY_SCALE] =
        PP_BOOL_OPTION("gray_scale", true,
                       "one plane of luminance per frame; otherwise red, green and blue planes"),
    [ROM] = PP_ROM_OPTION,
};

/* configure fills in what depends on options */
static const pp_field fields[NUM_FIELDS] = {
    [OBS] = {.name = "obs", .dtype = PP_UINT8, .ndim = 3, .low = 0, .high = 255},
    [LIVES] = {.name = "lives", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT32},
    /* the reward of the whole step, never clipped */
    [RAW_REWARD] = {.name = "reward", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT32},
    /* the game is over, not merely a life lost */
    [GAME_OVER] = {.name = "terminated", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT32},
    [RAM] = PP_RAM_FIELD,
};

/* -------------------------------------------------------------------------------------- data -- */

/* what all environments of a pool share */
typedef struct shared_data {
  pp_setup setup;
  pp_screen *screen;
  int32_t stack_num, frame_skip;
  uint32_t noop_max;
  uint8_t fires, episodic_life, zero_discount, clips;
} shared_data;

/* plain data, so that a copy is a snapshot; `frames` is a ring buffer of stack_num frames, and
 * `oldest` is the index of the first frame of an observation */
typedef struct play {
  pp_console console;
  pp_mt19937 noop_random;
  int32_t lives;  /* after the last step or reset */
  int32_t reward; /* of the last step */
  int32_t oldest;
  uint8_t has_power; /* the console was switched on */
  uint8_t is_fresh;  /* nothing has been played since then */
  uint8_t frames[];
} play;

static pp_stack stack_of(const shared_data *shared, play *self) {
  return (pp_stack){self->frames, &self->oldest, shared->stack_num, shared->screen->frame_bytes};
}

/* ----------------------------------------------------------------------------------- console -- */

/* switches the console on, as EnvPool's constructor does */
static void power_up(const pp_env *env, uint32_t seed) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  pp_setup_load(&shared->setup, &self->console, seed, env->options[STICKY].f);
  pp_mt19937_seed(&self->noop_random, seed);
  self->has_power = 1;
  self->is_fresh = 1;
}

/* ------------------------------------------------------------------------------------- stack -- */

/* Replaces the oldest frame with one made of the last screen, pooled with `before` unless that is
 * null. */
static void push_frame(const shared_data *shared, play *self, const uint8_t *before) {
  const uint8_t *last = pp_console_draw(&self->console, shared->setup.cartridge);
  uint8_t changed[PP_LINES_MAX];
  const pp_screen_past past = {pp_stack_newest(stack_of(shared, self)), changed};
  pp_console_changed(&self->console, changed);
  pp_screen_frame(shared->screen, last, before, &past, pp_stack_push(stack_of(shared, self)));
}

/* ---------------------------------------------------------------------------------- episodes -- */

static bool begins_new_game(const pp_env *env, const pp_reset *how) {
  const shared_data *shared = env->shared;
  const play *self = env->state;
  bool limit_reached = env->max_episode_steps > 0 && *env->elapsed >= env->max_episode_steps;
  return how->forced || self->is_fresh || !shared->episodic_life || limit_reached ||
         pp_console_game_over(&self->console);
}

/* Plays the no-ops and FIRE of a reset. Returns whether the game ended meanwhile and was
 * restarted. */
static bool play_opening(const shared_data *shared, play *self, uint32_t noops) {
  pp_console *console = &self->console;
  bool restarted = false;
  for (uint32_t i = 0; i < noops; i++) {
    pp_console_act(console, shared->setup.cartridge, PP_NOOP, i + 1 == noops && !shared->fires);
    if (pp_console_game_over(console)) {
      pp_console_reset_game(console, shared->setup.cartridge);
      restarted = true;
    }
  }
  if (shared->fires) {
    pp_console_act(console, shared->setup.cartridge, PP_FIRE, true);
  }
  return restarted;
}

static int reset(pp_env *env, pp_reset *how) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  if (!self->has_power) {
    power_up(env, 0);
  }
  self->console.sticky = (float)env->options[STICKY].f;
  bool new_game = begins_new_game(env, how);
  // the number is drawn in every case, and FIRE counts as one of the frames
  uint32_t noops = pp_mt19937_below(&self->noop_random, shared->noop_max) + 1 - shared->fires;
  if (new_game) {
    pp_console_reset_game(&self->console, shared->setup.cartridge);
  }
  // if a continued game ends in the no-ops, the step count goes on, but the old frames are dropped
  how->continues = !new_game;
  new_game |= play_opening(shared, self, noops);
  push_frame(shared, self, NULL);
  for (int32_t i = 1; new_game && i < shared->stack_num; i++) {
    pp_stack_push_again(stack_of(shared, self));
  }
  self->lives = pp_console_lives(&self->console);
  self->reward = 0;
  self->is_fresh = 0;
  return PP_OK;
}

/* Plays the frames of a step, sums their rewards and makes the observation's new frame. Returns
 * whether the game is over. */
static bool play_frames(const shared_data *shared, play *self, int button) {
  const pp_cartridge *cartridge = shared->setup.cartridge;
  pp_console *console = &self->console;
  uint8_t kept[PP_SCREEN_BYTES];
  const uint8_t *before = NULL;
  int32_t left = shared->frame_skip;
  bool over = false;

  // only the last two frames are drawn
  self->reward = 0;
  while (left > 0 && !over) {
    self->reward += pp_console_act(console, cartridge, button, left <= 2);
    over = pp_console_game_over(console);
    left--;
    if (left == 1 && pp_console_is_mid_frame(console)) {
      before = memcpy(kept, pp_console_draw(console, cartridge), sizeof(kept));
    }
  }
  if (!before) before = pp_console_screen_before(console);

  // If the game ends in the last frame but one, the observation shows that frame alone. If it ends
  // earlier, or the step has no frames, the previous frame is repeated.
  if (left > 1 || shared->frame_skip == 0) {
    pp_stack_push_again(stack_of(shared, self));
  } else {
    push_frame(shared, self, left == 0 && shared->frame_skip > 1 ? before : NULL);
  }
  return over;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  int status = pp_console_check_power(env, self->has_power);
  if (status < 0) return status;
  int32_t lives_before = self->lives;
  bool over = play_frames(shared, self, shared->setup.actions[*(const int64_t *)action]);
  self->lives = pp_console_lives(&self->console);
  bool lost_life = 0 < self->lives && self->lives < lives_before;
  result->terminated = over || (shared->episodic_life && lost_life);
  result->reward[0] =
      shared->clips ? (self->reward > 0) - (self->reward < 0) : (double)self->reward;
  result->has_discount = shared->zero_discount;
  result->discount = !result->terminated && self->lives == lives_before;
  return PP_OK;
}

/* --------------------------------------------------------------------------------- callbacks -- */

static int init(pp_env *env) {
  play *self = env->state;
  pp_console_use_cache(&self->console, env->cache);
  return PP_OK;
}

static int seed(pp_env *env, const pp_seed *words) {
  // a longer seed is fresh entropy, of which the console's generators take 32 bits
  if (words->num_words == 1 && words->words[0] == SEED_OF_THE_CLOCK) {
    return pp_fail(
        env->error, PP_ERR_ARGUMENT,
        "seed -1 (4294967295) would make ALE take its seed from the clock: choose another");
  }
  power_up(env, words->words[0]);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const shared_data *shared = env->shared;
  play *self = env->state;
  if (rows[OBS]) pp_stack_copy(stack_of(shared, self), rows[OBS]);
  if (rows[LIVES]) *(int32_t *)rows[LIVES] = self->lives;
  if (rows[RAW_REWARD]) *(float *)rows[RAW_REWARD] = (float)self->reward;
  if (rows[GAME_OVER]) *(int32_t *)rows[GAME_OVER] = pp_console_game_over(&self->console);
  if (rows[RAM]) memcpy(rows[RAM], pp_console_ram(&self->console), PP_RAM_BYTES);
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const shared_data *shared = env->shared;
  const play *self = saved->state, *present = env->state;
  bool is_possible =
      pp_state_check_range(env, "has_power", self->has_power, 0, 1) &&
      pp_state_check_range(env, "oldest", self->oldest, 0, shared->stack_num - 1) &&
      pp_state_check_mt19937(env, &self->noop_random) &&
      pp_console_check(env, &self->console, &present->console, &shared->setup, self->has_power);
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

static int render(pp_env *env, pp_image *image) {
  const shared_data *shared = env->shared;
  play *self = env->state;
  return pp_setup_render(&shared->setup, &self->console, image);
}

/* ----------------------------------------------------------------------------- configuration -- */

static void release(void *memory) {
  shared_data *shared = memory;
  pp_setup_fini(&shared->setup);
  pp_screen_destroy(shared->screen);
  free(shared);
}

static int make_setup(pp_config *config, shared_data *shared) {
  const pp_value *values = config->options;
  const pp_setup_options chosen = {
      .rom = &values[ROM],
      .mode = values[MODE].i,
      .difficulty = values[DIFFICULTY].i,
      .full_action_space = values[FULL_ACTION_SPACE].i,
  };
  return pp_setup_init(&shared->setup, config, config->def->variant, &chosen);
}

static int make_screen(const pp_value *values, shared_data *shared) {
  const pp_screen_options screen = {
      .rows = SEEN_ROWS,
      .height = (int)values[IMG_HEIGHT].i,
      .width = (int)values[IMG_WIDTH].i,
      .gray = values[GRAY_SCALE].i != 0,
      .area = values[USE_AREA].i != 0,
  };
  return pp_setup_make_screen(&shared->setup, screen, &shared->screen);
}

static void describe(pp_config *config, const shared_data *shared) {
  pp_field *obs = &config->fields[OBS];
  obs->shape[0] = (int64_t)shared->stack_num * shared->screen->planes;
  obs->shape[1] = config->options[IMG_HEIGHT].i;
  obs->shape[2] = config->options[IMG_WIDTH].i;
  config->action.n = shared->setup.num_actions;
  config->state_size = sizeof(play) + shared->screen->frame_bytes * (size_t)shared->stack_num;
  config->cache_size = sizeof(pp_line_cache);
}

static int configure(pp_config *config) {
  const pp_value *values = config->options;
  shared_data *shared = calloc(1, sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  int status = make_setup(config, shared);
  if (status >= 0) status = make_screen(values, shared);
  if (status < 0) {
    release(shared);
    return status;
  }
  shared->stack_num = (int32_t)values[STACK_NUM].i;
  shared->frame_skip = (int32_t)values[FRAME_SKIP].i;
  shared->noop_max = (uint32_t)values[NOOP_MAX].i;
  shared->episodic_life = values[EPISODIC_LIFE].i != 0;
  shared->zero_discount = values[ZERO_DISCOUNT].i != 0;
  shared->clips = values[REWARD_CLIP].i != 0;
  shared->fires = values[USE_FIRE_RESET].i && pp_setup_has_action(&shared->setup, PP_FIRE);
  describe(config, shared);
  config->shared = shared;
  return PP_OK;
}

/* ------------------------------------------------------------------------------- definitions -- */

/* everything but the names is the same for all games */
#define GAME(game, envpool_word, ale_word, ...)      \
  {PP_ATARI_DEF(options, NUM_OPTIONS),               \
   .id = envpool_word "-v5",                         \
   .family = "atari",                                \
   .variant = #game,                                 \
   .reference = "envpool 1.2.5 " envpool_word "-v5", \
   .max_episode_steps = MAX_EPISODE_STEPS,           \
   .state_size = sizeof(play)},

const pp_env_def pp_env_atari_v5[PP_GAME_COUNT] = {
#include "games/table.def"
};
