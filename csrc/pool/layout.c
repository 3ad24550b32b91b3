/* Layout: where each array of a batch lies in the batch's memory. No other file computes such
 * offsets. */
#include "layout.h"

#include <string.h>

#include "error.h"
#include "field.h"

enum { PAGE = 4096 };

bool pp_layout_reserves_name(const char *name, bool is_info) {
  static const char *const taken[] = {
      "reward",    "terminated", "truncated",      "env_id",         "elapsed_step",
      "step_type", "discount",   "players.env_id", "episode_return", "episode_length"};
  // infos may have the first two names
  for (size_t i = is_info ? 2 : 0; i < sizeof(taken) / sizeof(*taken); i++) {
    if (strcmp(name, taken[i]) == 0) return true;
  }
  return false;
}

/* appends a column with `elements` elements in each row; returns its index */
static int32_t add_column(pp_layout *layout, const char *name, int32_t dtype, int32_t rows,
                          int64_t elements) {
  pp_column *column = &layout->columns[layout->count];
  memset(column, 0, sizeof(*column));
  column->name = name;
  column->field = -1;
  column->dtype = dtype;
  column->row_bytes = elements * pp_dtype_size(dtype);
  column->offset = layout->size;
  layout->size += column->row_bytes * rows;
  layout->size = (layout->size + PP_ALIGNMENT - 1) / PP_ALIGNMENT * PP_ALIGNMENT;
  return layout->count++;
}

static int32_t add_field(pp_layout *layout, const pp_field *field, int32_t index, int32_t rows,
                         bool is_final) {
  int64_t elements = pp_field_elements(field, layout->num_players);
  int32_t at = add_column(layout, field->name, field->dtype, rows, elements);
  pp_column *column = &layout->columns[at];

  column->field = index;
  column->is_final = is_final;
  // a single player has no axis, as in the rewards
  if (field->per_player && layout->num_players > 1) {
    column->shape[column->ndim++] = layout->num_players;
  }
  for (int32_t axis = 0; axis < field->ndim; axis++) {
    column->shape[column->ndim++] = field->shape[axis];
  }
  return at;
}

/* appends a column of the engine with one value per row, or one per player */
static int32_t add_engine(pp_layout *layout, const char *name, int32_t dtype, int32_t rows,
                          bool per_player) {
  int32_t at = add_column(layout, name, dtype, rows, per_player ? layout->num_players : 1);
  if (per_player) {
    layout->columns[at].ndim = 1;
    layout->columns[at].shape[0] = layout->num_players;
  }
  return at;
}

int pp_layout_init(pp_layout *layout, const pp_config *config, const pp_pool_options *options,
                   int32_t rows, pp_error *error) {
  int32_t extras = options->extras;
  bool per_player = config->num_players > 1;

  if (options->reward_dtype != PP_FLOAT32 && options->reward_dtype != PP_FLOAT64) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "reward_dtype=%d: choose PP_FLOAT32 or PP_FLOAT64",
                        options->reward_dtype);
  }
  memset(layout, 0, sizeof(*layout));
  layout->num_players = config->num_players;
  layout->num_fields = config->num_fields;
  layout->final_fields = layout->step_type = layout->discount = layout->players = -1;
  layout->episode_return = layout->episode_length = -1;
  layout->has_extras = extras != 0;

  for (int32_t i = 0; i < config->num_fields; i++) {
    add_field(layout, &config->fields[i], i, rows, false);
  }
  layout->reward = add_engine(layout, "reward", options->reward_dtype, rows, per_player);
  layout->terminated = add_engine(layout, "terminated", PP_BOOL, rows, false);
  layout->truncated = add_engine(layout, "truncated", PP_BOOL, rows, false);
  layout->env_id = add_engine(layout, "env_id", PP_INT32, rows, false);
  layout->elapsed_step = add_engine(layout, "elapsed_step", PP_INT32, rows, false);
  if (extras & PP_WITH_STEP_TYPE) {
    layout->step_type = add_engine(layout, "step_type", PP_INT32, rows, false);
  }
  if (extras & PP_WITH_DISCOUNT) {
    layout->discount = add_engine(layout, "discount", PP_FLOAT32, rows, false);
  }
  if (extras & PP_WITH_PLAYERS) {
    layout->players = add_engine(layout, "players.env_id", PP_INT32, rows, true);
  }
  if (extras & PP_WITH_STATISTICS) {
    layout->episode_return = add_engine(layout, "episode_return", PP_FLOAT64, rows, per_player);
    layout->episode_length = add_engine(layout, "episode_length", PP_INT32, rows, false);
  }
  if (options->autoreset == PP_SAME_STEP) {
    layout->final_fields = layout->count;
    for (int32_t i = 0; i < config->num_fields; i++) {
      add_field(layout, &config->fields[i], i, rows, true);
    }
  }
  layout->size = (layout->size + PAGE - 1) / PAGE * PAGE;
  return PP_OK;
}

void pp_layout_repeat(pp_layout *layout, const pp_layout *one, int32_t batches) {
  *layout = *one;
  // a column has room for the rows of as many batches, and what one batch leaves free in its own
  for (int32_t i = 0; i < layout->count; i++) layout->columns[i].offset *= batches;
  layout->size *= batches;
}
