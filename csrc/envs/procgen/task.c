/* The callbacks of Procgen's environments.
 *
 * The library ends an episode and shows the next level within one step, so the row of an episode's
 * last step has the first frame of the next level, and the reset that follows changes nothing.
 *
 * A snapshot is the record of an episode. Resets depend on nothing but the level's seed, so a new
 * handle that begins with this level and takes the same actions is in the same state. The library's
 * own states would do for that as well, but it ends the process when they are damaged. */
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "base/state_check.h"
#include "game.h"
#include "planes.h"

_Static_assert((int)PROCGEN_FRAME == PROCGEN_SIDE * PROCGEN_SIDE * 3, "RGB");

/* ------------------------------------------------------------------------------------- data -- */

enum { MOST_INDEX = 1 << 24 }; /* numbers that a seed draws take no noticeable time */

enum { OBS, PREV_LEVEL_SEED, PREV_LEVEL_COMPLETE, LEVEL_SEED };

#define INFO(at, title, type) \
  [at] = {.name = title, .is_info = true, .when = PP_ALWAYS, .dtype = type}

/* configure sets the shape of the observation */
#define FIELDS(complete_type)                                                       \
  {                                                                                 \
      [OBS] = {.name = "obs", .dtype = PP_UINT8, .ndim = 3, .low = 0, .high = 255}, \
      INFO(PREV_LEVEL_SEED, "prev_level_seed", PP_INT32),                           \
      INFO(PREV_LEVEL_COMPLETE, "prev_level_complete", complete_type),              \
      INFO(LEVEL_SEED, "level_seed", PP_INT32),                                     \
  }

const pp_field procgen_fields[PROCGEN_NUM_FIELDS] = FIELDS(PP_UINT8);
const pp_field procgen_envpool_fields[PROCGEN_NUM_FIELDS] = FIELDS(PP_INT32);

/* what all environments of a pool share */
typedef struct shared_data {
  procgen_rules rules;
  bool is_envpool;
  bool is_channel_first;
  bool has_vector_seeds;
} shared_data;

typedef struct task {
  procgen_play play;
  uint32_t rand_seed; /* of the handle that the next reset makes */
  int32_t index;      /* in a handle of several environments; part of snapshots */
  bool is_seeded;     /* a seed has come since the last reset */
} task;

/* what a snapshot has after its actions; num_actions is -1 before the first episode */
typedef struct snapshot_end {
  procgen_carried carried;
  int32_t level;
  int32_t prev_level_seed;
  int32_t prev_level_complete;
  float reward;
  int32_t index;
  int64_t num_actions;
} snapshot_end;

static task *task_of(const pp_env *env) {
  return *(task **)env->state;
}

/* -------------------------------------------------------------------------------- configure -- */

static int read_mode(const procgen_kind *kind, const pp_value *mode, procgen_rules *rules,
                     pp_error *error) {
  char number[24];
  int64_t chosen = kind->is_envpool ? mode->i : procgen_mode_of(mode->s);

  snprintf(number, sizeof(number), "%lld", (long long)mode->i);
  rules->mode = (int32_t)chosen;
  return procgen_check_mode(kind->game, chosen, kind->is_envpool ? number : mode->s, error);
}

/* Exploration is the only level of a hard game, so it leaves no choice of levels. */
static int read_levels(const pp_value *given, procgen_rules *rules, pp_error *error) {
  int64_t count = given[PROCGEN_NUM_LEVELS].i, start = given[PROCGEN_START_LEVEL].i;
  if (rules->mode == PROCGEN_EXPLORATION) {
    if (count != 0 || start != 0) {
      return pp_fail(error, PP_ERR_ARGUMENT,
                     "num_levels=%lld, start_level=%lld: the exploration mode has one level, so "
                     "leave both out",
                     (long long)count, (long long)start);
    }
    rules->mode = PROCGEN_HARD;
    count = 1;
    start = rules->game->exploration;
  }
  if (start > INT32_MAX - count) {
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "start_level=%lld and num_levels=%lld: choose a sum of at most %d",
                   (long long)start, (long long)count, INT32_MAX);
  }
  rules->num_levels = (int32_t)count;
  rules->start_level = (int32_t)start;
  rules->range = count ? (procgen_level_range){(int32_t)start, (int32_t)(start + count)}
                       : (procgen_level_range){0, INT32_MAX};
  return PP_OK;
}

static void read_flags(const pp_value *given, procgen_rules *rules) {
  rules->is_sequential = given[PROCGEN_USE_SEQUENTIAL_LEVELS].i != 0;
  rules->centers_agent = given[PROCGEN_CENTER_AGENT].i != 0;
  rules->has_backgrounds = given[PROCGEN_USE_BACKGROUNDS].i != 0;
  rules->is_monochrome = given[PROCGEN_USE_MONOCHROME_ASSETS].i != 0;
  rules->has_one_theme = given[PROCGEN_RESTRICT_THEMES].i != 0;
  rules->generates_assets = given[PROCGEN_USE_GENERATED_ASSETS].i != 0;
  rules->paints_velocity = given[PROCGEN_PAINT_VEL_INFO].i != 0;
}

/* Makes a handle, so that a library that does not fit is refused when the pool is made. The first
 * handle of a process loads the pictures as well. */
static int try_handle(const procgen_rules *rules, pp_error *error) {
  procgen_play *play = calloc(1, sizeof(*play));
  if (!play) return pp_fail(error, PP_ERR_MEMORY, "no memory for a game");
  int status = procgen_play_init(play, rules, error);
  if (status >= 0) status = procgen_play_start(play, 0, 0, error);
  procgen_play_fini(play);
  free(play);
  return status;
}

static int read_options(const procgen_kind *kind, const pp_value *given, shared_data *shared,
                        pp_error *error) {
  procgen_rules *rules = &shared->rules;

  rules->game = kind->game;
  rules->assets = given[PROCGEN_ASSETS].s;
  rules->debug_mode = kind->is_envpool ? 0 : (int32_t)given[PROCGEN_OTHER].i;
  read_flags(given, rules);
  shared->is_envpool = kind->is_envpool;
  shared->is_channel_first = given[PROCGEN_CHANNEL_FIRST].i != 0;
  shared->has_vector_seeds = given[PROCGEN_VECTOR_SEEDS].i != 0;
  if (rules->generates_assets && shared->has_vector_seeds) {
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "use_generated_assets=True needs vector_seeds=False: with generated assets the "
                   "library can't make one environment of a vector");
  }
  int status = read_mode(kind, &given[PROCGEN_DISTRIBUTION_MODE], rules, error);
  if (status >= 0) status = read_levels(given, rules, error);
  if (status >= 0) status = procgen_library_read(&given[PROCGEN_LINK], &rules->library, error);
  return status < 0 ? status : try_handle(rules, error);
}

int procgen_configure(pp_config *config) {
  static const int64_t shapes[2][3] = {{PROCGEN_SIDE, PROCGEN_SIDE, 3},
                                       {3, PROCGEN_SIDE, PROCGEN_SIDE}};
  shared_data *shared = calloc(1, sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  config->shared = shared;
  int status = read_options(config->def->data, config->options, shared, config->error);
  if (status < 0) return status;
  memcpy(config->fields[OBS].shape, shapes[shared->is_channel_first], sizeof(shapes[0]));
  return PP_OK;
}

void procgen_release(void *shared) {
  free(shared);
}

/* --------------------------------------------------------------------------------- episodes -- */

int procgen_init(pp_env *env) {
  const shared_data *shared = env->shared;
  task *it = calloc(1, sizeof(*it));
  *(task **)env->state = it;
  if (!it) return PP_ERR_MEMORY;
  it->index = shared->has_vector_seeds ? env->id : 0;
  return procgen_play_init(&it->play, &shared->rules, env->error);
}

void procgen_fini(pp_env *env) {
  task *it = task_of(env);
  if (!it) return;
  procgen_play_fini(&it->play);
  free(it);
  *(task **)env->state = NULL;
}

int procgen_seed(pp_env *env, const pp_seed *seed) {
  task *it = task_of(env);
  // a longer seed is fresh entropy, of which NumPy's generator makes 32 bits
  uint32_t bits = seed->num_words == 1 ? seed->words[0] : pp_rng_next32(env->rng);

  it->rand_seed = bits - (uint32_t)it->index;
  it->is_seeded = true;
  return PP_OK;
}

int procgen_reset(pp_env *env, pp_reset *how) {
  (void)how;
  task *it = task_of(env);
  if (!it->is_seeded && it->play.handle) return procgen_play_next(&it->play, env->error);
  it->is_seeded = false;
  return procgen_play_start(&it->play, it->rand_seed, it->index, env->error);
}

int procgen_step(pp_env *env, const void *action, pp_result *result) {
  const shared_data *shared = env->shared;
  procgen_play *play = &task_of(env)->play;
  void *entry;
  int status = pp_record_add(&play->actions, &entry, env->error);
  if (status < 0) return status;

  *(uint8_t *)entry = (uint8_t)*(const int64_t *)action;
  procgen_play_step(play, *(uint8_t *)entry);
  result->reward[0] = (double)play->reward;
  // EnvPool tells a level's time limit from its other ends, the library does not
  if (shared->is_envpool && play->first && play->level_steps >= shared->rules.game->time_limit) {
    result->truncated = 1;
  } else {
    result->terminated = play->first;
  }
  if (play->first || (shared->rules.is_sequential && play->prev_level_complete)) {
    play->level_steps = 0;
  }
  return PP_OK;
}

/* --------------------------------------------------------------------------------- observing -- */

static void write_integer(void *row, int32_t value) {
  if (row) *(int32_t *)row = value;
}

int procgen_observe(pp_env *env, void *const *rows, bool is_reset) {
  const shared_data *shared = env->shared;
  const procgen_play *play = &task_of(env)->play;
  // in the row of an end EnvPool is still at the level that ended, and a reset forgets its success
  bool is_last = shared->is_envpool && !is_reset && play->first;

  if (rows[OBS] && shared->is_channel_first) {
    procgen_write_planes(play->frame, rows[OBS], PROCGEN_SIDE * PROCGEN_SIDE);
  } else if (rows[OBS]) {
    memcpy(rows[OBS], play->frame, PROCGEN_FRAME);
  }
  write_integer(rows[PREV_LEVEL_SEED], play->prev_level_seed);
  write_integer(rows[LEVEL_SEED], is_last ? play->prev_level_seed : play->level_seed);
  if (shared->is_envpool) {
    write_integer(rows[PREV_LEVEL_COMPLETE], is_reset ? 0 : play->prev_level_complete);
  } else if (rows[PREV_LEVEL_COMPLETE]) {
    *(uint8_t *)rows[PREV_LEVEL_COMPLETE] = play->prev_level_complete;
  }
  return PP_OK;
}

int procgen_render(pp_env *env, pp_image *image) {
  procgen_play *play = &task_of(env)->play;
  image->width = image->height = PROCGEN_PICTURE_SIDE;
  if (!image->pixels) return PP_OK;
  // without a level, a forged snapshot's, the picture is black
  if (play->handle) procgen_play_draw(play);
  memcpy(image->pixels, play->picture, PROCGEN_PICTURE);
  return PP_OK;
}

/* -------------------------------------------------------------------------------- snapshots -- */

static snapshot_end describe(const task *it) {
  const procgen_play *play = &it->play;
  snapshot_end end;
  // padding included: equal states have equal bytes
  memset(&end, 0, sizeof(end));
  end.index = it->index;
  end.num_actions = -1;
  if (!play->handle) return end;
  end.carried = play->carried;
  end.level = play->level;
  end.prev_level_seed = play->prev_level_seed;
  end.prev_level_complete = play->prev_level_complete;
  end.reward = play->reward;
  end.num_actions = play->actions.count;
  return end;
}

int64_t procgen_save(pp_env *env, void *bytes) {
  const task *it = task_of(env);
  const procgen_play *play = &it->play;
  snapshot_end end = describe(it);
  size_t size = end.num_actions < 0 ? 0 : pp_record_bytes(&play->actions);

  if (end.num_actions >= 0 && play->rules->generates_assets) {
    return pp_fail(env->error, PP_ERR_STATE, "use_generated_assets=True: there are no snapshots");
  }
  if (end.num_actions >= 0 && end.level < 0) {
    return pp_fail(env->error, PP_ERR_STATE, "level %d of a sequence: no snapshots begin there",
                   end.level);
  }
  if (bytes) {
    memcpy(bytes, play->actions.entries, size);
    memcpy((char *)bytes + size, &end, sizeof(end));
  }
  return (int64_t)(size + sizeof(end));
}

/* reads the end of a snapshot; returns whether its actions are as many as it says */
static bool read_end(const char *bytes, int64_t size, snapshot_end *end) {
  int64_t rest = size - (int64_t)sizeof(*end);
  if (rest < 0) return false;
  memcpy(end, bytes + rest, sizeof(*end));
  return end->num_actions == -1 ? rest == 0 : end->num_actions == rest;
}

int procgen_check_state(const pp_env *env, const pp_saved *saved) {
  const shared_data *shared = env->shared;
  snapshot_end end;

  if (!read_end(saved->state, saved->size, &end)) return pp_record_refuse(saved->size, env->error);
  if (!pp_state_check_range(env, "index", end.index, 0, MOST_INDEX)) return PP_ERR_ARGUMENT;
  if (end.num_actions >= 0 &&
      (!pp_state_check_bytes(env, "actions", saved->state, end.num_actions,
                             PROCGEN_NUM_ACTIONS - 1) ||
       !pp_state_check_mt19937(env, &end.carried.seeds) ||
       !pp_state_check_range(env, "last_move", end.carried.last_move, 0, PROCGEN_NUM_MOVES - 1) ||
       !pp_state_check_range(env, "level", end.level, 0, INT32_MAX - 1) ||
       !pp_state_check_range(env, "prev_level_complete", end.prev_level_complete, 0, 1))) {
    return PP_ERR_ARGUMENT;
  }
  if (end.num_actions >= 0 && shared->rules.generates_assets) {
    return pp_fail(env->error, PP_ERR_ARGUMENT,
                   "use_generated_assets=True: there are no snapshots");
  }
  return pp_record_check(end.num_actions, saved->phase, env->error);
}

/* plays the episode of a snapshot from its beginning */
static int replay(procgen_play *play, const char *actions, int64_t count, bool is_sequential,
                  pp_error *error) {
  play->level_steps = 0;
  play->actions.count = 0;
  while (play->actions.count < count) {
    uint8_t action = (uint8_t)actions[play->actions.count++];
    procgen_play_step(play, action);
    if (play->first) {
      play->level_steps = 0;
      return pp_record_end(&play->actions, count, error);
    }
    if (is_sequential && play->prev_level_complete) play->level_steps = 0;
  }
  return PP_OK;
}

int procgen_load(pp_env *env, const void *bytes, int64_t size) {
  const shared_data *shared = env->shared;
  procgen_play *play = &task_of(env)->play;
  snapshot_end end;

  procgen_play_stop(play);
  // check_state has seen that it can be read
  (void)read_end(bytes, size, &end);
  task_of(env)->index = end.index;
  if (end.num_actions < 0) return PP_OK;
  int status = pp_record_reserve(&play->actions, end.num_actions, env->error);
  if (status < 0) return status;
  memcpy(play->actions.entries, bytes, (size_t)end.num_actions);
  play->carried = end.carried;
  play->level = end.level;
  status = procgen_play_resume(play, env->error);
  if (status >= 0) {
    status = replay(play, bytes, end.num_actions, shared->rules.is_sequential, env->error);
  }
  if (status < 0) {
    procgen_play_stop(play);
    return status;
  }
  // what the row of a reset has of the episode before
  play->prev_level_seed = end.prev_level_seed;
  play->prev_level_complete = (uint8_t)end.prev_level_complete;
  play->reward = end.reward;
  return PP_OK;
}
