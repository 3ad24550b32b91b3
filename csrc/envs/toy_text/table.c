/* Table: makes tables of transitions, and plays them with the draws of Gymnasium 1.4.0.
 *
 * A draw (envs/toy_text/utils.py) is one random() and the first outcome whose sum of probabilities
 * is greater; the first outcome if none is. A certain outcome needs a draw, too. */
#include "table.h"

#include <stdlib.h>

#include "base/run.h"
#include "base/state_check.h"

/* ------------------------------------------------------------------------------- the table -- */

table *table_create(int64_t num_states, int32_t num_actions) {
  table *it = calloc(1, sizeof(*it));
  if (!it) return NULL;
  it->num_states = (int32_t)num_states;
  it->num_actions = num_actions;
  it->rows = calloc((size_t)num_states * (size_t)num_actions, sizeof(*it->rows));
  it->starts = calloc((size_t)num_states, sizeof(*it->starts));
  it->start_sums = calloc((size_t)num_states, sizeof(*it->start_sums));
  if (!it->rows || !it->starts || !it->start_sums) {
    table_release(it);
    return NULL;
  }
  it->odds[TABLE_CERTAIN] = (table_odds_row){{1, 0, 0}, {1, -INFINITY, -INFINITY}};
  return it;
}

void table_set_odds(table *it, const double probability[TABLE_OUTCOMES]) {
  double sum = 0;
  for (int i = 0; i < TABLE_OUTCOMES; i++) {
    sum += probability[i];
    it->odds[TABLE_SLIPPERY].probability[i] = probability[i];
    it->odds[TABLE_SLIPPERY].sum[i] = sum;
  }
}

bool table_varies(pp_config *config, int32_t first, int32_t last) {
  bool varies = false;
  for (int32_t i = first; i <= last && config->varying; i++) varies |= config->varying[i] != 0;
  config->avoids_runs |= varies;
  return varies;
}

void table_set_starts(table *it, const bool *is_start) {
  int32_t count = 0;
  for (int32_t i = 0; i < it->num_states; i++) count += is_start[i];
  double sum = 0;
  for (int32_t i = 0; i < it->num_states; i++) {
    if (!is_start[i]) continue;
    sum += 1.0 / count;
    it->starts[it->num_starts] = i;
    it->start_sums[it->num_starts++] = sum;
  }
}

void table_release(void *shared) {
  table *it = shared;
  if (!it) return;
  free(it->rows);
  free(it->starts);
  free(it->start_sums);
  free(it);
}

/* --------------------------------------------------------------------------------- playing -- */

/* Draws the state in which an episode begins. The sums grow, so a search by halves finds it. */
static int64_t draw_start(const table *it, pp_rng *rng) {
  double drawn = pp_rng_double(rng);
  int32_t low = 0, high = it->num_starts;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (it->start_sums[middle] > drawn) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < it->num_starts ? it->starts[low] : 0;
}

void table_begin(const table *it, pp_rng *rng, table_state *state) {
  state->state = draw_start(it, rng);
  state->last_action = -1;
  state->resets++;
  state->probability = 1;
}

/* draws an outcome and moves there; returns the reward */
static inline double act(const table *it, pp_rng *rng, int64_t action, table_state *state,
                         uint8_t *terminated) {
  const table_row *row = &it->rows[state->state * it->num_actions + action];
  const table_odds_row *odds = &it->odds[row->odds];
  double drawn = pp_rng_double(rng);
  /* The first sum that is greater wins, 0 if none is. Without branches, as half of them would be
   * mispredicted. */
  unsigned first = odds->sum[0] > drawn, second = odds->sum[1] > drawn;
  unsigned third = (odds->sum[2] > drawn) & ~second;
  unsigned i = (second | third << 1) & (first - 1);
  state->state = row->next[i];
  state->last_action = action;
  state->probability = odds->probability[i];
  *terminated = row->terminated[i];
  return it->rewards[row->reward[i]];
}

double table_act(const table *it, pp_rng *rng, int64_t action, table_state *state,
                 uint8_t *terminated) {
  return act(it, rng, action, state, terminated);
}

void table_act_many(const table *it, const pp_run *run) {
  const pp_run all = *run; /* a copy, as stores might change what run points to */
  const int64_t *actions = all.actions;
  for (int32_t i = 0; i < all.count; i++) {
    table_state *state = pp_run_state(&all, i);
    all.reward[i] = act(it, &all.rngs[i], actions[i], state, &all.terminated[i]);
  }
}

void table_observe_many(const pp_run *run) {
  int64_t *observations = run->fields[0];
  double *probabilities = run->fields[1];
  for (int32_t i = 0; i < run->count; i++) {
    const table_state *state = pp_run_state(run, i);
    if (observations) observations[i] = state->state;
    if (probabilities) probabilities[i] = state->probability;
  }
}

bool table_has(const table *it, const pp_env *env, const table_state *state) {
  return pp_state_check_range(env, "state", state->state, 0, it->num_states - 1) &&
         pp_state_check_range(env, "last_action", state->last_action, -1, it->num_actions - 1) &&
         pp_state_check_range(env, "resets", state->resets, 0, PP_STATE_MOST);
}

int table_check_state(const pp_env *env, const pp_saved *saved) {
  return table_has(env->shared, env, saved->state) ? PP_OK : PP_ERR_ARGUMENT;
}

int table_reset(pp_env *env, pp_reset *how) {
  (void)how;
  table_begin(env->shared, env->rng, env->state);
  return PP_OK;
}

int table_step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] =
      table_act(env->shared, env->rng, *(const int64_t *)action, env->state, &result->terminated);
  return PP_OK;
}

int table_step_many(void *shared, const pp_run *run) {
  table_act_many(shared, run);
  table_observe_many(run);
  return PP_OK;
}

int table_observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const table_state *state = env->state;
  if (rows[0]) *(int64_t *)rows[0] = state->state;
  if (rows[1]) *(double *)rows[1] = state->probability;
  return PP_OK;
}
