/* test/Turns-v0: players act one after another, to test `live` without `terminated`.
 *
 * Three players take turns; after each round the bank acts, and nobody else. A player divides what
 * it gives: action[0] is its own reward, action[1] that of the next player. The bank gives each
 * player as much as its number. The episode ends after 5 to 8 turns, or with the time limit. */

#include "base/fail.h"
#include "base/random.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { NUM_PLAYERS = 3, ROUND = NUM_PLAYERS + 1, FIRST_LIMIT = 5 };
enum { SEEN, TURN, MOVES, LIVE, NUM_FIELDS };

typedef struct turns {
  int64_t turn;
  int64_t limit;
  int64_t moves[NUM_PLAYERS];
  float got[NUM_PLAYERS]; /* in this episode */
} turns;

static const pp_option options[] = {
    {.name = "fail_at",
     .type = PP_OPT_INT,
     .number = -1,
     .low = -1,
     .high = 100,
     .doc = "turn that fails, -1 for none"},
};

static const pp_field fields[NUM_FIELDS] = {
    /* what the player and the next one have got so far */
    [SEEN] = {.name = "seen",
              .dtype = PP_FLOAT32,
              .per_player = true,
              .ndim = 1,
              .shape = {2},
              .low = -100,
              .high = 100},
    [TURN] = {.name = "turn", .dtype = PP_INT64, .space = PP_DISCRETE, .n = FIRST_LIMIT + 4},
    [MOVES] = {.name = "moves",
               .is_info = true,
               .when = PP_ALWAYS,
               .dtype = PP_INT64,
               .per_player = true},
    [LIVE] =
        {.name = "live", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true},
};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  turns *game = env->state;
  *game = (turns){.limit = FIRST_LIMIT + pp_rng_integers(env->rng, 0, 4)};
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  turns *game = env->state;
  const float *gifts = action;
  int64_t mover = game->turn % ROUND;
  if (game->turn == env->options[0].i) {
    return pp_fail(env->error, PP_ERR_ENV, "turn %d", (int)game->turn);
  }
  if (mover < NUM_PLAYERS) {
    result->reward[mover] = gifts[2 * mover];
    result->reward[(mover + 1) % NUM_PLAYERS] = gifts[2 * mover + 1];
    game->moves[mover]++;
  } else {
    for (int i = 0; i < NUM_PLAYERS; i++) result->reward[i] = i;
  }
  for (int i = 0; i < NUM_PLAYERS; i++) game->got[i] += (float)result->reward[i];
  result->terminated = ++game->turn >= game->limit;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const turns *game = env->state;
  float *seen = rows[SEEN];
  int64_t *turn = rows[TURN], *moves = rows[MOVES];
  uint8_t *live = rows[LIVE];
  if (turn) *turn = game->turn;
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (seen) {
      seen[2 * i] = game->got[i];
      seen[2 * i + 1] = game->got[(i + 1) % NUM_PLAYERS];
    }
    if (moves) moves[i] = game->moves[i];
    if (live) live[i] = game->turn % ROUND == i;
  }
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const turns *game = saved->state;
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (!pp_state_check_range(env, "moves", game->moves[i], 0, PP_STATE_MOST)) {
      return PP_ERR_ARGUMENT;
    }
  }
  return pp_state_check_range(env, "turn", game->turn, 0, FIRST_LIMIT + 3) &&
                 pp_state_check_range(env, "limit", game->limit, 0, FIRST_LIMIT + 3)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_test_turns_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Turns-v0",
    .family = "test",
    .reference = "none",
    .max_episode_steps = 7,
    .options = options,
    .num_options = 1,
    .state_size = sizeof(turns),
    .num_players = NUM_PLAYERS,
    .num_fields = NUM_FIELDS,
    .fields = fields,
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .per_player = true,
               .ndim = 1,
               .shape = {2},
               .low = -1,
               .high = 1},
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
