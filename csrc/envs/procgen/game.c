/* A game in play. */
#include "game.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "task.h"

/* has the library end the episode after a step without a direction */
enum { ACTION_END = -1 };

/* ----------------------------------------------------------------------------------- handle -- */

enum { NUM_OPTIONS = 17 };

static const uint8_t yes = 1;
static const int32_t num_actions = PROCGEN_NUM_ACTIONS, num_threads = 0;

static libenv_option option_of(const char *name, int32_t dtype, int32_t count, const void *data) {
  libenv_option option = {.dtype = dtype, .count = count, .data = data};
  strncpy(option.name, name, LIBENV_NAME - 1);
  return option;
}

static libenv_option integer(const char *name, const int32_t *value) {
  return option_of(name, LIBENV_INT32, 1, value);
}

static libenv_option flag(const char *name, const uint8_t *value) {
  return option_of(name, LIBENV_UINT8, 1, value);
}

static libenv_option text(const char *name, const char *value) {
  return option_of(name, LIBENV_UINT8, (int32_t)strlen(value), value);
}

/* names of arrays, in the order of libenv's spaces */
static const char *const infos[] = {"prev_level_seed", "prev_level_complete", "level_seed", "rgb"};

enum { NUM_INFOS = sizeof(infos) / sizeof(*infos) };

/* returns whether the handle has these arrays, and no others */
static bool has_arrays(const procgen_library *library, libenv_handle *handle, int32_t space,
                       const char *const *names, int32_t count) {
  libenv_tensortype types[NUM_INFOS];
  if (library->get_tensortypes(handle, space, NULL) != count) return false;
  library->get_tensortypes(handle, space, types);
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(types[i].name, names[i])) return false;
  }
  return true;
}

static void set_buffers(procgen_play *it) {
  void *observations[] = {it->frame}, *actions[] = {&it->action};
  void *pointers[NUM_INFOS] = {&it->prev_level_seed, &it->prev_level_complete, &it->level_seed,
                               it->picture};
  libenv_buffers buffers = {observations, &it->reward, &it->first, pointers, actions};
  it->rules->library.set_buffers(it->handle, &buffers);
}

/* Makes the handle and resets it: it is at its first level. */
static int make_handle(procgen_play *it, int32_t rand_seed, int32_t num_levels, int32_t start_level,
                       pp_error *error) {
  static const char *const observations[] = {"rgb"}, *const actions[] = {"action"};
  const procgen_rules *rules = it->rules;
  const procgen_library *library = &rules->library;
  const libenv_option items[NUM_OPTIONS] = {
      text("env_name", rules->game->name),
      text("resource_root", rules->assets),
      integer("num_actions", &num_actions),
      integer("num_threads", &num_threads),
      integer("num_levels", &num_levels),
      integer("start_level", &start_level),
      integer("rand_seed", &rand_seed),
      integer("distribution_mode", &rules->mode),
      integer("debug_mode", &rules->debug_mode),
      // without it the library draws no pictures, and with it only when observe is called
      flag("render_human", &yes),
      flag("use_sequential_levels", &rules->is_sequential),
      flag("center_agent", &rules->centers_agent),
      flag("use_backgrounds", &rules->has_backgrounds),
      flag("use_monochrome_assets", &rules->is_monochrome),
      flag("restrict_themes", &rules->has_one_theme),
      flag("use_generated_assets", &rules->generates_assets),
      flag("paint_vel_info", &rules->paints_velocity),
  };
  procgen_play_stop(it);
  it->handle = library->make(1, (libenv_options){items, NUM_OPTIONS});
  if (!has_arrays(library, it->handle, LIBENV_OBSERVATION, observations, 1) ||
      !has_arrays(library, it->handle, LIBENV_ACTION, actions, 1) ||
      !has_arrays(library, it->handle, LIBENV_INFO, infos, NUM_INFOS)) {
    procgen_play_stop(it);
    return pp_fail(error, PP_ERR_ENV, "the installed Procgen has other arrays than version 0.10.7");
  }
  memset(it->frame, 0, sizeof(it->frame));
  it->prev_level_seed = 0;
  it->prev_level_complete = 0;
  set_buffers(it);
  return PP_OK;
}

void procgen_play_stop(procgen_play *it) {
  if (it->handle) it->rules->library.close(it->handle);
  it->handle = NULL;
}

/* --------------------------------------------------------------------------------- episodes -- */

static int32_t last_move(const procgen_play *it) {
  for (int64_t i = it->actions.count - 1; i >= 0; i--) {
    uint8_t action = *(const uint8_t *)pp_record_entry(&it->actions, i);
    if (action < PROCGEN_NUM_MOVES && action != PROCGEN_STAY) return action;
  }
  return it->carried.last_move;
}

/* the next episode begins: what it carries is that of the one before */
static void begin_record(procgen_play *it) {
  it->carried.last_move = last_move(it);
  it->level = it->level_seed;
  it->actions.count = 0;
  it->level_steps = 0;
}

/* Draws the seed that the library has drawn for the level that begins. Returns the status: if they
 * differed, a snapshot would go on with other levels. */
static int follow_seeds(procgen_play *it, pp_error *error) {
  int32_t expected = procgen_level_seeds_next(&it->carried.seeds, it->rules->range);
  if (expected == it->level_seed) return PP_OK;
  procgen_play_stop(it);
  return pp_fail(error, PP_ERR_ENV,
                 "the installed Procgen chose level %d where version 0.10.7 chooses %d",
                 it->level_seed, expected);
}

int procgen_play_start(procgen_play *it, uint32_t rand_seed, int32_t index, pp_error *error) {
  const procgen_rules *rules = it->rules;
  int status;

  procgen_level_seeds_init(&it->carried.seeds, rand_seed, index);
  it->carried.last_move = PROCGEN_FIRST_MOVE;
  it->actions.count = 0;
  if (index == 0) {
    status = make_handle(it, (int32_t)rand_seed, rules->num_levels, rules->start_level, error);
    if (status >= 0) status = follow_seeds(it, error);
  } else {
    it->level = procgen_level_seeds_next(&it->carried.seeds, rules->range);
    status = procgen_play_resume(it, error);
  }
  if (status >= 0) begin_record(it);
  return status;
}

int procgen_play_resume(procgen_play *it, pp_error *error) {
  // with one level to choose from, the first is that one
  int status = make_handle(it, 0, 1, it->level, error);
  if (status < 0) return status;
  status =
      procgen_carried_store(&it->carried, it->rules->range, &it->rules->library, it->handle, error);
  if (status < 0) procgen_play_stop(it);
  return status;
}

int procgen_play_next(procgen_play *it, pp_error *error) {
  int status = PP_OK;
  if (it->actions.count == 0) return PP_OK;
  if (!it->first) {
    it->action = ACTION_END;
    it->rules->library.act(it->handle);
  }
  // after a completed level of a sequence the next one is not drawn
  if (it->first) status = follow_seeds(it, error);
  begin_record(it);
  return status;
}

void procgen_play_step(procgen_play *it, uint8_t action) {
  it->action = action;
  it->level_steps++;
  it->rules->library.act(it->handle);
}

void procgen_play_draw(procgen_play *it) {
  it->rules->library.observe(it->handle);
}

int procgen_play_init(procgen_play *it, const procgen_rules *rules, pp_error *error) {
  it->rules = rules;
  it->picture = calloc(1, PROCGEN_PICTURE);
  if (!it->picture) return pp_fail(error, PP_ERR_MEMORY, "no memory for a picture");
  return pp_record_init(&it->actions, sizeof(uint8_t), error);
}

void procgen_play_fini(procgen_play *it) {
  procgen_play_stop(it);
  free(it->picture);
  free(it->actions.entries);
}
