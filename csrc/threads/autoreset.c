/* Autoreset: decides whether one environment is stepped or reset next, and does it. */
#include "autoreset.h"

#include <string.h>

#include "base/random.h"
#include "grain.h"
#include "os/os.h"
#include "pool/error.h"
#include "pool/row.h"

/* else one tick of the rough clock would look like a long run of resets */
_Static_assert((int64_t)PP_GRAIN_LONG > PP_OS_ROUGH_NS, "the rough clock can't measure this");

enum { EXPENSIVE = 100000 /* ns of a reset that is enough work for a chunk of its own */ };

void pp_autoreset_fail(pp_fleet *fleet, int32_t env_id, const char *callback, int status) {
  pp_error *error = &fleet->errors[env_id];
  pp_error_explain(error, callback, status);
  error->code = status;
  error->env_id = env_id;
  fleet->phase[env_id] = PP_FRESH;
}

/* Draws the options of the next episode, from the generator that the pending seed, if any, gives.
 */
static void draw_options(pp_fleet *fleet, int32_t env_id) {
  int32_t words = fleet->seed_sizes[env_id];
  if (words) pp_draws_seed(&fleet->draws, env_id, fleet->seeds[env_id], words);
  pp_draws_options(&fleet->draws, env_id);
}

/* gives a pending seed to the generator, and to the environment if it has a seed callback */
static int take_seed(pp_fleet *fleet, int32_t env_id) {
  pp_seed seed = {fleet->seeds[env_id], fleet->seed_sizes[env_id]};
  if (!seed.num_words) return PP_OK;
  fleet->seed_sizes[env_id] = 0;
  pp_rng_seed(&fleet->rngs[env_id], seed.words, seed.num_words);
  int status = fleet->def->seed ? fleet->def->seed(&fleet->envs[env_id], &seed) : PP_OK;
  if (status < 0) pp_error_explain(&fleet->errors[env_id], "seed", status);
  return status;
}

/* starts an episode; a command other than PP_COMMAND_STEP means that the caller asked for it */
static int begin_episode(pp_fleet *fleet, int32_t env_id, int32_t command) {
  pp_reset reset = {.forced = command != PP_COMMAND_STEP,
                    .options = command == PP_COMMAND_RESET_OPTIONS ? fleet->reset_options : NULL};
  int status;

  // before the seed callback, which may read the options
  if (fleet->draws.count) draw_options(fleet, env_id);
  status = take_seed(fleet, env_id);
  if (status >= 0) status = fleet->def->reset(&fleet->envs[env_id], &reset);
  if (status < 0) return status;
  if (!reset.continues) {
    // not before, as the callback may look at the limit of the episode that has ended
    if (fleet->draws.count) {
      pp_draws_limit(&fleet->draws, env_id, &fleet->envs[env_id].max_episode_steps);
    }
    fleet->elapsed[env_id] = 0;
    memset(fleet->returns + (size_t)env_id * (size_t)fleet->num_players, 0,
           sizeof(double) * (size_t)fleet->num_players);
  }
  fleet->phase[env_id] = PP_RUNNING;
  return PP_OK;
}

/* steps an environment in the middle of an episode */
static int step(pp_fleet *fleet, int32_t env_id, pp_outcome *outcome) {
  pp_result result = {.reward = outcome->reward, .discount = 1};
  double *returns = fleet->returns + (size_t)env_id * (size_t)fleet->num_players;
  int status = fleet->def->step(&fleet->envs[env_id], pp_fleet_action(fleet, env_id), &result);

  if (status < 0) return status;
  fleet->elapsed[env_id] = pp_row_next_elapsed(fleet->elapsed[env_id]);
  outcome->terminated = result.terminated != 0;
  outcome->truncated =
      result.truncated || (uint32_t)fleet->elapsed[env_id] >= pp_autoreset_limit(fleet, env_id);
  outcome->discount = result.has_discount ? result.discount : (float)!result.terminated;
  for (int32_t p = 0; fleet->keeps_returns && p < fleet->num_players; p++) {
    returns[p] += outcome->reward[p];
  }
  fleet->phase[env_id] = outcome->terminated || outcome->truncated ? PP_ENDED : PP_RUNNING;
  return PP_OK;
}

void pp_autoreset_advance(pp_fleet *fleet, int32_t env_id, pp_outcome *outcome) {
  int32_t command = fleet->command[env_id];

  memset(outcome->reward, 0, sizeof(double) * (size_t)fleet->num_players);
  outcome->discount = 1;
  outcome->terminated = outcome->truncated = false;
  outcome->is_reset = command != PP_COMMAND_STEP || fleet->phase[env_id] != PP_RUNNING;
  // an environment that failed is always reset next, so a step has no error text to clear
  if (outcome->is_reset) fleet->errors[env_id].text[0] = '\0';
  outcome->status =
      outcome->is_reset ? begin_episode(fleet, env_id, command) : step(fleet, env_id, outcome);
  if (outcome->status < 0) {
    pp_autoreset_fail(fleet, env_id, outcome->is_reset ? "reset" : "step", outcome->status);
  }
}

void pp_autoreset_learn(pp_fleet *fleet, int64_t nanoseconds) {
  int64_t least = atomic_load_explicit(&fleet->reset_cost, memory_order_relaxed);
  if (least && nanoseconds >= least) return;
  atomic_store_explicit(&fleet->reset_cost, nanoseconds > 0 ? nanoseconds : 1,
                        memory_order_relaxed);
}

void pp_autoreset_learn_run(pp_fleet *fleet, int64_t nanoseconds, int32_t count) {
  if (nanoseconds < PP_GRAIN_LONG) return;
  atomic_store_explicit(&fleet->reset_cost, nanoseconds / count, memory_order_relaxed);
}

bool pp_autoreset_is_expensive(const pp_fleet *fleet) {
  return atomic_load_explicit(&fleet->reset_cost, memory_order_relaxed) >= EXPENSIVE;
}

int pp_autoreset_restart(pp_fleet *fleet, int32_t env_id) {
  return begin_episode(fleet, env_id, PP_COMMAND_STEP);
}
