/* Row writer: steps environments into rows of a batch, and resets those whose episodes end. */
#include "row_writer.h"

#include <string.h>

#include "cost.h"
#include "pool/row.h"

/* returns the address of a column in the i-th row */
static void *cell(const pp_rows *rows, int32_t column, int32_t i) {
  return pp_layout_at(rows->layout, rows->memory, column, rows->first + i);
}

/* returns the i-th row alone */
static pp_rows row_of(const pp_rows *rows, int32_t i) {
  pp_rows one = *rows;
  one.first += i;
  one.env_id += i;
  one.count = 1;
  return one;
}

static void blank(const pp_rows *rows, int32_t i) {
  pp_row_blank(rows->layout, rows->memory, rows->first + i, rows->env_id + i);
}

/* --------------------------------------------------------------------------------- fields -- */

/* returns whether a field is written in rows of steps, or of resets */
static bool is_written(const pp_field *field, bool is_reset) {
  const int32_t wanted = is_reset ? PP_ON_RESET : PP_ON_STEP | PP_ON_TERMINATION;
  return !field->is_info || (field->when & wanted);
}

/* Finds the addresses of the fields. Infos that such rows do not carry are zeroed, so that a reused
 * row never shows old values, and get null, so that the environment skips them. */
static void locate_fields(const pp_rows *rows, int32_t first_column, bool is_reset, void **fields) {
  const pp_config *config = &rows->natives->fleet->config;
  for (int32_t i = 0; i < rows->layout->num_fields; i++) {
    const pp_column *column = &rows->layout->columns[first_column + i];
    fields[i] = (char *)rows->memory + column->offset + column->row_bytes * rows->first;
    if (is_written(&config->fields[i], is_reset)) continue;
    memset(fields[i], 0, (size_t)(column->row_bytes * rows->count));
    fields[i] = NULL;
  }
}

/* Writes the fields of one row. It is called once for each step and each reset, which is what a
 * stack of frames counts. */
static int observe(const pp_rows *row, int32_t first_column, bool is_reset) {
  pp_natives *natives = row->natives;
  pp_pictures *pictures = &natives->pictures;
  void *fields[PP_MAX_FIELDS], *observation;
  int status;
  locate_fields(row, first_column, is_reset, fields);
  observation = fields[0];
  if (pictures->num_frames) fields[0] = pp_pictures_target(pictures, row->env_id);
  status = natives->def->observe(&natives->envs[row->env_id], fields, is_reset);
  if (status < 0) pp_autoreset_fail(natives, row->env_id, "observe", status);
  if (status < 0 || !pictures->num_frames) return status;
  pp_pictures_take(pictures, row->env_id, is_reset);
  pp_pictures_show(pictures, row->env_id, observation);
  return PP_OK;
}

/* ------------------------------------------------------------------------- engine columns -- */

static const double *returns_of(const pp_natives *natives, int32_t env_id) {
  return natives->returns + (size_t)env_id * (size_t)natives->fleet->num_players;
}

static void put_engine(const pp_rows *row, const pp_outcome *outcome) {
  const pp_row values = {row->env_id, row->natives->elapsed[row->env_id], outcome->reward,
                         outcome->terminated, outcome->truncated};
  bool has_ended = outcome->terminated || outcome->truncated;
  pp_row_put(row->layout, row->memory, row->first, &values);
  if (!row->layout->has_extras) return;
  pp_row_put_extras(row->layout, row->memory, row->first, &values,
                    outcome->is_reset ? 0 : 1 + has_ended, outcome->discount,
                    returns_of(row->natives, row->env_id));
}

/* -------------------------------------------------------------------------------- one row -- */

int pp_rows_write(const pp_rows *row, pp_outcome *outcome) {
  pp_natives *natives = row->natives;
  int status = outcome->status;
  bool has_ended = outcome->terminated || outcome->truncated, is_reset = outcome->is_reset;

  // before the next episode is started, which changes elapsed and returns
  if (status >= 0) put_engine(row, outcome);
  if (status >= 0 && has_ended && natives->fleet->autoreset == PP_SAME_STEP) {
    status = observe(row, row->layout->final_fields, false);
    if (status >= 0) status = pp_autoreset_restart(natives, row->env_id);
    if (status < 0) pp_autoreset_fail(natives, row->env_id, "reset", status);
    is_reset = true;
  }
  if (status >= 0) status = observe(row, 0, is_reset);
  if (status < 0) blank(row, 0);
  return status;
}

/* ----------------------------------------------------------------------------------- runs -- */

/* truncates episodes where each environment has a time limit of its own */
static void truncate_each(const pp_rows *rows, uint8_t *truncated) {
  const pp_natives *natives = rows->natives;
  for (int32_t i = 0; i < rows->count; i++) {
    int32_t id = rows->env_id + i;
    truncated[i] |= (uint32_t)natives->elapsed[id] >= pp_autoreset_limit(natives, id);
  }
}

/* counts a step of each environment, writes the engine's columns and sets the phases */
static void put_run(const pp_rows *rows, const double *rewards) {
  pp_natives *natives = rows->natives;
  int32_t env_id = rows->env_id, count = rows->count, players = rows->layout->num_players;
  const uint8_t *restrict terminated = cell(rows, rows->layout->terminated, 0);
  uint8_t *restrict truncated = cell(rows, rows->layout->truncated, 0);
  uint8_t *restrict phase = natives->fleet->phase + env_id;
  uint32_t limit = natives->has_limits ? UINT32_MAX : pp_autoreset_limit(natives, env_id);

  pp_row_put_run(rows->layout, rows->memory, rows->first, env_id, count, natives->elapsed + env_id,
                 limit, rewards);
  if (natives->has_limits) truncate_each(rows, truncated);
  for (int32_t i = 0; i < count; i++) phase[i] = terminated[i] | truncated[i];
  if (natives->keeps_returns) {
    double *restrict returns = natives->returns + (size_t)env_id * (size_t)players;
    for (int32_t i = 0; i < count * players; i++) returns[i] += rewards[i];
  }
}

/* lists the places in a run of those environments whose episode has ended */
static int32_t list_ended(const pp_rows *rows, int32_t *ended) {
  const uint8_t *phase = rows->natives->fleet->phase + rows->env_id;
  int32_t listed = 0, count = rows->count;
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
static bool restart(const pp_rows *row) {
  int status = pp_autoreset_restart(row->natives, row->env_id);
  if (status >= 0) status = observe(row, 0, true);
  if (status >= 0) return false;
  pp_autoreset_fail(row->natives, row->env_id, "reset", status);
  blank(row, 0);
  return true;
}

/* SAME_STEP: starts the next episodes of those environments of a run whose episode has ended,
 * mostly none. Returns how many failed. */
static int32_t restart_ended(const pp_rows *rows) {
  const pp_layout *layout = rows->layout;
  int32_t ended[PP_MAX_CHUNK], num_ended = list_ended(rows, ended), failed = 0;
  for (int32_t i = 0; i < num_ended; i++) {
    const pp_rows row = row_of(rows, ended[i]);
    for (int32_t f = 0; f < layout->num_fields; f++) {
      memcpy(cell(&row, layout->final_fields + f, 0), cell(&row, f, 0),
             (size_t)layout->columns[f].row_bytes);
    }
    failed += restart(&row);
  }
  return failed;
}

/* NEXT_STEP: saves the generators of environments whose episode has ended. step_many steps them
 * too, so that the run stays contiguous; undo_steps restores the generators. */
static void keep_rngs(const pp_rows *rows, const int32_t *ended, int32_t num_ended, pp_rng *kept) {
  for (int32_t i = 0; i < num_ended; i++) kept[i] = rows->natives->rngs[rows->env_id + ended[i]];
}

/* takes the step of these environments back: step_many's draws and rewards, and the step that
 * put_run will count */
static void undo_steps(const pp_rows *rows, const int32_t *ended, int32_t num_ended,
                       const pp_rng *kept, double *rewards) {
  pp_natives *natives = rows->natives;
  for (int32_t i = 0; i < num_ended; i++) {
    natives->rngs[rows->env_id + ended[i]] = kept[i];
    natives->elapsed[rows->env_id + ended[i]]--;
    for (int32_t p = 0; p < natives->fleet->num_players; p++) {
      rewards[ended[i] * natives->fleet->num_players + p] = 0;
    }
  }
}

/* resets them, and replaces what step_many and put_run wrote into their rows */
static int32_t reset_ended(const pp_rows *rows, const int32_t *ended, int32_t num_ended) {
  int32_t failed = 0;
  for (int32_t i = 0; i < num_ended; i++) {
    const pp_rows row = row_of(rows, ended[i]);
    pp_row values = {.env_id = row.env_id};
    if (restart(&row)) {
      failed++;
      continue;
    }
    values.elapsed = row.natives->elapsed[row.env_id];
    pp_row_put_reset(row.layout, row.memory, row.first, &values,
                     returns_of(row.natives, row.env_id));
  }
  return failed;
}

/* writes the columns of pp_extra, which few layouts have */
static void put_run_extras(const pp_rows *rows) {
  const pp_natives *natives = rows->natives;
  const uint8_t *terminated = cell(rows, rows->layout->terminated, 0);
  if (!rows->layout->has_extras) return;
  for (int32_t i = 0; i < rows->count; i++) {
    int32_t id = rows->env_id + i;
    const pp_row values = {.env_id = id, .elapsed = natives->elapsed[id]};
    pp_row_put_extras(rows->layout, rows->memory, rows->first + i, &values,
                      1 + (natives->fleet->phase[id] == PP_ENDED), (float)!terminated[i],
                      returns_of(natives, id));
  }
}

/* Leaves those failures of a run of which something comes: an environment that is reset anyway
 * can't fail. */
static void drop_ended(const pp_rows *rows, pp_failures *failures) {
  int32_t kept = 0;
  for (int32_t k = 0; k < failures->count; k++) {
    int32_t i = failures->at[k];
    if (rows->natives->fleet->phase[rows->env_id + i] == PP_ENDED) {
      failures->errors[i].text[0] = '\0';
    } else {
      failures->at[kept++] = i;
    }
  }
  failures->count = kept;
}

/* keeps environments that failed from being reset as if their episode had ended */
static void hold_failed(const pp_rows *rows, const pp_failures *failures) {
  uint8_t *phase = rows->natives->fleet->phase + rows->env_id;
  for (int32_t k = 0; k < failures->count; k++) phase[failures->at[k]] = PP_RUNNING;
}

/* records that an environment of a run failed, and replaces its row */
static void put_failed(const pp_rows *rows, int32_t i, int status) {
  pp_autoreset_fail(rows->natives, rows->env_id + i, "step_many", status);
  blank(rows, i);
}

/* replaces the rows of environments that failed; returns how many there are */
static int32_t put_failures(const pp_rows *rows, const pp_failures *failures) {
  for (int32_t k = 0; k < failures->count; k++) {
    int32_t i = failures->at[k], status = failures->errors[i].code;
    put_failed(rows, i, status < 0 ? status : PP_ERR_ENV);
  }
  return failures->count;
}

/* calls step_many; returns its status */
static int step_many(const pp_rows *rows, pp_failures *failures, double *rewards) {
  const pp_natives *natives = rows->natives;
  int32_t env_id = rows->env_id;
  void *fields[PP_MAX_FIELDS];
  const pp_run run = {.states = natives->states + natives->stride * (size_t)env_id,
                      .state_stride = natives->stride,
                      .actions = pp_natives_action(natives, env_id),
                      .reward = rewards,
                      .terminated = cell(rows, rows->layout->terminated, 0),
                      .truncated = cell(rows, rows->layout->truncated, 0),
                      .fields = fields,
                      .count = rows->count,
                      .action_dtype = natives->action_dtypes[env_id],
                      .rngs = natives->rngs + env_id,
                      .elapsed = natives->elapsed + env_id,
                      .ended = natives->fleet->phase + env_id,
                      .failures = failures};
  failures->errors = natives->fleet->errors + env_id;
  failures->count = 0;
  locate_fields(rows, 0, false, fields);
  memset(run.terminated, 0, (size_t)run.count);
  memset(run.truncated, 0, (size_t)run.count);
  return natives->def->step_many(natives->envs[env_id].shared, &run);
}

int32_t pp_rows_step(const pp_rows *rows, double *rewards) {
  int32_t ended[PP_MAX_CHUNK], num_ended = list_ended(rows, ended), failed;
  pp_failures failures;
  pp_rng kept[PP_MAX_CHUNK];
  int status;

  keep_rngs(rows, ended, num_ended, kept);
  status = step_many(rows, &failures, rewards);
  undo_steps(rows, ended, num_ended, kept, rewards);
  if (status < 0) {
    for (int32_t i = 0; i < rows->count; i++) put_failed(rows, i, status);
    return rows->count;
  }
  if (failures.count) drop_ended(rows, &failures);
  put_run(rows, rewards);
  if (failures.count) hold_failed(rows, &failures);
  put_run_extras(rows);
  failed = rows->natives->fleet->autoreset == PP_SAME_STEP ? restart_ended(rows)
                                                           : reset_ended(rows, ended, num_ended);
  return failed + put_failures(rows, &failures);
}
