/* test/Elimination-v0: players drop out one after another, to test `live` and `ended`.
 *
 * Player i begins with 3 + i points, or one more; an action takes as many points away. A player
 * without points is out, for a reward of -1. The last player left gets 1, and the game is over. */
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { NUM_PLAYERS = 3, FIRST_POINTS = 3 };
enum { OBS, LIVE, ENDED, NUM_FIELDS };

typedef struct elimination {
  int64_t points[NUM_PLAYERS]; /* 0: the player is out */
  uint8_t has_ended[NUM_PLAYERS];
} elimination;

static const pp_field fields[NUM_FIELDS] = {
    /* the player's points, and the number of players left; zeros for a player that is out */
    [OBS] = {.name = "obs",
             .dtype = PP_INT64,
             .per_player = true,
             .ndim = 1,
             .shape = {2},
             .low = 0,
             .high = FIRST_POINTS + NUM_PLAYERS},
    [LIVE] =
        {.name = "live", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true},
    [ENDED] =
        {.name = "ended", .is_info = true, .when = PP_ALWAYS, .dtype = PP_BOOL, .per_player = true},
};

static int players_left(const elimination *game) {
  int left = 0;
  for (int i = 0; i < NUM_PLAYERS; i++) left += game->points[i] > 0;
  return left;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  elimination *game = env->state;
  *game = (elimination){0};
  for (int i = 0; i < NUM_PLAYERS; i++) {
    game->points[i] = FIRST_POINTS + i + pp_rng_integers(env->rng, 0, 2);
  }
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  elimination *game = env->state;
  const int64_t *losses = action;
  memset(game->has_ended, 0, sizeof(game->has_ended));
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (game->points[i] == 0) continue;
    game->points[i] -= losses[i] < game->points[i] ? losses[i] : game->points[i];
    if (game->points[i] > 0) continue;
    game->has_ended[i] = 1;
    result->reward[i] = -1;
  }
  if (players_left(game) > 1) return PP_OK;
  result->terminated = 1;
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (game->points[i] == 0) continue;
    game->has_ended[i] = 1;
    result->reward[i] = 1;
  }
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const elimination *game = env->state;
  int64_t *obs = rows[OBS];
  uint8_t *live = rows[LIVE], *terminated = rows[ENDED];
  for (int i = 0; i < NUM_PLAYERS; i++) {
    bool shows = game->points[i] > 0 || game->has_ended[i];
    if (obs) {
      obs[2 * i] = game->points[i];
      obs[2 * i + 1] = shows ? players_left(game) : 0;
    }
    if (live) live[i] = game->points[i] > 0;
    if (terminated) terminated[i] = game->has_ended[i];
  }
  return PP_OK;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const elimination *game = saved->state;
  for (int i = 0; i < NUM_PLAYERS; i++) {
    if (!pp_state_check_range(env, "points", game->points[i], 0, FIRST_POINTS + NUM_PLAYERS)) {
      return PP_ERR_ARGUMENT;
    }
  }
  return pp_state_check_bytes(env, "has_ended", game->has_ended, NUM_PLAYERS, 1) ? PP_OK
                                                                                 : PP_ERR_ARGUMENT;
}

const pp_env_def pp_env_test_elimination_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Elimination-v0",
    .family = "test",
    .reference = "none",
    .max_episode_steps = 4,
    .state_size = sizeof(elimination),
    .num_players = NUM_PLAYERS,
    .num_fields = NUM_FIELDS,
    .fields = fields,
    .action =
        {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .per_player = true, .n = 3},
    .reset = reset,
    .step = step,
    .observe = observe,
    .check_state = check_state,
};
