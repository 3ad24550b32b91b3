/* classic/rps_v2: rock, paper, scissors, with any odd number of hands.
 *
 * Equals the `parallel_env()` of PettingZoo 1.27.0: both players choose in the same step. */
#include <string.h>

#include "base/fail.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { PLAYERS = 2, SHOWN_ROUNDS = 5 };
enum { NUM_ACTIONS, MAX_CYCLES, SCREEN_HEIGHT, NUM_OPTIONS };

/* One match. It begins with the hands: parallel_pool/_families/classic_renderer.py reads them. */
typedef struct match {
  int32_t hands[SHOWN_ROUNDS][PLAYERS]; /* the last rounds, newest first: the action + 1; 0: none */
  int32_t rounds;
} match;

/* Returns 1 if the first hand beats the second, -1 if it loses: the lower of two hands wins if both
 * are even or both are odd, else the higher one. */
static int32_t compare(int64_t first, int64_t second) {
  if (first == second) return 0;
  return (first < second) == ((first + second) % 2 == 0) ? 1 : -1;
}

static int configure(pp_config *config) {
  int64_t hands = config->options[NUM_ACTIONS].i;
  if (hands % 2 == 0) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "num_actions=%lld: choose an odd number",
                   (long long)hands);
  }
  config->action.n = hands;
  // the last observation is "none yet"
  config->fields[0].n = hands + 1;
  return PP_OK;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  *(match *)env->state = (match){0};
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  match *it = env->state;
  const int64_t *chosen = action;
  int32_t outcome = compare(chosen[0], chosen[1]);

  memmove(it->hands[1], it->hands[0], sizeof(it->hands) - sizeof(it->hands[0]));
  for (int32_t i = 0; i < PLAYERS; i++) it->hands[0][i] = (int32_t)(chosen[i] + 1);
  result->reward[0] = outcome;
  result->reward[1] = -outcome;
  result->truncated = ++it->rounds >= env->options[MAX_CYCLES].i;
  return PP_OK;
}

static int observe(pp_env *env, void *const *fields, bool is_reset) {
  const match *it = env->state;
  int64_t *last = fields[0];
  (void)is_reset;
  for (int32_t i = 0; last && i < PLAYERS; i++) {
    // the other's
    int32_t hand = it->hands[0][1 - i];
    last[i] = hand ? hand - 1 : env->options[NUM_ACTIONS].i;
  }
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const match *it = saved->state;
  int64_t hands = env->options[NUM_ACTIONS].i;
  for (int32_t i = 0; i < SHOWN_ROUNDS * PLAYERS; i++) {
    int32_t hand = it->hands[i / PLAYERS][i % PLAYERS];
    if (!pp_state_check_range(env, "hand", hand, 0, hands)) return PP_ERR_ARGUMENT;
  }
  return pp_state_check_range(env, "rounds", it->rounds, 0, INT32_MAX - 1) ? PP_OK
                                                                           : PP_ERR_ARGUMENT;
}

static const pp_option options[NUM_OPTIONS] = {
    [NUM_ACTIONS] = {.name = "num_actions",
                     .type = PP_OPT_INT,
                     .number = 3,
                     .low = 3,
                     .high = 1000001,
                     .doc = "hands to choose from, an odd number"},
    [MAX_CYCLES] = {.name = "max_cycles",
                    .type = PP_OPT_INT,
                    .number = 15,
                    .low = 1,
                    .high = INT32_MAX,
                    .doc = "rounds of a match"},
    [SCREEN_HEIGHT] = {.name = "screen_height",
                       .type = PP_OPT_INT,
                       .number = 800,
                       .low = 25,
                       .high = 1 << 14,
                       .doc = "height of a picture in pixels"},
};

static const pp_field fields[] = {
    {.name = "obs", /* the other player's last hand */
     .dtype = PP_INT64,
     .space = PP_DISCRETE,
     .per_player = true,
     .n = 4},
};

const pp_env_def pp_env_classic_rps_v2 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "classic/rps_v2",
    .family = "classic",
    .reference = "pettingzoo 1.27.0 rps_v2",
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(match),
    .num_players = PLAYERS,
    .num_fields = 1,
    .fields = fields,
    .action =
        {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .per_player = true, .n = 3},
    .configure = configure,
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
