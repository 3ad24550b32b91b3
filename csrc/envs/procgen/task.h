/* A task: one game with its options, and the callbacks of its environments, for all ids. */
#ifndef PP_ENVS_PROCGEN_TASK_H
#define PP_ENVS_PROCGEN_TASK_H

#include "games.h"
#include "pp_env.h"

enum { PROCGEN_SIDE = 64, PROCGEN_NUM_ACTIONS = 15 };

/* the options of both kinds of ids; what only one kind has comes last */
enum procgen_option {
  PROCGEN_NUM_LEVELS,
  PROCGEN_START_LEVEL,
  PROCGEN_DISTRIBUTION_MODE,
  PROCGEN_USE_SEQUENTIAL_LEVELS,
  PROCGEN_CENTER_AGENT,
  PROCGEN_USE_BACKGROUNDS,
  PROCGEN_USE_MONOCHROME_ASSETS,
  PROCGEN_RESTRICT_THEMES,
  PROCGEN_USE_GENERATED_ASSETS,
  PROCGEN_PAINT_VEL_INFO,
  PROCGEN_CHANNEL_FIRST,
  PROCGEN_VECTOR_SEEDS,
  PROCGEN_ASSETS,
  PROCGEN_LINK,
  PROCGEN_OTHER, /* debug_mode of procgen's ids, use_easy_jump of EnvPool's */
  PROCGEN_NUM_OPTIONS
};

/* what a definition's data points to */
typedef struct procgen_kind {
  const procgen_game *game;
  bool is_envpool;
} procgen_kind;

/* observation and infos of procgen's ids, and of EnvPool's */
enum { PROCGEN_NUM_FIELDS = 4 };
extern const pp_field procgen_fields[PROCGEN_NUM_FIELDS];
extern const pp_field procgen_envpool_fields[PROCGEN_NUM_FIELDS];

int procgen_configure(pp_config *config);
void procgen_release(void *shared);
int procgen_init(pp_env *env);
void procgen_fini(pp_env *env);
int procgen_seed(pp_env *env, const pp_seed *seed);
int procgen_reset(pp_env *env, pp_reset *how);
int procgen_step(pp_env *env, const void *action, pp_result *result);
int procgen_observe(pp_env *env, void *const *rows, bool is_reset);
int64_t procgen_save(pp_env *env, void *bytes);
int procgen_load(pp_env *env, const void *bytes, int64_t size);
int procgen_check_state(const pp_env *env, const pp_saved *saved);
int procgen_render(pp_env *env, pp_image *image);

/* ------------------------------------------------------------------------------ definitions -- */

#define PROCGEN_INT(option, title, value, most, text) \
  [option] = {                                        \
      .name = title, .type = PP_OPT_INT, .number = value, .low = 0, .high = most, .doc = text}
#define PROCGEN_BOOL(option, title, value, text) \
  [option] = {.name = title, .type = PP_OPT_BOOL, .number = value, .doc = text}

#define PROCGEN_COMMON(channels_come_first, seeds_are_of_vector)                                 \
  PROCGEN_INT(PROCGEN_NUM_LEVELS, "num_levels", 0, INT32_MAX, "number of levels; 0: all"),       \
      PROCGEN_INT(PROCGEN_START_LEVEL, "start_level", 0, INT32_MAX - 1,                          \
                  "seed of the first of num_levels levels"),                                     \
      PROCGEN_BOOL(PROCGEN_USE_SEQUENTIAL_LEVELS, "use_sequential_levels", false,                \
                   "a completed level is followed by another of the same episode"),              \
      PROCGEN_BOOL(PROCGEN_CENTER_AGENT, "center_agent", true,                                   \
                   "the picture follows the agent; otherwise it shows the whole level"),         \
      PROCGEN_BOOL(PROCGEN_USE_BACKGROUNDS, "use_backgrounds", true,                             \
                   "pictures as backgrounds; otherwise they are black"),                         \
      PROCGEN_BOOL(PROCGEN_USE_MONOCHROME_ASSETS, "use_monochrome_assets", false,                \
                   "objects are rectangles of one color"),                                       \
      PROCGEN_BOOL(PROCGEN_RESTRICT_THEMES, "restrict_themes", false,                            \
                   "all levels use the first theme"),                                            \
      PROCGEN_BOOL(PROCGEN_USE_GENERATED_ASSETS, "use_generated_assets", false,                  \
                   "textures are generated; then there are no snapshots"),                       \
      PROCGEN_BOOL(PROCGEN_PAINT_VEL_INFO, "paint_vel_info", false,                              \
                   "paint the agent's velocity in the upper left corner"),                       \
      PROCGEN_BOOL(PROCGEN_CHANNEL_FIRST, "channel_first", channels_come_first,                  \
                   "observations of shape (3, 64, 64) instead of (64, 64, 3)"),                  \
      PROCGEN_BOOL(PROCGEN_VECTOR_SEEDS, "vector_seeds", seeds_are_of_vector,                    \
                   "environment n is environment n of ProcgenGym3Env(num, rand_seed=seed - n)"), \
      [PROCGEN_ASSETS] = {.name = "_assets",                                                     \
                          .type = PP_OPT_STRING,                                                 \
                          .required = true,                                                      \
                          .doc = "the folder of pictures, with a slash at its end"},             \
      [PROCGEN_LINK] = {.name = "_link",                                                         \
                        .type = PP_OPT_BYTES,                                                    \
                        .required = true,                                                        \
                        .doc = "addresses in the installed Procgen: procgen.py"}

#define PROCGEN_DEFINITION                                                                      \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .family = "procgen",                           \
  .state_size = sizeof(void *), .num_options = PROCGEN_NUM_OPTIONS,                             \
  .num_fields = PROCGEN_NUM_FIELDS, .configure = procgen_configure, .release = procgen_release, \
  .init = procgen_init, .fini = procgen_fini, .seed = procgen_seed, .reset = procgen_reset,     \
  .step = procgen_step, .observe = procgen_observe, .save = procgen_save, .load = procgen_load, \
  .check_state = procgen_check_state, .render = procgen_render

#endif
