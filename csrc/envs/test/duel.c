/* test/Duel-v0: rock, paper, scissors, to test environments with several players.
 *
 * It has one field of every kind: per player and shared, observation and info. At random, a third
 * of the rounds count double. The first player who leads by five wins. */
#include "base/random.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { NUM_PLAYERS = 2, NUM_MOVES = 3, LEAD = 5 };

typedef struct duel {
  int32_t score[NUM_PLAYERS];
  int32_t round;
  int64_t stake; /* points of the next round */
  int64_t last_moves[NUM_PLAYERS];
} duel;

static const pp_field fields[] = {
    {.name = "score", /* the player's own, the other player's */
     .dtype = PP_FLOAT32,
     .per_player = true,
     .ndim = 1,
     .shape = {2},
     .low = 0,
     .high = 1000},
    {.name = "stake", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    {.name = "last_move",
     .is_info = true,
     .when = PP_ON_STEP,
     .dtype = PP_INT64,
     .space = PP_DISCRETE,
     .per_player = true,
     .n = NUM_MOVES},
    {.name = "round", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT32},
};

static void draw_stake(duel *game, pp_rng *rng) {
  game->stake = pp_rng_integers(rng, 0, 3) == 0 ? 2 : 1;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  duel *game = env->state;
  *game = (duel){0};
  draw_stake(game, env->rng);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  duel *game = env->state;
  const int64_t *moves = action;
  for (int i = 0; i < NUM_PLAYERS; i++) game->last_moves[i] = moves[i];
  game->round++;

  /* each move beats the one before it */
  int64_t ahead = (moves[0] - moves[1] + NUM_MOVES) % NUM_MOVES;
  if (ahead != 0) {
    int winner = ahead == 1 ? 0 : 1;
    game->score[winner] += (int32_t)game->stake;
    result->reward[winner] = (double)game->stake;
    result->reward[1 - winner] = -(double)game->stake;
  }

  int32_t lead = game->score[0] - game->score[1];
  result->terminated = lead >= LEAD || lead <= -LEAD;
  draw_stake(game, env->rng);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const duel *game = env->state;
  float *score = rows[0];
  int64_t *stake = rows[1], *last_move = rows[2];
  int32_t *round = rows[3];
  for (int i = 0; score && i < NUM_PLAYERS; i++) {
    score[2 * i] = (float)game->score[i];
    score[2 * i + 1] = (float)game->score[1 - i];
  }
  if (stake) *stake = game->stake;
  for (int i = 0; last_move && i < NUM_PLAYERS; i++) {
    last_move[i] = game->last_moves[i];
  }
  if (round) *round = game->round;
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const duel *game = saved->state;
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (!pp_state_check_range(env, "score", game->score[i], 0, INT32_MAX / 2) ||
        !pp_state_check_range(env, "last_move", game->last_moves[i], 0, NUM_MOVES - 1)) {
      return PP_ERR_ARGUMENT;
    }
  }
  return pp_state_check_range(env, "round", game->round, 0, INT32_MAX / 2) &&
                 pp_state_check_range(env, "stake", game->stake, 0, 2)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_test_duel_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Duel-v0",
    .family = "test",
    .reference = "none",
    .has_reward_threshold = true,
    .reward_threshold = 5.0,
    .max_episode_steps = 50,
    .state_size = sizeof(duel),
    .num_players = NUM_PLAYERS,
    .num_fields = 4,
    .fields = fields,
    .action = {.name = "action",
               .dtype = PP_INT64,
               .space = PP_DISCRETE,
               .per_player = true,
               .n = NUM_MOVES},
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
