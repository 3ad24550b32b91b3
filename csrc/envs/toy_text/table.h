/* Table: the transitions of an environment with few states, as the table P of Gymnasium's toy text.
 *
 * An action has one certain outcome, or up to three with probabilities. An environment's file fills
 * the table in configure; table.c plays it. */
#ifndef PP_ENVS_TOY_TEXT_TABLE_H
#define PP_ENVS_TOY_TEXT_TABLE_H

#include <math.h>
#include <stdbool.h>

#include "base/random.h"
#include "pp_env.h"

enum { TABLE_OUTCOMES = 3, TABLE_REWARDS = 4 };

/* the probabilities of an action's outcomes */
enum table_odds { TABLE_CERTAIN, TABLE_SLIPPERY, TABLE_NUM_ODDS };

typedef struct table_odds_row {
  double probability[TABLE_OUTCOMES];
  double sum[TABLE_OUTCOMES]; /* of this and those before; -INFINITY: there is no such outcome */
} table_odds_row;

/* what an action leads to in a state */
typedef struct table_row {
  int32_t next[TABLE_OUTCOMES];
  uint8_t reward[TABLE_OUTCOMES]; /* an index of table.rewards */
  uint8_t terminated[TABLE_OUTCOMES];
  uint8_t odds; /* table_odds */
} table_row;

/* what all environments share */
typedef struct table {
  int32_t num_states;
  int32_t num_actions;
  double rewards[TABLE_REWARDS];
  table_odds_row odds[TABLE_NUM_ODDS];
  bool has_float_prob; /* the info prob is float32: FrozenLake */
  bool is_varied; /* rewards or odds differ between environments: a copy of this struct has them */
  int32_t num_starts;
  int32_t *starts;    /* the states in which episodes begin, in order */
  double *start_sums; /* for each start the sum of the probabilities up to it */
  table_row *rows;    /* num_states x num_actions */
} table;

/* An environment's state. parallel_pool/_families/toy_text_renderer.py reads it. */
typedef struct table_state {
  int64_t state;
  int64_t last_action; /* -1: none in this episode */
  int64_t resets;      /* how many there were; the renderer notices new episodes by it */
  double probability;  /* of the last outcome; the info prob */
} table_state;

/* the info that all these environments have; `integer` says where the reference's is an int */
#define TABLE_PROB(integer) \
  {.name = "prob", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64, .follows = (integer)}

/* the members that are equal for all definitions of this kind */
#define TABLE_DEFINITION(title)                                                     \
  .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = title, .family = "toy_text", \
  .reference = "gymnasium 1.4.0 " title

/* Returns a table without transitions and starts, or null if there is no memory. Rows are zeroed:
 * one certain outcome. */
table *table_create(int64_t num_states, int32_t num_actions);

/* Sets the odds of slippery rows. A sum adds up in this order, as NumPy's cumsum does. */
void table_set_odds(table *it, const double probability[TABLE_OUTCOMES]);

/* Makes each state a start that is marked, all equally probable. Without a mark episodes begin in
 * state 0, as Gymnasium's do. */
void table_set_starts(table *it, const bool *is_start);

/* Returns whether one of these options differs between environments or is drawn at each reset. The
 * configuration then avoids runs, since step_many has no options. */
bool table_varies(pp_config *config, int32_t first, int32_t last);

static inline table_row *table_at(table *it, int64_t state, int64_t action) {
  return &it->rows[state * it->num_actions + action];
}

/* Begins an episode: draws a start. */
void table_begin(const table *it, pp_rng *rng, table_state *state);

/* Takes an action: draws an outcome and moves there. Returns the reward, and sets *terminated. */
double table_act(const table *it, pp_rng *rng, int64_t action, table_state *state,
                 uint8_t *terminated);

/* The same for each environment of a run, whose states begin with a table_state. */
void table_act_many(const table *it, const pp_run *run);

/* Writes the fields of a run: the state and prob. */
void table_observe_many(const pp_run *run);

/* Returns whether an environment can have this state; if not, the reason is in its error. */
bool table_has(const table *it, const pp_env *env, const table_state *state);

/* Callbacks of environments whose state is a table_state, whose fields are the state and prob, and
 * which share nothing but the table. table_observe needs only that they begin with these. */
int table_reset(pp_env *env, pp_reset *how);
int table_step(pp_env *env, const void *action, pp_result *result);
int table_step_many(void *shared, const pp_run *run);
int table_observe(pp_env *env, void *const *rows, bool is_reset);
int table_check_state(const pp_env *env, const pp_saved *saved);
void table_release(void *shared);

#endif
