/* FrozenLake-v1 and FrozenLake8x8-v1: cross a slippery lake without falling into a hole.
 *
 * Equals gymnasium 1.4.0 (envs/toy_text/frozen_lake.py) bit for bit. The map comes as rows of
 * letters with line breaks between them, which parallel_pool/_families/toy_text.py makes of
 * Gymnasium's lists: S is a start, H a hole, G a goal, and every other letter frozen. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/run.h"
#include "base/scalar.h"
#include "table.h"

enum { NUM_ACTIONS = 4, MAX_CELLS = 1 << 20 };

/* indices of table.rewards */
enum { REACH_GOAL, REACH_HOLE, REACH_FROZEN, STAY };

enum {
  DESC,
  MAP_NAME,
  IS_SLIPPERY,
  SUCCESS_RATE,
  REWARD_GOAL,
  REWARD_HOLE,
  REWARD_FROZEN,
  NUM_OPTIONS
};

/* left, down, right, up */
static const int32_t row_moves[NUM_ACTIONS] = {0, 1, 0, -1};
static const int32_t column_moves[NUM_ACTIONS] = {-1, 0, 1, 0};

static const char *const map_names[] = {"4x4", "8x8"};
static const char *const maps[] = {
    "SFFF\nFHFH\nFFFH\nHFFG",
    "SFFFFFFF\nFFFFFFFF\nFFFHFFFF\nFFFFFHFF\nFFFHFFFF\nFHHFFFHF\nFHFFHFHF\nFFFHFFFG",
};
enum { NUM_MAPS = sizeof(maps) / sizeof(maps[0]) };

/* configure sets the number of states */
static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 16},
    TABLE_PROB(PP_INT64_ON_RESET),
};

#define REWARD(title, value, text) \
  {.name = (title),                \
   .type = PP_OPT_FLOAT,           \
   .number = (value),              \
   .low = -INFINITY,               \
   .high = INFINITY,               \
   .doc = (text),                  \
   .varies = true}

/* The info prob shows the type of success_rate. */
#define RATE_DTYPES (1 << PP_FLOAT32 | 1 << PP_INT64)

/* the table of options of an id whose map has this name by default */
#define OPTIONS(map)                                                                             \
  {                                                                                              \
      [DESC] = {.name = "desc",                                                                  \
                .type = PP_OPT_STRING,                                                           \
                .text = "",                                                                      \
                .doc = "the map's rows with line breaks between them; \"\": map_name"},          \
      [MAP_NAME] = {.name = "map_name",                                                          \
                    .type = PP_OPT_STRING,                                                       \
                    .text = (map),                                                               \
                    .doc = "\"4x4\" or \"8x8\""},                                                \
      [IS_SLIPPERY] = {.name = "is_slippery",                                                    \
                       .type = PP_OPT_BOOL,                                                      \
                       .number = 1,                                                              \
                       .doc = "whether a move may go to either side instead"},                   \
      [SUCCESS_RATE] = {.name = "success_rate",                                                  \
                        .type = PP_OPT_FLOAT,                                                    \
                        .number = 1.0 / 3.0,                                                     \
                        .low = -DBL_MAX,                                                         \
                        .high = DBL_MAX,                                                         \
                        .doc = "probability that a move on slippery ice goes where it is meant", \
                        .varies = true,                                                          \
                        .keeps = RATE_DTYPES | 1 << PP_PYTHON,                                   \
                        .refuses = PP_ALL_ACTION_DTYPES & ~(RATE_DTYPES | 1 << PP_FLOAT64)},     \
      [REWARD_GOAL] = REWARD("reward_goal", 1, "of reaching the goal"),                          \
      [REWARD_HOLE] = REWARD("reward_hole", 0, "of falling into a hole"),                        \
      [REWARD_FROZEN] = REWARD("reward_frozen", 0, "of reaching any other cell"),                \
  }

static const pp_option options[NUM_OPTIONS] = OPTIONS("4x4");
static const pp_option options_8x8[NUM_OPTIONS] = OPTIONS("8x8");

/* ----------------------------------------------------------------------------------- maps -- */

typedef struct lake {
  const char *rows; /* the letters, and a line break after each row but the last */
  int64_t height;
  int64_t width;
} lake;

static char cell(const lake *it, int64_t row, int64_t column) {
  return it->rows[row * (it->width + 1) + column];
}

/* Measures a map. Returns whether it is one: rows of one length. */
static bool measure(lake *it) {
  int64_t length = (int64_t)strlen(it->rows);
  it->width = (int64_t)strcspn(it->rows, "\n");
  it->height = (length + 1) / (it->width + 1);
  if (!it->width || length >= MAX_CELLS) return false;
  for (int64_t i = 0; i < length; i++) {
    bool is_end = (i + 1) % (it->width + 1) == 0;
    if ((it->rows[i] == '\n') != is_end) return false;
  }
  return (it->width + 1) * it->height == length + 1;
}

static int find_map(pp_config *config, lake *it) {
  const pp_value *desc = &config->options[DESC], *name = &config->options[MAP_NAME];
  it->rows = desc->s;
  for (int i = 0; i < NUM_MAPS && !*desc->s; i++) {
    if (!strcmp(name->s, map_names[i])) it->rows = maps[i];
  }
  if (!*it->rows) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "map_name=%.40s: choose 4x4 or 8x8, or give desc", name->s);
  }
  if (measure(it)) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "desc=%.60s: give rows of one length, of less than %d cells in all", it->rows,
                 MAX_CELLS);
}

/* ------------------------------------------------------------------------------ transitions -- */

static int64_t clip(int64_t value, int64_t most) {
  return value < 0 ? 0 : value > most ? most : value;
}

static void set_outcome(const lake *it, table_row *row, int outcome, int64_t state, int64_t move) {
  int64_t to_row = clip(state / it->width + row_moves[move], it->height - 1);
  int64_t to_column = clip(state % it->width + column_moves[move], it->width - 1);
  char letter = cell(it, to_row, to_column);
  row->next[outcome] = (int32_t)(to_row * it->width + to_column);
  row->reward[outcome] = letter == 'G' ? REACH_GOAL : letter == 'H' ? REACH_HOLE : REACH_FROZEN;
  row->terminated[outcome] = letter == 'G' || letter == 'H';
}

static void set_row(const lake *it, table_row *row, int64_t state, int64_t action,
                    bool is_slippery) {
  char letter = cell(it, state / it->width, state % it->width);
  if (letter == 'G' || letter == 'H') {
    *row = (table_row){.next = {(int32_t)state}, .reward = {STAY}, .terminated = {1}};
  } else if (is_slippery) {
    row->odds = TABLE_SLIPPERY;
    for (int side = 0; side < TABLE_OUTCOMES; side++) {
      set_outcome(it, row, side, state, (action + 3 + side) % NUM_ACTIONS);
    }
  } else {
    set_outcome(it, row, 0, state, action);
  }
}

static int set_starts(const lake *map, table *it) {
  bool *is_start = calloc((size_t)it->num_states, sizeof(*is_start));
  if (!is_start) return PP_ERR_MEMORY;
  for (int32_t i = 0; i < it->num_states; i++) {
    is_start[i] = cell(map, i / map->width, i % map->width) == 'S';
  }
  table_set_starts(it, is_start);
  free(is_start);
  return PP_OK;
}

/* sets what is in force for an environment with these options */
static void set_numbers(table *it, const pp_value *chosen) {
  pp_scalar rate = pp_scalar_of(&chosen[SUCCESS_RATE]), sum = {0, rate.dtype};
  pp_scalar rest = pp_scalar_add(pp_scalar_float(1.0), pp_scalar_negative(rate));
  pp_scalar fail = pp_scalar_divide(rest, pp_scalar_float(2.0));
  const pp_scalar odds[TABLE_OUTCOMES] = {fail, rate, fail};
  table_odds_row *row = &it->odds[TABLE_SLIPPERY];

  for (int i = 0; i < STAY; i++) it->rewards[i] = chosen[REWARD_GOAL + i].f;
  for (int i = 0; i < TABLE_OUTCOMES; i++) {
    sum = pp_scalar_add(sum, odds[i]);
    row->probability[i] = odds[i].value;
    row->sum[i] = pp_scalar_bound(sum);
  }
}

static int configure(pp_config *config) {
  const pp_value *chosen = config->options;
  lake map = {0};
  int status = find_map(config, &map);
  if (status < 0) return status;
  table *it = table_create(map.height * map.width, NUM_ACTIONS);
  if (!it) return PP_ERR_MEMORY;
  status = set_starts(&map, it);
  if (status < 0) {
    table_release(it);
    return status;
  }
  config->shared = it;
  config->fields[0].n = it->num_states;
  set_numbers(it, chosen);
  it->is_varied = table_varies(config, SUCCESS_RATE, REWARD_FROZEN);

  bool is_slippery = chosen[IS_SLIPPERY].i != 0;
  pp_scalar rate = pp_scalar_of(&chosen[SUCCESS_RATE]);
  it->has_float_prob = is_slippery && rate.dtype == PP_FLOAT32;
  if (it->has_float_prob) config->fields[1].dtype = PP_FLOAT32;
  /* with a rate of 1 or more each outcome is the middle one, whose probability is the rate itself;
   * with 0 or less none is. Rates that differ are floats. */
  bool differs = config->varying && config->varying[SUCCESS_RATE];
  if (is_slippery && !differs && !pp_dtype_is_float(rate.dtype) && rate.value >= 1) {
    config->fields[1].follows |= PP_INT64_ON_STEP;
  }
  for (int32_t state = 0; state < it->num_states; state++) {
    for (int32_t action = 0; action < NUM_ACTIONS; action++) {
      set_row(&map, table_at(it, state, action), state, action, is_slippery);
    }
  }
  return PP_OK;
}

/* -------------------------------------------------------------------------------- callbacks -- */

static int step(pp_env *env, const void *action, pp_result *result) {
  const table *shared = env->shared;
  if (!shared->is_varied) return table_step(env, action, result);
  table own = *shared;
  set_numbers(&own, env->options);
  result->reward[0] =
      table_act(&own, env->rng, *(const int64_t *)action, env->state, &result->terminated);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const table *shared = env->shared;
  void *const first[2] = {rows[0], NULL};
  if (!shared->has_float_prob) return table_observe(env, rows, is_reset);
  if (rows[1]) *(float *)rows[1] = (float)((const table_state *)env->state)->probability;
  return table_observe(env, first, is_reset);
}

static int step_many(void *shared, const pp_run *run) {
  const table *it = shared;
  if (!it->has_float_prob) return table_step_many(shared, run);
  void *const first[2] = {run->fields[0], NULL};
  pp_run states = *run;
  float *row = run->fields[1];
  states.fields = first;
  table_act_many(it, run);
  table_observe_many(&states);
  for (int32_t i = 0; row && i < run->count; i++) {
    const table_state *state = pp_run_state(run, i);
    row[i] = (float)state->probability;
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

/* the members that both definitions share */
#define LAKE_DEFINITION(title)                                                                 \
  TABLE_DEFINITION(title), .num_options = NUM_OPTIONS, .state_size = sizeof(table_state),      \
      .num_fields = 2, .fields = fields,                                                       \
      .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS}, \
      .configure = configure, .release = table_release, .reset = table_reset, .step = step,    \
      .observe = observe, .step_many = step_many, .check_state = table_check_state

const pp_env_def pp_env_frozen_lake[2] = {
    {LAKE_DEFINITION("FrozenLake-v1"), .options = options, .has_reward_threshold = true,
     .reward_threshold = 0.70, .max_episode_steps = 100},
    {LAKE_DEFINITION("FrozenLake8x8-v1"), .options = options_8x8, .has_reward_threshold = true,
     .reward_threshold = 0.85, .max_episode_steps = 200},
};
