/* Step rows: steps environments into rows of a batch, and resets those whose episodes end. */
#include "step_rows.h"

#include <string.h>

#include "grain.h"
#include "os/os.h"
#include "pool/row.h"

/* --------------------------------------------------------------------------------- fields -- */

/* returns whether a field is written in rows of steps, or of resets */
static bool is_written(const pp_field *field, bool is_reset) {
  return !field->is_info || (field->when & (is_reset ? PP_ON_RESET : PP_ON_STEP));
}

/* Finds the addresses of the fields of consecutive rows. Infos that such rows do not carry are
 * zeroed, so that a reused row never shows old values, and get null, so that the environment skips
 * them. */
static void locate_fields(const pp_natives *natives, const pp_layout *layout, void *memory,
                          int32_t row, int32_t rows, int32_t first_column, bool is_reset,
                          void **fields) {
  const pp_config *config = &natives->fleet->config;
  for (int32_t i = 0; i < layout->num_fields; i++) {
    const pp_column *column = &layout->columns[first_column + i];
    fields[i] = (char *)memory + column->offset + column->row_bytes * row;
    if (is_written(&config->fields[i], is_reset)) continue;
    memset(fields[i], 0, (size_t)(column->row_bytes * rows));
    fields[i] = NULL;
  }
}

static int observe(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                   int32_t env_id, int32_t first_column, bool is_reset) {
  void *fields[PP_MAX_FIELDS];
  int status;
  locate_fields(natives, layout, memory, row, 1, first_column, is_reset, fields);
  status = natives->def->observe(&natives->envs[env_id], fields, is_reset);
  if (status < 0) pp_autoreset_fail(natives, env_id, "observe", status);
  return status;
}

/* ------------------------------------------------------------------------- engine columns -- */

static const double *returns_of(const pp_natives *natives, int32_t env_id) {
  return natives->returns + (size_t)env_id * (size_t)natives->fleet->num_players;
}

static void put_engine(const pp_natives *natives, const pp_layout *layout, void *memory,
                       int32_t row, int32_t env_id, const pp_outcome *outcome) {
  const pp_row values = {env_id, natives->elapsed[env_id], outcome->reward, outcome->terminated,
                         outcome->truncated};
  bool has_ended = outcome->terminated || outcome->truncated;
  pp_row_put(layout, memory, row, &values);
  if (!layout->has_extras) return;
  pp_row_put_extras(layout, memory, row, &values, outcome->is_reset ? 0 : 1 + has_ended,
                    outcome->discount, returns_of(natives, env_id));
}

/* -------------------------------------------------------------------------------- one row -- */

int pp_step_row_write(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                      int32_t env_id, pp_outcome *outcome) {
  int status = outcome->status;
  bool has_ended = outcome->terminated || outcome->truncated, is_reset = outcome->is_reset;

  // before the next episode is started, which changes elapsed and returns
  if (status >= 0) put_engine(natives, layout, memory, row, env_id, outcome);
  if (status >= 0 && has_ended && natives->fleet->autoreset == PP_SAME_STEP) {
    status = observe(natives, layout, memory, row, env_id, layout->final_fields, false);
    if (status >= 0) status = pp_autoreset_restart(natives, env_id);
    if (status < 0) pp_autoreset_fail(natives, env_id, "reset", status);
    is_reset = true;
  }
  if (status >= 0) status = observe(natives, layout, memory, row, env_id, 0, is_reset);
  if (status < 0) pp_row_blank(layout, memory, row, env_id);
  return status;
}

/* ----------------------------------------------------------------------------------- runs -- */

/* truncates episodes where each environment has a time limit of its own */
static void truncate_each(const pp_natives *natives, uint8_t *truncated, int32_t env_id,
                          int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    truncated[i] |=
        (uint32_t)natives->elapsed[env_id + i] >= pp_autoreset_limit(natives, env_id + i);
  }
}

/* counts a step of each environment, writes the engine's columns and sets the phases */
static void put_run(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                    int32_t env_id, int32_t count, const double *rewards) {
  const uint8_t *restrict terminated = pp_layout_at(layout, memory, layout->terminated, row);
  uint8_t *restrict truncated = pp_layout_at(layout, memory, layout->truncated, row);
  uint8_t *restrict phase = natives->fleet->phase + env_id;
  uint32_t limit = natives->has_limits ? UINT32_MAX : pp_autoreset_limit(natives, env_id);

  pp_row_put_run(layout, memory, row, env_id, count, natives->elapsed + env_id, limit, rewards);
  if (natives->has_limits) truncate_each(natives, truncated, env_id, count);
  for (int32_t i = 0; i < count; i++) phase[i] = terminated[i] | truncated[i];
  if (natives->keeps_returns) {
    double *restrict returns = natives->returns + (size_t)env_id * (size_t)layout->num_players;
    for (int32_t i = 0; i < count * layout->num_players; i++) returns[i] += rewards[i];
  }
}

/* updates the cost of a reset from the resets of one run */
static void learn_resets(pp_natives *natives, int64_t start, int32_t count) {
  if (count) pp_autoreset_learn_run(natives, pp_os_now_roughly() - start, count);
}

/* lists the environments of a run whose episode has ended */
static int32_t list_ended(const pp_natives *natives, int32_t env_id, int32_t count,
                          int32_t *ended) {
  const uint8_t *phase = natives->fleet->phase + env_id;
  int32_t listed = 0;
  for (int32_t i = 0; i < count; i += (int32_t)sizeof(uint64_t)) {
    uint64_t eight = 0;
    int32_t left = count - i < (int32_t)sizeof(eight) ? count - i : (int32_t)sizeof(eight);
    memcpy(&eight, phase + i, (size_t)left);
    // no branch for each one, which would be mispredicted: none is PP_FRESH
    for (int32_t j = 0; eight && j < left; j++) {
      ended[listed] = i + j;
      listed += phase[i + j];
    }
  }
  return listed;
}

/* Starts the next episode of an environment of a run, and writes its fields. Returns whether a
 * callback failed; the row is then zero except for its env id. */
static bool restart(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                    int32_t env_id) {
  int status = pp_autoreset_restart(natives, env_id);
  if (status >= 0) status = observe(natives, layout, memory, row, env_id, 0, true);
  if (status >= 0) return false;
  pp_autoreset_fail(natives, env_id, "reset", status);
  pp_row_blank(layout, memory, row, env_id);
  return true;
}

/* SAME_STEP: starts the next episodes of those environments of a run whose episode has ended,
 * mostly none. Returns how many failed. */
static int32_t restart_ended(pp_natives *natives, const pp_layout *layout, void *memory,
                             int32_t row, int32_t env_id, int32_t count) {
  int32_t ended[PP_GRAIN_ROWS], num_ended = list_ended(natives, env_id, count, ended), failed = 0;
  // only if there is a reset: reading the clock costs as much as a cheap step
  int64_t start = num_ended ? pp_os_now_roughly() : 0;
  for (int32_t i = 0; i < num_ended; i++) {
    int32_t at = row + ended[i];
    for (int32_t f = 0; f < layout->num_fields; f++) {
      memcpy(pp_layout_at(layout, memory, layout->final_fields + f, at),
             pp_layout_at(layout, memory, f, at), (size_t)layout->columns[f].row_bytes);
    }
    failed += restart(natives, layout, memory, at, env_id + ended[i]);
  }
  learn_resets(natives, start, num_ended);
  return failed;
}

/* NEXT_STEP: keeps the generators of the environments that are to be reset, while step_many steps
 * them with the others, which keeps the run in one piece. */
static void keep_rngs(const pp_natives *natives, int32_t env_id, const int32_t *ended,
                      int32_t count, pp_rng *kept) {
  for (int32_t i = 0; i < count; i++) kept[i] = natives->rngs[env_id + ended[i]];
}

/* takes the step of these environments back: step_many's draws and rewards, and the step that
 * put_run will count */
static void undo_steps(pp_natives *natives, int32_t env_id, const int32_t *ended, int32_t count,
                       const pp_rng *kept, double *rewards) {
  for (int32_t i = 0; i < count; i++) {
    natives->rngs[env_id + ended[i]] = kept[i];
    natives->elapsed[env_id + ended[i]]--;
    for (int32_t p = 0; p < natives->fleet->num_players; p++) {
      rewards[ended[i] * natives->fleet->num_players + p] = 0;
    }
  }
}

/* resets them, and replaces what step_many and put_run wrote into their rows */
static int32_t reset_ended(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                           int32_t env_id, const int32_t *ended, int32_t count) {
  int32_t failed = 0;
  int64_t start = count ? pp_os_now_roughly() : 0;
  for (int32_t i = 0; i < count; i++) {
    int32_t at = row + ended[i], id = env_id + ended[i];
    pp_row values = {.env_id = id};
    if (restart(natives, layout, memory, at, id)) {
      failed++;
      continue;
    }
    values.elapsed = natives->elapsed[id];
    pp_row_put_reset(layout, memory, at, &values, returns_of(natives, id));
  }
  learn_resets(natives, start, count);
  return failed;
}

/* writes the columns of pp_extra, which few layouts have */
static void put_run_extras(const pp_natives *natives, const pp_layout *layout, void *memory,
                           int32_t row, int32_t env_id, int32_t count) {
  const uint8_t *terminated = pp_layout_at(layout, memory, layout->terminated, row);
  if (!layout->has_extras) return;
  for (int32_t i = 0; i < count; i++) {
    const pp_row values = {.env_id = env_id + i, .elapsed = natives->elapsed[env_id + i]};
    pp_row_put_extras(layout, memory, row + i, &values,
                      1 + (natives->fleet->phase[env_id + i] == PP_ENDED), (float)!terminated[i],
                      returns_of(natives, env_id + i));
  }
}

/* Leaves those failures of a run of which something comes: an environment that is reset anyway
 * can't fail. */
static void drop_ended(const pp_natives *natives, int32_t env_id, pp_failures *failures) {
  int32_t kept = 0;
  for (int32_t k = 0; k < failures->count; k++) {
    int32_t i = failures->at[k];
    if (natives->fleet->phase[env_id + i] == PP_ENDED) {
      failures->errors[i].text[0] = '\0';
    } else {
      failures->at[kept++] = i;
    }
  }
  failures->count = kept;
}

/* keeps environments that failed from being reset as if their episode had ended */
static void hold_failed(pp_natives *natives, int32_t env_id, const pp_failures *failures) {
  for (int32_t k = 0; k < failures->count; k++)
    natives->fleet->phase[env_id + failures->at[k]] = PP_RUNNING;
}

/* replaces the rows of environments that failed; returns how many there are */
static int32_t put_failed(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                          int32_t env_id, const pp_failures *failures) {
  for (int32_t k = 0; k < failures->count; k++) {
    int32_t i = failures->at[k], status = failures->errors[i].code;
    pp_autoreset_fail(natives, env_id + i, "step_many", status < 0 ? status : PP_ERR_ENV);
    pp_row_blank(layout, memory, row + i, env_id + i);
  }
  return failures->count;
}

int32_t pp_step_rows(pp_natives *natives, const pp_layout *layout, void *memory, int32_t row,
                     int32_t env_id, int32_t count, double *rewards) {
  void *fields[PP_MAX_FIELDS];
  int32_t ended[PP_GRAIN_ROWS], num_ended = list_ended(natives, env_id, count, ended), failed = 0;
  pp_failures failures;
  pp_run run = {.states = natives->states + natives->stride * (size_t)env_id,
                .state_stride = natives->stride,
                .actions = pp_natives_action(natives, env_id),
                .reward = rewards,
                .terminated = pp_layout_at(layout, memory, layout->terminated, row),
                .truncated = pp_layout_at(layout, memory, layout->truncated, row),
                .fields = fields,
                .count = count,
                .action_dtype = natives->action_dtypes[env_id],
                .rngs = natives->rngs + env_id,
                .elapsed = natives->elapsed + env_id,
                .ended = natives->fleet->phase + env_id,
                .failures = &failures};
  pp_rng kept[PP_GRAIN_ROWS];
  int status;

  failures.errors = natives->fleet->errors + env_id;
  failures.count = 0;
  locate_fields(natives, layout, memory, row, count, 0, false, fields);
  memset(run.terminated, 0, (size_t)count);
  memset(run.truncated, 0, (size_t)count);
  keep_rngs(natives, env_id, ended, num_ended, kept);
  status = natives->def->step_many(natives->envs[env_id].shared, &run);
  undo_steps(natives, env_id, ended, num_ended, kept, rewards);
  if (status < 0) {
    for (int32_t i = 0; i < count; i++) {
      pp_autoreset_fail(natives, env_id + i, "step_many", status);
      pp_row_blank(layout, memory, row + i, env_id + i);
    }
    return count;
  }
  if (failures.count) drop_ended(natives, env_id, &failures);
  put_run(natives, layout, memory, row, env_id, count, rewards);
  if (failures.count) hold_failed(natives, env_id, &failures);
  put_run_extras(natives, layout, memory, row, env_id, count);
  if (natives->fleet->autoreset == PP_SAME_STEP) {
    failed = restart_ended(natives, layout, memory, row, env_id, count);
  } else {
    failed = reset_ended(natives, layout, memory, row, env_id, ended, num_ended);
  }
  if (failures.count) failed += put_failed(natives, layout, memory, row, env_id, &failures);
  return failed;
}
