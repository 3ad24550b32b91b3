/* A level family: its options, how its levels are made, and what its rules add to a step. */
#ifndef PP_ENVS_MINIGRID_LEVEL_H
#define PP_ENVS_MINIGRID_LEVEL_H

#include "bonus.h"
#include "grid.h"
#include "image.h"
#include "level_seeds.h"

/* options that every level has; its own follow */
enum mg_option {
  MG_MAX_STEPS,
  MG_AGENT_VIEW_SIZE,
  MG_SEE_THROUGH_WALLS,
  MG_IMAGE,
  MG_LAYOUT,
  MG_VIEW_SIZE,
  MG_IMAGE_TILE_SIZE,
  MG_MAX_TEXT,
  MG_BONUSES,
  MG_BONUS_SCALE,
  MG_LEVEL_SEEDS,
  MG_LEVEL_SEED_IDX,
  MG_TILES,
  MG_NUM_COMMON
};

enum { MG_MOST_OWN = 10 };

typedef struct mg_level mg_level;

/* what all environments of a pool share */
typedef struct mg_shared {
  const mg_level *level;
  const pp_env_def *def;
  int32_t width;
  int32_t height;
  int32_t max_steps;
  int32_t num_obstacles;
  int32_t mission; /* of every episode, unless the level chooses one */
  int64_t
      own[MG_MOST_OWN]; /* the values of the level's own options, texts as the level reads them */
  void *settings;       /* what configure allocated instead, as BabyAI's levels do; null: nothing */
  mg_image image;
  mg_bonuses bonuses;
  mg_level_seeds level_seeds;

  /* the observation: the elements of its image, and the bytes of its first field */
  int64_t image_size;
  size_t row_size;
  bool is_flat;
  bool has_dict;
  bool shows_given;    /* from the reset on: see mg_state.is_given */
  int32_t num_words;   /* of a mission */
  int32_t most_text;   /* characters of a flat observation's mission */
  double *symbol_lows; /* of a symbolic image */
  double *symbol_highs;
} mg_shared;

/* one step, as a level's rules see it */
typedef struct mg_outcome {
  double reward;
  bool terminated;
  bool truncated;
  mg_cell carried; /* before the step; kind 0: nothing */
  int32_t note;    /* what mg_level.before returned */
} mg_outcome;

struct mg_level {
  bool has_full_boxes; /* a box may hold a key: its tag says so */
  /* Sets width, height and max_steps (0: generate sets that of each episode), the number of
   * obstacles, and the mission if it is always the same, from the options in shared->own; values
   * has the level's own options from 0 on. */
  int (*configure)(mg_shared *shared, const pp_value *values, pp_error *error);
  /* makes a level on a cleared grid; the agent is at (-1, -1) */
  void (*generate)(const mg_shared *shared, mg_world *world);
  /* what comes before minigrid's own step, which may change the action; null: nothing */
  int32_t (*before)(const mg_shared *shared, mg_world *world, int64_t *action);
  /* what comes after it; null: nothing */
  void (*after)(mg_world *world, int64_t action, mg_outcome *outcome);
};

/* the reward of a success in this step */
double mg_success(const mg_world *world);
/* the positions of moving obstacles, num_obstacles of them */
mg_point *mg_obstacles(const mg_world *world);
/* an `after`: success when the agent picks the target up */
void mg_after_pick_target(mg_world *world, int64_t action, mg_outcome *outcome);
/* Returns whether the agent is beside a place, in its row or column. */
bool mg_is_beside(mg_point agent, mg_point place);
/* Reads an obstacle_type: the kind of obstacle, and the mission that goes with it. */
int mg_read_obstacle(const pp_value *value, int64_t *kind, int32_t *mission, pp_error *error);
/* refuses a grid whose sides are out of range; PP_OK if they are not */
int mg_check_sides(const mg_shared *shared, pp_error *error);

/* the members that are equal for all definitions */
#define MG_MEMBERS(title, fields_, level, num_options_, actions, ...)                      \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = title, .family = "minigrid",        \
  .reference = "minigrid 3.2.0 " title, .data = level, .num_fields = 3, .fields = fields_, \
  .num_options = num_options_, .options = (const pp_option[]){__VA_ARGS__},                \
  .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = actions},     \
  .configure = mg_configure, .release = mg_release, .reset = mg_reset, .step = mg_step,    \
  .observe = mg_observe, .step_many = mg_step_many, .check_state = mg_check_state,         \
  .expose = mg_expose

#define MG_DEFINITION(title, level, num_options_, actions, ...)                          \
  MG_MEMBERS("MiniGrid-" title, mg_fields, level, MG_NUM_COMMON + num_options_, actions, \
             __VA_ARGS__)

/* an option of every level, and one of a level's own */
#define MG_ANY_INT(option, title, value, least, most, text) \
  [option] = {                                              \
      .name = title, .type = PP_OPT_INT, .number = value, .low = least, .high = most, .doc = text}
#define MG_ANY_BOOL(option, title, value, text) \
  [option] = {.name = title, .type = PP_OPT_BOOL, .number = value, .doc = text}
#define MG_ANY_STRING(option, title, value, texts) \
  [option] = {.name = title, .type = PP_OPT_STRING, .text = value, .doc = texts}

#define MG_INT(option, title, value, least, most, text) \
  MG_ANY_INT(MG_NUM_COMMON + option, title, value, least, most, text)
#define MG_BOOL(option, title, value, text) MG_ANY_BOOL(MG_NUM_COMMON + option, title, value, text)
#define MG_STRING(option, title, value, texts) \
  MG_ANY_STRING(MG_NUM_COMMON + option, title, value, texts)
#define MG_SIZE(option, value) \
  MG_INT(option, "size", value, MG_LEAST_SIDE, MG_MOST_SIDE, "cells of a side of the grid")
/* where the agent starts; `start` is 1 for (1, 1), 0 for anywhere */
#define MG_START(x, y, direction, start)                 \
  MG_INT(x, "agent_start_x", start, 0, MG_MOST_SIDE,     \
         "column where the agent starts; 0: anywhere"),  \
      MG_INT(y, "agent_start_y", start, 0, MG_MOST_SIDE, \
             "row where the agent starts; 0: anywhere"), \
      MG_INT(direction, "agent_start_dir", 0, 0, 3, "direction in which it looks then")
#define MG_OBSTACLE(option, value) \
  MG_STRING(option, "obstacle_type", value, "what is in the way: lava or wall")

#define MG_COMMON(sees_through)                                                                    \
  MG_ANY_INT(MG_MAX_STEPS, "max_steps", 0, 0, 1 << 30, "steps of an episode; 0: the level's own"), \
      MG_ANY_INT(MG_AGENT_VIEW_SIZE, "agent_view_size", 7, 3, MG_MOST_VIEW,                        \
                 "cells that the agent sees in each direction, an odd number"),                    \
      MG_ANY_BOOL(MG_SEE_THROUGH_WALLS, "see_through_walls", sees_through,                         \
                  "whether walls hide nothing"),                                                   \
      MG_ANY_STRING(MG_IMAGE, "image", "partial",                                                  \
                    "what the image shows: partial, one_hot, rgb_partial, full, symbolic or rgb"), \
      MG_ANY_STRING(MG_LAYOUT, "layout", "dict",                                                   \
                    "the observation: dict (image, direction, mission), image, or flat"),          \
      MG_ANY_INT(MG_VIEW_SIZE, "view_size", 0, 0, MG_MOST_VIEW,                                    \
                 "cells of the image in each direction; 0: agent_view_size"),                      \
      MG_ANY_INT(MG_IMAGE_TILE_SIZE, "image_tile_size", 8, 1, 64,                                  \
                 "pixels of a cell in an rgb image"),                                              \
      MG_ANY_INT(MG_MAX_TEXT, "max_text", MG_MOST_TEXT, MG_MOST_TEXT, 1 << 12,                     \
                 "characters of the mission in a flat observation"),                               \
      MG_ANY_STRING(MG_BONUSES, "bonuses", "",                                                     \
                    "what adds to rewards for what was seldom seen: action, position"),            \
      [MG_BONUS_SCALE] = {.name = "bonus_scale",                                                   \
                          .type = PP_OPT_FLOAT,                                                    \
                          .number = 1,                                                             \
                          .doc = "factor of position bonuses"},                                    \
      MG_ANY_STRING(MG_LEVEL_SEEDS, "level_seeds", "",                                             \
                    "seeds that the resets take in turn; none: those of the pool"),                \
      MG_ANY_INT(MG_LEVEL_SEED_IDX, "level_seed_idx", 0, 0, 1 << 30,                               \
                 "which of them the first reset takes, from 0 on"),                                \
      [MG_TILES] = {.name = "_tiles", .type = PP_OPT_BYTES, .doc = "the tiles of rgb images"}

extern const pp_field mg_fields[3];
int mg_configure(pp_config *config);
void mg_release(void *shared);
int mg_reset(pp_env *env, pp_reset *how);
int mg_step(pp_env *env, const void *action, pp_result *result);
int mg_observe(pp_env *env, void *const *rows, bool is_reset);
int mg_step_many(void *shared, const pp_run *run);
int mg_expose(pp_env *env, void *target);
int mg_check_state(const pp_env *env, const pp_saved *saved);

#endif
