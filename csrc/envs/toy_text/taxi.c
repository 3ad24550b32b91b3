/* Taxi-v4: fetch a passenger and bring it to its destination; Taxi-v3 for EnvPool's API.
 *
 * Equals gymnasium 1.4.0 (envs/toy_text/taxi.py) bit for bit. Model: T. Dietterich, "Hierarchical
 * Reinforcement Learning with the MAXQ Value Function Decomposition", 2000. */
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "base/scalar.h"
#include "base/state_check.h"
#include "table.h"

enum { SIDE = 5, PLACES = 4, IN_TAXI = PLACES, NUM_ACTIONS = 6 };
enum { NUM_STATES = SIDE * SIDE * (PLACES + 1) * PLACES };
enum { SOUTH, NORTH, EAST, WEST, PICKUP, DROPOFF };

/* indices of table.rewards */
enum { STEP, WRONG, DELIVERY };

enum { IS_RAINY, FICKLE_PASSENGER, RAINY_PROBABILITY, FICKLE_PROBABILITY, NUM_OPTIONS };

/* a state in parts */
typedef struct scene {
  int32_t row;
  int32_t column;
  int32_t passenger; /* where: a place, or IN_TAXI */
  int32_t destination;
} scene;

typedef struct taxi {
  table_state at;
  uint8_t is_fickle; /* the passenger will change its mind at the first move with it */
} taxi;

/* what all environments share */
typedef struct rules {
  table *transitions;
  bool has_fickle;
  int8_t masks[NUM_STATES][NUM_ACTIONS];
} rules;

static const int32_t place_rows[PLACES] = {0, 0, 4, 4};
static const int32_t place_columns[PLACES] = {0, 4, 0, 3};

/* whether there is a way between a column and the next */
static const bool is_open[SIDE][SIDE - 1] = {
    {1, 0, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}, {0, 1, 0, 1}, {0, 1, 0, 1},
};

/* for the moves: the way, and the ways to the left and to the right of it */
static const int32_t ways[4][TABLE_OUTCOMES] = {
    {SOUTH, EAST, WEST}, {NORTH, WEST, EAST}, {EAST, NORTH, SOUTH}, {WEST, SOUTH, NORTH}};

static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_STATES},
    TABLE_PROB(0),
    {.name = "action_mask",
     .is_info = true,
     .when = PP_ALWAYS,
     .dtype = PP_INT8,
     .ndim = 1,
     .shape = {NUM_ACTIONS},
     .high = 1},
};
enum { NUM_FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const pp_option options[NUM_OPTIONS] = {
    [IS_RAINY] = {.name = "is_rainy",
                  .type = PP_OPT_BOOL,
                  .doc = "whether a move may go to either side instead"},
    [FICKLE_PASSENGER] = {.name = "fickle_passenger",
                          .type = PP_OPT_BOOL,
                          .doc = "whether the passenger may change its destination"},
    [RAINY_PROBABILITY] = {.name = "rainy_probability",
                           .type = PP_OPT_FLOAT,
                           .number = 0.8,
                           .doc = "probability that a move in the rain goes where it is meant",
                           .varies = true,
                           /* the info prob has this type in some rows, and is a float in others */
                           .refuses = (PP_ALL_ACTION_DTYPES & ~(1 << PP_FLOAT64)) | 1 << PP_PYTHON},
    [FICKLE_PROBABILITY] = {.name = "fickle_probability",
                            .type = PP_OPT_FLOAT,
                            .number = 0.3,
                            .doc = "probability of a change in an episode",
                            .varies = true,
                            .keeps = 1 << PP_FLOAT32,
                            .refuses = 1 << PP_FLOAT16},
};

/* ------------------------------------------------------------------------------ transitions -- */

static int32_t encode(scene it) {
  return ((it.row * SIDE + it.column) * (PLACES + 1) + it.passenger) * PLACES + it.destination;
}

static scene decode(int64_t state) {
  int32_t rest = (int32_t)state;
  scene it = {.destination = rest % PLACES};
  rest /= PLACES;
  it.passenger = rest % (PLACES + 1);
  rest /= PLACES + 1;
  it.column = rest % SIDE;
  it.row = rest / SIDE;
  return it;
}

static bool is_at(scene it, int32_t place) {
  return it.row == place_rows[place] && it.column == place_columns[place];
}

static bool can_go(scene it, int32_t way) {
  switch (way) {
    case SOUTH: return it.row < SIDE - 1;
    case NORTH: return it.row > 0;
    case EAST: return it.column < SIDE - 1 && is_open[it.row][it.column];
    default: return it.column > 0 && is_open[it.row][it.column - 1];
  }
}

static scene go(scene it, int32_t way) {
  if (!can_go(it, way)) return it;
  it.row += (way == SOUTH) - (way == NORTH);
  it.column += (way == EAST) - (way == WEST);
  return it;
}

/* In rain the taxi may go to a side. Gymnasium asks for the wall on the far side of the cell that a
 * step to a side leads to, not for the one between. */
static scene drift(scene it, int32_t way) {
  if (way == SOUTH || way == NORTH) return go(it, way);
  int32_t column = it.column + (way == EAST ? 1 : -1);
  column = column < 0 ? 0 : column > SIDE - 1 ? SIDE - 1 : column;
  int32_t wall = way == EAST ? column - 1 : column;
  if (wall < 0 || wall >= SIDE - 1 || !is_open[it.row][wall]) return it;
  it.column = column;
  return it;
}

/* Sets the certain outcome of picking the passenger up or dropping it. */
static void set_service(table_row *row, scene it, int64_t action) {
  row->reward[0] = WRONG;
  if (action == PICKUP && it.passenger < IN_TAXI && is_at(it, it.passenger)) {
    it.passenger = IN_TAXI;
    row->reward[0] = STEP;
  } else if (action == DROPOFF && it.passenger == IN_TAXI) {
    for (int32_t place = 0; place < PLACES; place++) {
      if (!is_at(it, place)) continue;
      it.passenger = place;
      row->terminated[0] = place == it.destination;
      row->reward[0] = place == it.destination ? DELIVERY : STEP;
    }
  }
  row->next[0] = encode(it);
}

static void set_row(table_row *row, scene it, int64_t action, bool is_rainy) {
  if (action >= PICKUP) {
    set_service(row, it, action);
    return;
  }
  row->next[0] = encode(go(it, (int32_t)action));
  if (!is_rainy) return;
  row->odds = TABLE_SLIPPERY;
  /* where the way is barred, the taxi does not go to a side either */
  bool goes = can_go(it, (int32_t)action);
  for (int side = 1; side < TABLE_OUTCOMES; side++) {
    row->next[side] = encode(goes ? drift(it, ways[action][side]) : it);
  }
}

static void set_mask(int8_t *mask, scene it) {
  for (int32_t way = SOUTH; way <= WEST; way++) mask[way] = can_go(it, way);
  for (int32_t place = 0; place < PLACES; place++) {
    if (!is_at(it, place)) continue;
    mask[PICKUP] = it.passenger == place;
    mask[DROPOFF] = it.passenger == IN_TAXI;
  }
}

/* ------------------------------------------------------------------------------- callbacks -- */

static void release(void *shared) {
  rules *it = shared;
  table_release(it->transitions);
  free(it);
}

/* sets the odds of moves in the rain for an environment with these options */
static void set_rain(table *it, const pp_value *chosen) {
  double rain = chosen[RAINY_PROBABILITY].f, side = (1.0 - rain) / 2.0;
  table_set_odds(it, (const double[]){rain, side, side});
}

static int configure(pp_config *config) {
  const pp_value *chosen = config->options;
  rules *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  table *transitions = table_create(NUM_STATES, NUM_ACTIONS);
  if (!transitions) {
    free(it);
    return PP_ERR_MEMORY;
  }
  config->shared = it;
  it->transitions = transitions;
  it->has_fickle = chosen[FICKLE_PASSENGER].i != 0;
  set_rain(transitions, chosen);
  transitions->is_varied = table_varies(config, RAINY_PROBABILITY, RAINY_PROBABILITY);
  transitions->rewards[STEP] = -1;
  transitions->rewards[WRONG] = -10;
  transitions->rewards[DELIVERY] = 20;

  bool is_start[NUM_STATES];
  for (int32_t state = 0; state < NUM_STATES; state++) {
    scene at = decode(state);
    is_start[state] = at.passenger < IN_TAXI && at.passenger != at.destination;
    set_mask(it->masks[state], at);
    for (int32_t action = 0; action < NUM_ACTIONS; action++) {
      set_row(table_at(transitions, state, action), at, action, chosen[IS_RAINY].i != 0);
    }
  }
  table_set_starts(transitions, is_start);
  return PP_OK;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  taxi *it = env->state;
  const rules *shared = env->shared;
  table_begin(shared->transitions, env->rng, &it->at);
  double probability = pp_scalar_bound(pp_scalar_of(&env->options[FICKLE_PROBABILITY]));
  it->is_fickle = shared->has_fickle && pp_rng_double(env->rng) < probability;
  return PP_OK;
}

/* Draws another destination, one of the three others in order. */
static int64_t change_mind(pp_rng *rng, scene after, int32_t before) {
  int32_t drawn = (int32_t)pp_rng_integers(rng, 0, PLACES - 1);
  after.destination = drawn + (drawn >= before);
  return encode(after);
}

/* lets a fickle passenger change its mind, if it has just moved with the taxi */
static void travel(pp_rng *rng, int64_t before, taxi *it) {
  if (!it->is_fickle) return;
  scene old = decode(before), now = decode(it->at.state);
  if (old.passenger == IN_TAXI && (old.row != now.row || old.column != now.column)) {
    it->is_fickle = false;
    it->at.state = change_mind(rng, now, old.destination);
  }
}

/* drives, in this environment's own rain; returns the reward */
static double drive(pp_env *env, int64_t action, table_state *state, uint8_t *terminated) {
  const rules *shared = env->shared;
  if (!shared->transitions->is_varied) {
    return table_act(shared->transitions, env->rng, action, state, terminated);
  }
  table own = *shared->transitions;
  set_rain(&own, env->options);
  return table_act(&own, env->rng, action, state, terminated);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  taxi *it = env->state;
  int64_t before = it->at.state;
  result->reward[0] = drive(env, *(const int64_t *)action, &it->at, &result->terminated);
  travel(env->rng, before, it);
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  const rules *all = shared;
  if (!all->has_fickle) {
    table_act_many(all->transitions, run);
  } else {
    for (int32_t i = 0; i < run->count; i++) {
      taxi *it = pp_run_state(run, i);
      int64_t before = it->at.state, action = ((const int64_t *)run->actions)[i];
      run->reward[i] =
          table_act(all->transitions, &run->rngs[i], action, &it->at, &run->terminated[i]);
      travel(&run->rngs[i], before, it);
    }
  }
  table_observe_many(run);
  for (int32_t i = 0; run->fields[2] && i < run->count; i++) {
    const taxi *it = pp_run_state(run, i);
    memcpy((int8_t *)run->fields[2] + i * NUM_ACTIONS, all->masks[it->at.state], NUM_ACTIONS);
  }
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const taxi *it = env->state;
  const rules *shared = env->shared;
  table_observe(env, rows, is_reset);
  if (rows[2]) memcpy(rows[2], shared->masks[it->at.state], NUM_ACTIONS);
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const taxi *it = saved->state;
  const rules *shared = env->shared;
  return table_has(shared->transitions, env, &it->at) &&
                 pp_state_check_bytes(env, "is_fickle", &it->is_fickle, 1, 1)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_taxi_v4 = {
    TABLE_DEFINITION("Taxi-v4"),
    .has_reward_threshold = true,
    .reward_threshold = 8,
    .max_episode_steps = 200,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(taxi),
    .num_fields = NUM_FIELDS,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},
    .configure = configure,
    .release = release,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
};
