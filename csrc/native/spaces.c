/* Spaces: the fields and the action that environments of several definitions have in common. */
#include "spaces.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pool/error.h"
#include "pool/field.h"

/* the info that says which actions are allowed, as Gymnasium's Taxi has it */
static const char *const mask_name = "action_mask";

/* ---------------------------------------------------------------------------------- copies -- */

static void free_field(pp_field *field) {
  free((void *)field->name);
  free((void *)field->lows);
  free((void *)field->highs);
  free((void *)field->nvec);
  memset(field, 0, sizeof(*field));
}

/* copies `size` bytes; null stays null. Sets *failed if there is no memory */
static void *copy_bytes(const void *bytes, size_t size, bool *failed) {
  void *copy = bytes ? malloc(size) : NULL;
  if (bytes && !copy) *failed = true;
  return copy ? memcpy(copy, bytes, size) : NULL;
}

/* Makes a copy that owns its name and arrays. Returns PP_OK or PP_ERR_MEMORY. */
static int copy_field(pp_field *to, const pp_field *from) {
  size_t count = (size_t)pp_field_elements(from, 1);
  bool failed = false;
  *to = *from;
  to->player_sizes = NULL;
  to->name = copy_bytes(from->name, strlen(from->name) + 1, &failed);
  to->lows = copy_bytes(from->lows, count * sizeof(double), &failed);
  to->highs = copy_bytes(from->highs, count * sizeof(double), &failed);
  to->nvec = copy_bytes(from->nvec, count * sizeof(int64_t), &failed);
  if (!failed) return PP_OK;
  free_field(to);
  return PP_ERR_MEMORY;
}

/* --------------------------------------------------------------------------------- refusals -- */

/* two tasks, one of whose spaces is compared */
typedef struct pair {
  const pp_task *first, *other;
  pp_error *error;
} pair;

static int refuse(const pair *tasks, const char *name, const char *what) {
  return pp_error_set(tasks->error, PP_ERR_ARGUMENT,
                      "%.60s and %.60s can't be mixed: %.40s %s: make a pool for each",
                      tasks->first->name, tasks->other->name, name, what);
}

static int refuse_memory(const pair *tasks) {
  return pp_error_set(tasks->error, PP_ERR_MEMORY, "no memory for the spaces of a mixture");
}

/* Whether discrete spaces start at the same values. Those of other shapes start at 0, as padding is
 * 0. */
static bool start_alike(const pp_field *a, const pp_field *b) {
  bool is_same_shape = memcmp(a->shape, b->shape, sizeof(a->shape[0]) * (size_t)a->ndim) == 0;
  int64_t count = a->lows || b->lows ? pp_field_elements(a, 1) : 1;
  if (!is_same_shape) return !a->lows && !b->lows && a->low == 0 && b->low == 0;
  for (int64_t i = 0; i < count; i++) {
    if ((a->lows ? a->lows[i] : a->low) != (b->lows ? b->lows[i] : b->low)) return false;
  }
  return true;
}

/* returns why two fields of one name have no space in common, null: they have one */
static const char *difference(const pp_field *a, const pp_field *b) {
  bool on_end = a->when == PP_ON_TERMINATION || b->when == PP_ON_TERMINATION;
  if (a->dtype != b->dtype) return "has another dtype in each";
  if (a->space != b->space) return "has another kind of space in each";
  if (a->ndim != b->ndim) return "has another number of axes in each";
  if (a->text != b->text) return "has other texts in each";
  if (a->space != PP_BOX && a->space != PP_TEXT && !start_alike(a, b)) {
    return "starts at another value in each";
  }
  if (a->is_info && on_end && a->when != b->when) return "is there at other times in each";
  return NULL;
}

/* the same for actions, of which more must be equal */
static const char *action_difference(const pp_field *a, const pp_field *b) {
  int64_t elements = pp_field_elements(a, 1);
  bool is_same_shape = memcmp(a->shape, b->shape, sizeof(a->shape[0]) * (size_t)a->ndim) == 0;
  const char *what = difference(a, b);
  if (what) return what;
  if (!is_same_shape && a->ndim != 1) return "has another shape in each";
  if (a->space == PP_BOX || a->space == PP_DISCRETE) return NULL;
  if (!is_same_shape) return "has another shape in each";
  if (!a->nvec && !b->nvec) return NULL;
  return memcmp(a->nvec, b->nvec, sizeof(*a->nvec) * (size_t)elements) == 0
             ? NULL
             : "has other choices in each";
}

/* ---------------------------------------------------------------------------------- uniting -- */

/* Returns the index that an element of `wide` has in a field with a smaller shape, -1: none. */
static int64_t place_of(int64_t at, const pp_field *wide, const pp_field *field) {
  int64_t place = 0, step = 1;
  for (int32_t axis = wide->ndim - 1; axis >= 0; axis--) {
    int64_t index = at % wide->shape[axis];
    if (index >= field->shape[axis]) return -1;
    at /= wide->shape[axis];
    place += index * step;
    step *= field->shape[axis];
  }
  return place;
}

/* the bounds of element `at` of a Box; of padding they are 0 */
static void bounds_of(const pp_field *wide, const pp_field *field, int64_t at, double *low,
                      double *high) {
  int64_t place = place_of(at, wide, field);
  *low = place < 0 ? 0 : field->lows ? field->lows[place] : field->low;
  *high = place < 0 ? 0 : field->highs ? field->highs[place] : field->high;
}

/* gives `wide` the bounds of both, element by element */
static int unite_arrays(pp_field *wide, const pp_field *a, const pp_field *b) {
  int64_t count = pp_field_elements(wide, 1);
  double *lows = malloc(sizeof(*lows) * (size_t)(count + 1));
  double *highs = malloc(sizeof(*highs) * (size_t)(count + 1));
  if (!lows || !highs) {
    free(lows);
    free(highs);
    return PP_ERR_MEMORY;
  }
  for (int64_t i = 0; i < count; i++) {
    double low, high;
    bounds_of(wide, a, i, &lows[i], &highs[i]);
    bounds_of(wide, b, i, &low, &high);
    lows[i] = fmin(lows[i], low);
    highs[i] = fmax(highs[i], high);
  }
  wide->lows = lows;
  wide->highs = highs;
  return PP_OK;
}

static int unite_nvec(pp_field *wide, const pp_field *a, const pp_field *b) {
  int64_t count = pp_field_elements(wide, 1), *nvec = malloc(sizeof(*nvec) * (size_t)(count + 1));
  if (!nvec) return PP_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++) {
    int64_t at_a = place_of(i, wide, a), at_b = place_of(i, wide, b);
    int64_t of_a = at_a < 0 ? 1 : a->nvec[at_a], of_b = at_b < 0 ? 1 : b->nvec[at_b];
    nvec[i] = of_a > of_b ? of_a : of_b;
  }
  wide->nvec = nvec;
  return PP_OK;
}

/* Makes a field that holds what two of one name hold. Returns PP_OK or PP_ERR_MEMORY. */
static int unite(pp_field *into, const pp_field *other) {
  pp_field wide = *into;
  bool is_padded = false;
  int status = PP_OK;
  wide.when |= other->when;
  // what has another dtype in the rows of another task has the field's own in all rows
  if (into->follows != other->follows || into->factor != other->factor) {
    wide.follows = wide.factor = 0;
  }
  wide.n = other->n > into->n ? other->n : into->n;
  for (int32_t axis = 0; axis < wide.ndim; axis++) {
    is_padded |= into->shape[axis] != other->shape[axis];
    if (other->shape[axis] > wide.shape[axis]) wide.shape[axis] = other->shape[axis];
  }
  wide.low = fmin(into->low, is_padded ? fmin(other->low, 0) : other->low);
  wide.high = fmax(into->high, is_padded ? fmax(other->high, 0) : other->high);
  wide.lows = wide.highs = NULL;
  wide.nvec = NULL;
  if (into->lows || into->highs || other->lows || other->highs) {
    status = unite_arrays(&wide, into, other);
  }
  if (status >= 0 && into->nvec) status = unite_nvec(&wide, into, other);
  if (status < 0) {
    free((void *)wide.lows);
    free((void *)wide.highs);
    return status;
  }
  free((void *)into->lows);
  free((void *)into->highs);
  free((void *)into->nvec);
  *into = wide;
  return PP_OK;
}

/* ----------------------------------------------------------------------------------- fields -- */

static int32_t find(const pp_field *fields, int32_t count, const pp_field *wanted) {
  for (int32_t i = 0; i < count; i++) {
    if (fields[i].is_info == wanted->is_info && strcmp(fields[i].name, wanted->name) == 0) return i;
  }
  return -1;
}

static int add_field(pp_spaces *spaces, const pair *tasks, const pp_field *field) {
  if (spaces->num_fields == PP_MAX_FIELDS) {
    return refuse(tasks, field->name, "is one too many: together they have more than 32 fields");
  }
  if (copy_field(&spaces->fields[spaces->num_fields], field) < 0) return refuse_memory(tasks);
  spaces->num_fields++;
  return PP_OK;
}

/* takes over a field of another task */
static int take_field(pp_spaces *spaces, const pair *tasks, const pp_field *field) {
  int32_t at = find(spaces->fields, spaces->num_fields, field);
  const char *what;
  if (at < 0 && !field->is_info) return refuse(tasks, field->name, "is observed in one only");
  if (at < 0) return add_field(spaces, tasks, field);
  what = difference(&spaces->fields[at], field);
  if (what) return refuse(tasks, field->name, what);
  return unite(&spaces->fields[at], field) < 0 ? refuse_memory(tasks) : PP_OK;
}

static int take_config(pp_spaces *spaces, const pair *tasks, const pp_config *config) {
  const char *what;
  for (int32_t i = 0; i < spaces->num_fields; i++) {
    const pp_field *field = &spaces->fields[i];
    if (field->is_info || find(config->fields, config->num_fields, field) >= 0) continue;
    return refuse(tasks, field->name, "is observed in one only");
  }
  for (int32_t i = 0; i < config->num_fields; i++) {
    int status = take_field(spaces, tasks, &config->fields[i]);
    if (status < 0) return status;
  }
  what = action_difference(&spaces->action, &config->action);
  if (what) return refuse(tasks, "the action", what);
  return unite(&spaces->action, &config->action) < 0 ? refuse_memory(tasks) : PP_OK;
}

/* whether an info is a mask of actions, as the engine writes it for tasks that have none */
static bool is_mask(const pp_field *field) {
  return field->dtype == PP_INT8 && field->ndim == 1 && field->when == PP_ALWAYS;
}

/* adds the mask of actions if tasks have different numbers of them */
static int add_mask(pp_spaces *spaces, const pair *tasks, const pp_config *configs, int32_t count) {
  int64_t n = spaces->action.n;
  pp_field mask = {.name = mask_name,
                   .is_info = true,
                   .when = PP_ALWAYS,
                   .dtype = PP_INT8,
                   .ndim = 1,
                   .shape = {n},
                   .high = 1};
  bool is_needed = false;
  int32_t at = find(spaces->fields, spaces->num_fields, &mask);
  spaces->action_mask = -1;
  if (spaces->action.space != PP_DISCRETE) return PP_OK;
  for (int32_t i = 0; i < count; i++) is_needed |= configs[i].action.n < n;
  if (at >= 0 && is_mask(&spaces->fields[at]) && spaces->fields[at].shape[0] <= n) {
    spaces->fields[at].shape[0] = n;
    spaces->action_mask = at;
    return PP_OK;
  }
  if (at >= 0 || !is_needed) return PP_OK;
  spaces->action_mask = spaces->num_fields;
  return add_field(spaces, tasks, &mask);
}

static int check_players(const pp_task *task, const pp_config *config, pp_error *error) {
  if (config->num_players == 1) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "%.60s has %d players: only environments with one player can be mixed",
                      task->name, config->num_players);
}

int pp_spaces_init(pp_spaces *spaces, const pp_task *tasks, const pp_config *configs, int32_t count,
                   pp_error *error) {
  pair of = {&tasks[0], &tasks[0], error};
  int status = PP_OK;
  memset(spaces, 0, sizeof(*spaces));
  for (int32_t i = 0; status >= 0 && i < count; i++) {
    status = check_players(&tasks[i], &configs[i], error);
  }
  if (status >= 0 && copy_field(&spaces->action, &configs[0].action) < 0) {
    status = refuse_memory(&of);
  }
  for (int32_t i = 0; status >= 0 && i < configs[0].num_fields; i++) {
    status = add_field(spaces, &of, &configs[0].fields[i]);
  }
  for (int32_t i = 1; status >= 0 && i < count; i++) {
    of.other = &tasks[i];
    status = take_config(spaces, &of, &configs[i]);
  }
  if (status >= 0) status = add_mask(spaces, &of, configs, count);
  if (status < 0) pp_spaces_fini(spaces);
  return status;
}

void pp_spaces_fini(pp_spaces *spaces) {
  for (int32_t i = 0; i < spaces->num_fields; i++) free_field(&spaces->fields[i]);
  if (spaces->action.name) free_field(&spaces->action);
  memset(spaces, 0, sizeof(*spaces));
}

bool pp_spaces_hold(const pp_field *wide, const pp_field *field) {
  if (difference(wide, field)) return false;
  for (int32_t axis = 0; axis < wide->ndim; axis++) {
    if (field->shape[axis] > wide->shape[axis]) return false;
  }
  return field->n <= wide->n;
}

bool pp_spaces_equal(const pp_spaces *a, const pp_spaces *b) {
  if (a->num_fields != b->num_fields || a->action_mask != b->action_mask) return false;
  for (int32_t i = 0; i < a->num_fields; i++) {
    if (!pp_field_equal(&a->fields[i], &b->fields[i], 1)) return false;
  }
  return pp_field_equal(&a->action, &b->action, 1);
}
