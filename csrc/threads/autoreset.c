/* Autoreset: decides whether one environment is stepped or reset next, and does it. */
#include "autoreset.h"

#include <string.h>

#include "base/random.h"
#include "pool/error.h"
#include "pool/row.h"

void pp_autoreset_fail(pp_natives *natives, int32_t env_id, const char *callback, int status) {
  pp_error *error = &natives->fleet->errors[env_id];
  pp_error_explain(error, callback, status);
  error->code = status;
  error->env_id = env_id;
  natives->fleet->phase[env_id] = PP_FRESH;
}

/* Draws the options of the next episode, after it has given a pending seed to their generator. */
static void draw_options(pp_natives *natives, int32_t env_id) {
  int32_t words = natives->seed_sizes[env_id];
  if (words) pp_draws_seed(&natives->draws, env_id, natives->seeds[env_id], words);
  pp_draws_options(&natives->draws, env_id);
}

/* gives a pending seed to the generator, and to the environment if it has a seed callback */
static int take_seed(pp_natives *natives, int32_t env_id) {
  pp_seed seed = {natives->seeds[env_id], natives->seed_sizes[env_id]};
  if (!seed.num_words) return PP_OK;
  natives->seed_sizes[env_id] = 0;
  pp_rng_seed(&natives->rngs[env_id], seed.words, seed.num_words);
  int status = natives->def->seed ? natives->def->seed(&natives->envs[env_id], &seed) : PP_OK;
  if (status < 0) pp_error_explain(&natives->fleet->errors[env_id], "seed", status);
  return status;
}

/* starts an episode; a command other than PP_COMMAND_STEP means that the caller asked for it */
static int begin_episode(pp_natives *natives, int32_t env_id, int32_t command) {
  pp_reset reset = {.forced = command != PP_COMMAND_STEP,
                    .options = command == PP_COMMAND_RESET_OPTIONS ? natives->reset_options : NULL};
  int status;

  // before the seed callback, which may read the options
  if (natives->draws.count) draw_options(natives, env_id);
  status = take_seed(natives, env_id);
  if (status >= 0) status = natives->def->reset(&natives->envs[env_id], &reset);
  if (status < 0) return status;
  if (!reset.continues) {
    // not before, as the callback may look at the limit of the episode that has ended
    if (natives->draws.count) {
      pp_draws_limit(&natives->draws, env_id, &natives->envs[env_id].max_episode_steps);
    }
    natives->elapsed[env_id] = 0;
    memset(natives->returns + (size_t)env_id * (size_t)natives->fleet->num_players, 0,
           sizeof(double) * (size_t)natives->fleet->num_players);
  }
  natives->fleet->phase[env_id] = PP_RUNNING;
  return PP_OK;
}

/* steps an environment in the middle of an episode */
static int step(pp_natives *natives, int32_t env_id, pp_outcome *outcome) {
  pp_fleet *fleet = natives->fleet;
  pp_result result = {.reward = outcome->reward, .discount = 1};
  double *returns = natives->returns + (size_t)env_id * (size_t)fleet->num_players;
  int status =
      natives->def->step(&natives->envs[env_id], pp_natives_action(natives, env_id), &result);

  if (status < 0) return status;
  natives->elapsed[env_id] = pp_row_next_elapsed(natives->elapsed[env_id]);
  outcome->terminated = result.terminated != 0;
  outcome->truncated =
      result.truncated || (uint32_t)natives->elapsed[env_id] >= pp_autoreset_limit(natives, env_id);
  outcome->discount = result.has_discount ? result.discount : (float)!result.terminated;
  for (int32_t p = 0; natives->keeps_returns && p < fleet->num_players; p++) {
    returns[p] += outcome->reward[p];
  }
  fleet->phase[env_id] = outcome->terminated || outcome->truncated ? PP_ENDED : PP_RUNNING;
  return PP_OK;
}

void pp_autoreset_advance(pp_natives *natives, int32_t env_id, pp_outcome *outcome) {
  pp_fleet *fleet = natives->fleet;
  int32_t command = fleet->command[env_id];

  memset(outcome->reward, 0, sizeof(double) * (size_t)fleet->num_players);
  outcome->discount = 1;
  outcome->terminated = outcome->truncated = false;
  outcome->is_reset = command != PP_COMMAND_STEP || fleet->phase[env_id] != PP_RUNNING;
  // an environment that failed is always reset next, so a step has no error text to clear
  if (outcome->is_reset) fleet->errors[env_id].text[0] = '\0';
  outcome->status =
      outcome->is_reset ? begin_episode(natives, env_id, command) : step(natives, env_id, outcome);
  if (outcome->status < 0) {
    pp_autoreset_fail(natives, env_id, outcome->is_reset ? "reset" : "step", outcome->status);
  }
}

int pp_autoreset_restart(pp_natives *natives, int32_t env_id) {
  return begin_episode(natives, env_id, PP_COMMAND_STEP);
}
