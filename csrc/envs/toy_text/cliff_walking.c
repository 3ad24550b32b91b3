/* CliffWalking-v1 and CliffWalkingSlippery-v1: walk from corner to corner along a cliff.
 *
 * Equals gymnasium 1.4.0 (envs/toy_text/cliffwalking.py) bit for bit. Model: Sutton and Barto,
 * "Reinforcement Learning: An Introduction", example 6.6. */
#include "table.h"

enum { ROWS = 4, COLUMNS = 12, NUM_STATES = ROWS * COLUMNS, NUM_ACTIONS = 4 };
enum { START = (ROWS - 1) * COLUMNS, GOAL = NUM_STATES - 1 };

/* indices of table.rewards */
enum { STEP, FALL };

/* up, right, down, left */
static const int32_t row_moves[NUM_ACTIONS] = {-1, 0, 1, 0};
static const int32_t column_moves[NUM_ACTIONS] = {0, 1, 0, -1};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_STATES},
    TABLE_PROB(PP_INT64_ON_RESET),
};

/* the table of options of an id with this default */
#define OPTIONS(slippery)  \
  {{.name = "is_slippery", \
    .type = PP_OPT_BOOL,   \
    .number = (slippery),  \
    .doc = "whether a move goes to either side instead, each with probability 1/3"}}

static const pp_option options[] = OPTIONS(0);
static const pp_option slippery_options[] = OPTIONS(1);

static int32_t clip(int32_t value, int32_t most) {
  return value < 0 ? 0 : value > most ? most : value;
}

/* Sets the outcome of a move. A fall leads back to the start, and the episode goes on. */
static void set_outcome(table_row *row, int outcome, int32_t state, int32_t move) {
  int32_t to_row = clip(state / COLUMNS + row_moves[move], ROWS - 1);
  int32_t to_column = clip(state % COLUMNS + column_moves[move], COLUMNS - 1);
  int32_t next = to_row * COLUMNS + to_column;
  bool falls = next > START && next < GOAL;
  row->next[outcome] = falls ? START : next;
  row->reward[outcome] = falls ? FALL : STEP;
  row->terminated[outcome] = next == GOAL;
}

static int configure(pp_config *config) {
  table *it = table_create(NUM_STATES, NUM_ACTIONS);
  if (!it) return PP_ERR_MEMORY;
  config->shared = it;
  it->rewards[STEP] = -1;
  it->rewards[FALL] = -100;
  table_set_odds(it, (const double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
  bool is_start[NUM_STATES] = {[START] = true};
  table_set_starts(it, is_start);
  bool is_slippery = config->options[0].i != 0;
  for (int32_t state = 0; state < NUM_STATES; state++) {
    for (int32_t action = 0; action < NUM_ACTIONS; action++) {
      table_row *row = table_at(it, state, action);
      if (!is_slippery) {
        set_outcome(row, 0, state, action);
        continue;
      }
      row->odds = TABLE_SLIPPERY;
      for (int side = 0; side < TABLE_OUTCOMES; side++) {
        set_outcome(row, side, state, (action + 3 + side) % NUM_ACTIONS);
      }
    }
  }
  return PP_OK;
}

/* the members that both definitions share */
#define CLIFF_DEFINITION(title)                                                                   \
  TABLE_DEFINITION(title), .num_options = 1, .state_size = sizeof(table_state), .num_fields = 2,  \
      .fields = fields,                                                                           \
      .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},    \
      .configure = configure, .release = table_release, .reset = table_reset, .step = table_step, \
      .observe = table_observe, .step_many = table_step_many, .check_state = table_check_state

const pp_env_def pp_env_cliff_walking[2] = {
    {CLIFF_DEFINITION("CliffWalking-v1"), .options = options},
    {CLIFF_DEFINITION("CliffWalkingSlippery-v1"), .options = slippery_options},
};
