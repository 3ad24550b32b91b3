/* Moves, ends and observations of games on a grid. */
#include "grid.h"

#include <string.h>

#include "base/run.h"
#include "base/state_check.h"

/* the rules are read-only, and nothing is released */
int grid_configure(pp_config *config) {
  config->shared = (void *)config->def->data;
  return PP_OK;
}

int grid_reset(pp_env *env, pp_reset *how) {
  (void)how;
  *(grid_state *)env->state = (grid_state){0};
  return PP_OK;
}

/* Makes a move of the selected player; adds nothing to rewards and flags that stay 0. */
static void move(grid_state *it, const int64_t *actions, const grid_rules *rules, double *reward,
                 uint8_t *terminated, uint8_t *truncated) {
  int32_t mover = it->selected, other = 1 - mover;
  int64_t chosen = actions[mover];

  // PettingZoo's TerminateIllegalWrapper: both flags, and the first agent is the first to leave
  if (it->cells[chosen]) {
    reward[mover] = -1;
    *terminated = *truncated = it->is_over = 1;
    it->selected = 0;
    return;
  }

  int32_t cell = rules->land(it->cells, chosen);
  it->cells[cell] = (uint8_t)(mover + 1);
  it->pieces++;
  it->selected = (uint8_t)other;
  if (rules->wins(it->cells, cell)) {
    reward[mover] = 1;
    reward[other] = -1;
    it->is_over = 1;
  } else if (it->pieces == rules->num_cells) {
    it->is_over = 1;
  }
  *terminated = it->is_over;
}

static void write_observations(const grid_state *it, int8_t *out, const grid_rules *rules) {
  int32_t count = rules->num_cells;
  for (int32_t player = 0; player < GRID_PLAYERS; player++) {
    for (int32_t cell = 0; cell < count; cell++) {
      int8_t *planes = out + GRID_PLAYERS * (player * count + cell);
      planes[0] = it->cells[cell] == 1 + player;
      planes[1] = it->cells[cell] == 2 - player;
    }
  }
}

/* Only the selected player has legal moves, also after the end. */
static void write_masks(const grid_state *it, int8_t *out, const grid_rules *rules) {
  int8_t *mask = out + it->selected * rules->num_moves;
  memset(out, 0, (size_t)(GRID_PLAYERS * rules->num_moves));
  for (int32_t i = 0; i < rules->num_moves; i++) mask[i] = !it->cells[i];
}

/* writes row `row` of every field that is wanted */
static void write_row(const grid_state *it, void *const *fields, int32_t row,
                      const grid_rules *rules) {
  int8_t *observations = fields[0], *masks = fields[1];
  uint8_t *live = fields[2];
  ptrdiff_t players = GRID_PLAYERS * (ptrdiff_t)row;
  if (observations) {
    write_observations(it, observations + GRID_PLAYERS * players * rules->num_cells, rules);
  }
  if (masks) write_masks(it, masks + players * rules->num_moves, rules);
  for (int32_t player = 0; live && player < GRID_PLAYERS; player++) {
    live[players + player] = !it->is_over && player == it->selected;
  }
}

int grid_step(pp_env *env, const void *action, pp_result *result) {
  move(env->state, action, env->shared, result->reward, &result->terminated, &result->truncated);
  return PP_OK;
}

int grid_observe(pp_env *env, void *const *fields, bool is_reset) {
  (void)is_reset;
  write_row(env->state, fields, 0, env->shared);
  return PP_OK;
}

int grid_step_many(void *shared, const pp_run *run) {
  const grid_rules *rules = shared;
  const int64_t *actions = run->actions;
  memset(run->reward, 0, sizeof(double) * GRID_PLAYERS * (size_t)run->count);
  for (int32_t i = 0; i < run->count; i++) {
    grid_state *it = pp_run_state(run, i);
    // the engine resets this game, and shows nothing of this step
    if (run->ended[i]) continue;
    move(it, actions + GRID_PLAYERS * i, rules, run->reward + GRID_PLAYERS * i, &run->terminated[i],
         &run->truncated[i]);
    write_row(it, run->fields, i, rules);
  }
  return PP_OK;
}

int grid_check_state(const pp_env *env, const pp_saved *saved) {
  const grid_state *it = saved->state;
  const grid_rules *rules = env->shared;
  return pp_state_check_bytes(env, "cells", it->cells, GRID_MAX_CELLS, GRID_PLAYERS) &&
                 pp_state_check_range(env, "is_over", it->is_over, 0, 1) &&
                 pp_state_check_range(env, "selected", it->selected, 0, GRID_PLAYERS - 1) &&
                 pp_state_check_range(env, "pieces", it->pieces, 0, rules->num_cells)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}
