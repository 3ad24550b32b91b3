/* PettingZoo: steps and observations of Atari games with several players.
 *
 * Without preprocessing each environment returns the bits of PettingZoo's ParallelAtariEnv with the
 * same options, seed and actions. With it, in this order: sticky actions of each player (drawn from
 * the environment's generator in every frame, the players in their order), several frames in a
 * step, the maximum of the last two screens, a resized picture, a stack of pictures, and a plane
 * for each player. */
#include "pettingzoo.h"

#include <stddef.h>
#include <string.h>

#include "base/frame_stack.h"
#include "base/random.h"
#include "base/state_check.h"
#include "console_check.h"
#include "pettingzoo_options.h"

const pp_field pp_pettingzoo_fields[PP_PETTINGZOO_NUM_FIELDS] = {
    /* configure fills in the shape */
    [PP_PETTINGZOO_OBS] =
        {.name = "obs", .dtype = PP_UINT8, .per_player = true, .low = 0, .high = 255},
    [PP_PETTINGZOO_LIVE] =
        {.name = "live", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true},
    [PP_PETTINGZOO_ENDED] =
        {.name = "ended", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true},
    [PP_PETTINGZOO_RAM_FIELD] = PP_RAM_FIELD,
    [PP_PETTINGZOO_LIVES] = {.name = "lives",
                             .is_info = true,
                             .when = PP_ALWAYS,
                             .dtype = PP_INT64,
                             .per_player = true},
};

/* ---------------------------------------------------------------------------------- pictures -- */

/* whether observations are made from a ring of pictures */
static bool has_ring(const pp_pettingzoo_options *shared) {
  return shared->pools || shared->is_resized || shared->stack > 1 || shared->has_indicator;
}

/* Of a play's pictures: the screen before the last one, if screens are pooled, then the ring. */
static uint8_t *before_of(pp_pettingzoo *play) {
  return play->pictures;
}

static pp_stack ring_of(const pp_pettingzoo_options *shared, pp_pettingzoo *play) {
  return (pp_stack){play->pictures + (shared->pools ? PP_SCREEN_BYTES : 0), &play->oldest,
                    shared->stack, shared->screen->frame_bytes};
}

static size_t picture_bytes(const pp_pettingzoo_options *shared) {
  if (!has_ring(shared)) return 0;
  size_t ring = shared->screen->frame_bytes * (size_t)shared->stack;
  return ring + (shared->pools ? PP_SCREEN_BYTES : 0);
}

/* Keeps the screen of the last frame, before another one is run. */
static void keep_screen(const pp_pettingzoo_options *shared, pp_pettingzoo *play) {
  const uint8_t *screen = pp_console_draw(&play->console, shared->setup.cartridge);
  size_t bytes = (size_t)shared->setup.cartridge->lines * PP_LINE_PIXELS;
  memcpy(before_of(play), screen, bytes);
}

/* Adds the last screen to the ring. is_first: there is no screen before it in this episode. */
static void add_picture(const pp_pettingzoo_options *shared, pp_pettingzoo *play, bool is_first) {
  const uint8_t *last = pp_console_draw(&play->console, shared->setup.cartridge);
  const uint8_t *before = shared->pools && !is_first ? before_of(play) : NULL;
  pp_stack ring = ring_of(shared, play);
  if (is_first) memset(ring.frames, 0, ring.frame_bytes * (size_t)ring.count);
  pp_screen_frame(shared->screen, last, before, NULL, pp_stack_push(ring));
}

/* Writes the planes of the stack, side by side for each pixel, and zeros for the indicator. */
static void write_stack(const pp_pettingzoo_options *shared, pp_pettingzoo *play, uint8_t *row) {
  pp_stack ring = ring_of(shared, play);
  const int planes = shared->screen->planes;
  const size_t pixels = ring.frame_bytes / (size_t)planes;
  const size_t width = (size_t)pp_pettingzoo_planes(shared);
  if (shared->has_indicator) memset(row, 0, pixels * width);
  for (int32_t i = 0; i < ring.count; i++) {
    const uint8_t *frame =
        ring.frames + ring.frame_bytes * (size_t)((*ring.oldest + i) % ring.count);
    for (int plane = 0; plane < planes; plane++, frame += pixels, row++) {
      for (size_t pixel = 0; pixel < pixels; pixel++) row[pixel * width] = frame[pixel];
    }
  }
}

static void write_picture(const pp_pettingzoo_options *shared, pp_pettingzoo *play, uint8_t *row) {
  const pp_console *console = &play->console;
  if (shared->view == PP_PETTINGZOO_RAM) {
    memcpy(row, pp_console_ram(console), PP_RAM_BYTES);
  } else if (has_ring(shared)) {
    write_stack(shared, play, row);
  } else {
    const uint8_t *screen = pp_console_draw(&play->console, shared->setup.cartridge);
    if (shared->view == PP_PETTINGZOO_RGB) {
      pp_setup_color(&shared->setup, screen, row);
    } else {
      pp_screen_frame(shared->screen, screen, NULL, NULL, row);
    }
  }
}

static size_t row_bytes(const pp_pettingzoo_options *shared) {
  if (shared->view == PP_PETTINGZOO_RAM) return PP_RAM_BYTES;
  const size_t pixels = shared->screen->frame_bytes / (size_t)shared->screen->planes;
  return pixels * (size_t)pp_pettingzoo_planes(shared);
}

/* Sets the plane that says whose observation it is. */
static void mark_player(const pp_pettingzoo_options *shared, int player, uint8_t *row) {
  const size_t width = (size_t)pp_pettingzoo_planes(shared);
  const size_t bytes = row_bytes(shared);
  row += shared->stack * shared->screen->planes;
  for (size_t at = 0; at < bytes; at += width) {
    for (int i = 0; i < shared->players; i++) row[at + (size_t)i] = i == player ? 255 : 0;
  }
}

/* Writes what each player sees; a player that was out before the last step sees zeros. */
static void write_observations(const pp_pettingzoo_options *shared, pp_pettingzoo *play,
                               uint8_t *rows) {
  const size_t bytes = row_bytes(shared);
  const uint8_t *written = NULL;
  for (int i = 0; i < shared->players; i++, rows += bytes) {
    if (play->is_out[i] && !play->has_ended[i]) {
      memset(rows, 0, bytes);
      continue;
    }
    if (written) {
      memcpy(rows, written, bytes);
    } else {
      write_picture(shared, play, rows);
    }
    written = rows;
    if (shared->has_indicator) mark_player(shared, i, rows);
  }
}

/* ---------------------------------------------------------------------------- reset and step -- */

int pp_pettingzoo_init(pp_env *env) {
  pp_pettingzoo *play = env->state;
  pp_console_use_cache(&play->console, env->cache);
  return PP_OK;
}

int pp_pettingzoo_seed(pp_env *env, const pp_seed *seed) {
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  // PettingZoo passes the seed on as 32 bits
  pp_setup_load(&shared->setup, &play->console, seed->words[0], 0);
  play->has_power = true;
  return PP_OK;
}

int pp_pettingzoo_reset(pp_env *env, pp_reset *how) {
  (void)how;
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  if (!play->has_power) pp_setup_load(&shared->setup, &play->console, 0, 0);
  play->has_power = true;
  pp_console_reset_game(&play->console, shared->setup.cartridge);
  play->frames = 0;
  play->has_held = false;
  memset(play->is_out, 0, sizeof(play->is_out));
  memset(play->has_ended, 0, sizeof(play->has_ended));
  if (has_ring(shared)) add_picture(shared, play, true);
  return PP_OK;
}

/* Replaces actions by those of the frame before, at random. */
static void stick(pp_env *env, uint8_t *actions) {
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  double sticky = env->options[PP_PETTINGZOO_STICKY].f;
  for (int i = 0; i < shared->players && sticky > 0; i++) {
    if (play->is_out[i]) continue;
    if (play->has_held && pp_rng_double(env->rng) < sticky) actions[i] = play->held[i];
  }
  memcpy(play->held, actions, sizeof(play->held));
  play->has_held = true;
}

/* Takes over what a frame did to the players. Returns whether the episode goes on. */
static bool take_scores(const pp_pettingzoo_options *shared, pp_pettingzoo *play, double *reward) {
  const pp_scores *scores = &play->console.scores;
  bool goes_on = false;
  for (int i = 0; i < shared->players; i++) {
    if (play->is_out[i]) continue;
    reward[i] += scores->reward[i];
    play->is_out[i] = play->has_ended[i] = scores->over || scores->lives[i] < 0;
    goes_on |= !play->is_out[i];
  }
  return goes_on;
}

int pp_pettingzoo_step(pp_env *env, const void *action, pp_result *result) {
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  const pp_cartridge *cartridge = shared->setup.cartridge;
  const int64_t *chosen = action;
  int status = pp_console_check_power(env, play->has_power);
  if (status < 0) return status;
  memset(play->has_ended, 0, sizeof(play->has_ended));
  for (int32_t left = shared->frame_skip; left > 0; left--) {
    uint8_t actions[PP_ATARI_MAX_PLAYERS] = {0};
    for (int i = 0; i < shared->players; i++) {
      // whoever is out does nothing, as in PettingZoo
      actions[i] = shared->setup.actions[play->is_out[i] ? 0 : chosen[i]];
    }
    stick(env, actions);
    if (shared->pools) keep_screen(shared, play);
    bool draw = shared->view != PP_PETTINGZOO_RAM && (left == 1 || shared->pools);
    pp_console_act_multiplayer(&play->console, cartridge, actions, draw);
    play->frames++;
    result->terminated = !take_scores(shared, play, result->reward);
    result->truncated = play->frames >= shared->max_cycles;
    if (result->terminated || result->truncated) break;
  }
  if (has_ring(shared)) add_picture(shared, play, false);
  return PP_OK;
}

int pp_pettingzoo_observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  if (rows[PP_PETTINGZOO_OBS]) write_observations(shared, play, rows[PP_PETTINGZOO_OBS]);
  uint8_t *live = rows[PP_PETTINGZOO_LIVE], *terminated = rows[PP_PETTINGZOO_ENDED];
  for (int i = 0; i < shared->players; i++) {
    if (live) live[i] = !play->is_out[i];
    if (terminated) terminated[i] = play->has_ended[i];
  }
  if (!shared->has_ram_info) return PP_OK;
  int64_t *lives = rows[PP_PETTINGZOO_LIVES];
  for (int i = 0; lives && i < shared->players; i++) lives[i] = play->console.scores.lives[i];
  uint8_t *ram = rows[PP_PETTINGZOO_RAM_FIELD];
  if (ram) memcpy(ram, pp_console_ram(&play->console), PP_RAM_BYTES);
  return PP_OK;
}

/* Checks bytes that are to be read as bool, which may only be 0 and 1. */
static bool check_flags(const pp_env *env, const char *state, size_t at, int64_t count) {
  return pp_state_check_bytes(env, "flags", (const uint8_t *)state + at, count, 1);
}

int pp_pettingzoo_check_state(const pp_env *env, const pp_saved *saved) {
  const pp_pettingzoo_options *shared = env->shared;
  const pp_pettingzoo *play = saved->state, *present = env->state;
  bool is_possible =
      check_flags(env, saved->state, offsetof(pp_pettingzoo, has_power), 1) &&
      check_flags(env, saved->state, offsetof(pp_pettingzoo, has_held), 1) &&
      check_flags(env, saved->state, offsetof(pp_pettingzoo, is_out), PP_ATARI_MAX_PLAYERS) &&
      check_flags(env, saved->state, offsetof(pp_pettingzoo, has_ended), PP_ATARI_MAX_PLAYERS) &&
      pp_state_check_bytes(env, "held", play->held, PP_ATARI_MAX_PLAYERS, PP_ACTIONS - 1) &&
      pp_state_check_range(env, "frames", play->frames, 0, PP_STATE_MOST) &&
      pp_state_check_range(env, "oldest", play->oldest, 0, shared->stack - 1) &&
      pp_console_check(env, &play->console, &present->console, &shared->setup, play->has_power);
  return is_possible ? PP_OK : PP_ERR_ARGUMENT;
}

int pp_pettingzoo_render(pp_env *env, pp_image *image) {
  const pp_pettingzoo_options *shared = env->shared;
  pp_pettingzoo *play = env->state;
  return pp_setup_render(&shared->setup, &play->console, image);
}

/* ----------------------------------------------------------------------------- configuration -- */

void pp_pettingzoo_release(void *shared) {
  pp_pettingzoo_options_destroy(shared);
}

int pp_pettingzoo_configure(pp_config *config) {
  pp_pettingzoo_options *options;
  int status = pp_pettingzoo_options_create(config, &options);
  if (status < 0) return status;
  config->state_size = sizeof(pp_pettingzoo) + picture_bytes(options);
  config->cache_size = sizeof(pp_line_cache);
  config->shared = options;
  return PP_OK;
}
