/* Actions: checks what the caller sends and converts it to what step callbacks take. */
#include "action.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "pool/error.h"
#include "pool/field.h"
#include "pool/ids.h"

/* ------------------------------------------------------------------------------- Discrete -- */

/* the values of an element: low .. low + n-1, modulo 2^64 */
typedef struct range {
  uint64_t low;
  uint64_t n;
} range;

/* Converts count elements to int64. Returns the index of the first one outside its range, or -1.
 * The first loop has no exit, so that the compiler can use vector instructions, and only collects
 * sign bits: with x counted from low, x or n-1-x is negative if x is outside. The second loop finds
 * the bad value. */
#define DEFINE_DISCRETE(name, type)                                             \
  static int64_t name(int64_t *to, const type *from, int64_t count, range of) { \
    uint64_t bad = 0;                                                           \
    for (int64_t i = 0; i < count; i++) {                                       \
      uint64_t value = (uint64_t)(int64_t)from[i];                              \
      to[i] = (int64_t)value;                                                   \
      value -= of.low;                                                          \
      bad |= value | (of.n - 1 - value);                                        \
    }                                                                           \
    for (int64_t i = 0; bad >> 63 && i < count; i++) {                          \
      if ((uint64_t)to[i] - of.low >= of.n) return i;                           \
    }                                                                           \
    return -1;                                                                  \
  }

DEFINE_DISCRETE(discrete_uint8, uint8_t)
DEFINE_DISCRETE(discrete_int8, int8_t)
DEFINE_DISCRETE(discrete_int32, int32_t)
DEFINE_DISCRETE(discrete_int64, int64_t)

static int64_t store_discrete(int64_t *to, const void *from, int64_t count, range of,
                              int32_t dtype) {
  switch (dtype) {
    case PP_UINT8: return discrete_uint8(to, from, count, of);
    case PP_INT8: return discrete_int8(to, from, count, of);
    case PP_INT32: return discrete_int32(to, from, count, of);
    default: return discrete_int64(to, from, count, of);
  }
}

/* ------------------------------------------------------------------------------------ Box -- */

/* The same for floats, of which NaN and infinity are bad: x - x is 0 only if x is finite. */
#define DEFINE_BOX(name, from_type, to_type)                      \
  static int64_t name(void *out, const void *in, int64_t count) { \
    const from_type *from = in;                                   \
    to_type *to = out;                                            \
    int bad = 0;                                                  \
    for (int64_t i = 0; i < count; i++) {                         \
      to[i] = (to_type)from[i];                                   \
      bad |= !(to[i] - to[i] == 0);                               \
    }                                                             \
    for (int64_t i = 0; bad && i < count; i++) {                  \
      if (!isfinite(to[i])) return i;                             \
    }                                                             \
    return -1;                                                    \
  }

DEFINE_BOX(box_float_float, float, float)
DEFINE_BOX(box_float_double, float, double)
DEFINE_BOX(box_double_float, double, float)
DEFINE_BOX(box_double_double, double, double)

static int64_t store_box(void *to, int32_t to_dtype, const void *from, int32_t from_dtype,
                         int64_t count) {
  if (to_dtype == PP_FLOAT32) {
    return from_dtype == PP_FLOAT32 ? box_float_float(to, from, count)
                                    : box_double_float(to, from, count);
  }
  return from_dtype == PP_FLOAT32 ? box_float_double(to, from, count)
                                  : box_double_double(to, from, count);
}

/* ---------------------------------------------------------------------------------- checks -- */

static bool is_integer(int32_t dtype) {
  return dtype == PP_UINT8 || dtype == PP_INT8 || dtype == PP_INT32 || dtype == PP_INT64;
}

static bool is_discrete(const pp_field *action) {
  return action->space == PP_DISCRETE || action->space == PP_MULTI_DISCRETE ||
         action->space == PP_DISCRETE_TUPLE;
}

/* Returns how many elements of a row of actions have ranges of their own: 1 if all have the same,
 * as those of a Discrete whose n no player changes. */
static int64_t num_ranges(const pp_natives *natives) {
  const pp_field *action = &natives->fleet->config.action;
  if (action->space != PP_DISCRETE) return pp_field_elements(action, 1);
  return action->player_sizes ? natives->fleet->num_players : 1;
}

/* returns the range of an element of a row, whose place is below num_ranges */
static range range_of(const pp_field *action, int64_t at) {
  bool is_one = action->space == PP_DISCRETE;
  const int64_t *ns = is_one ? action->player_sizes : action->nvec;
  double low = !is_one && action->lows ? action->lows[at] : action->low;
  return (range){(uint64_t)(int64_t)low, (uint64_t)(ns ? ns[at] : action->n)};
}

static int check_dtype(const pp_natives *natives, int32_t dtype, pp_error *error) {
  const pp_field *action = &natives->fleet->config.action;
  bool is_mixed = dtype == PP_MIXED_DTYPES;
  bool is_converted = is_discrete(action)                ? is_integer(dtype) || is_mixed
                      : pp_dtype_is_float(action->dtype) ? pp_dtype_is_float(dtype) || is_mixed
                                                         : false;
  if (is_converted || dtype == action->dtype) return PP_OK;
  return pp_error_set(error, PP_ERR_TYPE,
                      "%s: actions of dtype %d can't be converted to its own, %d: send that dtype",
                      natives->def->id, dtype, action->dtype);
}

/* the same for an environment that may allow fewer of the action's n than others */
static range range_of_env(const pp_natives *natives, int32_t env_id, int64_t at) {
  range of = range_of(&natives->fleet->config.action, at);
  int64_t own = pp_option_sets_own(&natives->option_sets, env_id)->num_actions;
  if (own) of.n = (uint64_t)own;
  return of;
}

/* fills in the error about the bad element at this index of a stored action */
static int refuse(const pp_natives *natives, int32_t env_id, int64_t at, pp_error *error) {
  const char *stored = pp_natives_action(natives, env_id);
  const pp_field *action = &natives->fleet->config.action;
  if (action->space == PP_BOX) {
    bool is_nan = natives->def->action_numbers == PP_INFINITE;
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "the action of environment %d is %s (element %lld): send %snumbers", env_id,
                        is_nan ? "NaN" : "not finite", (long long)at, is_nan ? "" : "finite ");
  }
  const char *task = pp_option_sets_own(&natives->option_sets, env_id)->task;
  range of = range_of_env(natives, env_id, at % num_ranges(natives));
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "action %lld of environment %d%s%.60s%s is outside its space: choose %lld to "
                      "%lld",
                      (long long)((const int64_t *)stored)[at], env_id, task ? " (" : "",
                      task ? task : "", task ? ")" : "", (long long)of.low,
                      (long long)(of.low + of.n - 1));
}

/* ---------------------------------------------------------------------------------- dtypes -- */

/* Returns the dtype that callbacks see for an action that the caller sent in this dtype: the same
 * if the definition accepts it, else the one to which the action is converted. */
static uint8_t shown_dtype(const pp_natives *natives, int32_t dtype) {
  const uint32_t known = natives->def->action_dtypes;
  const int32_t own = natives->fleet->config.action.dtype, base = dtype & (PP_PYTHON - 1);
  int32_t shown = own;
  if (base != own && (known >> base & 1)) {
    shown = base;
  } else if (base != own && base != PP_FLOAT16 && pp_dtype_is_float(own) &&
             (known >> PP_FLOAT64 & 1)) {
    shown = PP_FLOAT64;
  }
  return (uint8_t)(shown | (known >> PP_PYTHON & 1 ? dtype & PP_PYTHON : 0));
}

/* sets the dtype of all environments named; nearly always they have it already */
static void set_dtypes(pp_natives *natives, const int32_t *env_ids, int32_t count, int32_t dtype) {
  if (dtype == natives->common_dtype) return;
  for (int32_t i = 0; i < count; i++) {
    natives->action_dtypes[env_ids ? env_ids[i] : i] = (uint8_t)dtype;
  }
  natives->common_dtype = count == natives->fleet->num_envs ? dtype : -1;
}

/* --------------------------------------------------------------------------------- storing -- */

/* Returns the index of the first element that is refused, or -1. Those before `at` are finite, and
 * the element there is not. */
static int64_t first_refused(const pp_natives *natives, const void *stored, int32_t dtype,
                             int64_t at, int64_t count) {
  if (at < 0 || natives->def->action_numbers == PP_NOT_FINITE) return -1;
  if (natives->def->action_numbers == PP_FINITE) return at;
  for (; at < count; at++) {
    if (dtype == PP_FLOAT32 ? isnan(((const float *)stored)[at])
                            : isnan(((const double *)stored)[at])) {
      return at;
    }
  }
  return -1;
}

/* Returns the index of the first action, one for each environment, that its environment does not
 * allow although others do; or -1. */
static int64_t first_not_own(const pp_natives *natives, int32_t first, const int64_t *actions,
                             int64_t envs) {
  if (!natives->option_sets.has_own) return -1;
  for (int64_t i = 0; i < envs; i++) {
    range of = range_of_env(natives, first + (int32_t)i, 0);
    if ((uint64_t)actions[i] - of.low >= of.n) return i;
  }
  return -1;
}

/* Stores the actions of environments with consecutive ids, whose dtype is set. Returns the index of
 * the first bad element, or -1. */
static int64_t store(const pp_natives *natives, int32_t first, const void *from, int32_t dtype,
                     int64_t envs) {
  const pp_field *action = &natives->fleet->config.action;
  int64_t elements = natives->action_elements, width, bad;
  void *to = pp_natives_action(natives, first);

  if (is_discrete(action)) {
    width = num_ranges(natives);
    if (width == 1) {
      bad = store_discrete(to, from, elements * envs, range_of(action, 0), dtype);
      // only environments with one player have a number of actions of their own
      return bad >= 0 || elements != 1 ? bad : first_not_own(natives, first, to, envs);
    }
    for (int64_t row = 0; row < elements * envs; row += width) {
      for (int64_t at = 0; at < width; at++) {
        const char *one = (const char *)from + (row + at) * pp_dtype_size(dtype);
        bad = store_discrete((int64_t *)to + row + at, one, 1, range_of(action, at), dtype);
        if (bad >= 0) return row + at;
      }
    }
    return -1;
  }
  if (pp_dtype_is_float(action->dtype)) {
    bool is_wide = natives->wide && to != natives->actions + natives->action_bytes * first;
    int32_t to_dtype = is_wide ? PP_FLOAT64 : action->dtype;
    bad = store_box(to, to_dtype, from, dtype, elements * envs);
    return first_refused(natives, to, to_dtype, bad, elements * envs);
  }
  memcpy(to, from, (size_t)(natives->action_bytes * envs));
  return -1;
}

/* Stores one action that came as doubles, whatever the caller's dtype was. Returns the index of the
 * first bad element, or -1. */
static int64_t store_one(const pp_natives *natives, int32_t env_id, const double *from) {
  const pp_field *action = &natives->fleet->config.action;
  int64_t *to = pp_natives_action(natives, env_id);

  if (!is_discrete(action)) return store(natives, env_id, from, PP_FLOAT64, 1);
  for (int64_t i = 0; i < natives->action_elements; i++) {
    range of = range_of_env(natives, env_id, i % num_ranges(natives));
    // a number of 2^53 or more is outside every space, and so is INT64_MAX
    to[i] = from[i] > -0x1p53 && from[i] < 0x1p53 ? (int64_t)from[i] : INT64_MAX;
    if ((uint64_t)to[i] - of.low >= of.n) return i;
  }
  return -1;
}

static int store_mixed(pp_natives *natives, const int32_t *env_ids, int32_t count,
                       const double *actions, pp_error *error) {
  int64_t elements = natives->action_elements, bad;
  const uint8_t *dtypes = (const uint8_t *)(actions + elements * count);

  for (int32_t i = 0; i < count; i++) {
    if ((dtypes[i] & ~PP_PYTHON) < PP_NUM_ACTION_DTYPES) continue;
    return pp_error_set(error, PP_ERR_TYPE, "action %d has dtype %d: choose a pp_dtype", i,
                        dtypes[i]);
  }
  natives->common_dtype = -1;
  for (int32_t i = 0; i < count; i++) {
    int32_t env_id = env_ids ? env_ids[i] : i;
    natives->action_dtypes[env_id] = shown_dtype(natives, dtypes[i]);
    bad = store_one(natives, env_id, actions + elements * i);
    if (bad >= 0) return refuse(natives, env_id, bad, error);
  }
  return PP_OK;
}

int pp_action_store(pp_natives *natives, const int32_t *env_ids, int32_t count, const void *actions,
                    int32_t dtype, pp_error *error) {
  int64_t elements = natives->action_elements;
  int64_t bytes = elements * pp_dtype_size(dtype), bad;
  int status;

  status = check_dtype(natives, dtype, error);
  if (status < 0) return status;
  if (!actions) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "actions are null: give one for each environment");
  }
  if (dtype == PP_MIXED_DTYPES) return store_mixed(natives, env_ids, count, actions, error);
  set_dtypes(natives, env_ids, count, shown_dtype(natives, dtype));
  if (!env_ids) {
    bad = store(natives, 0, actions, dtype, count);
    return bad < 0 ? PP_OK : refuse(natives, (int32_t)(bad / elements), bad % elements, error);
  }
  for (int32_t i = 0, run; i < count; i += run) {
    int32_t first = env_ids[i];
    run = pp_ids_run(env_ids + i, count - i);
    bad = store(natives, first, (const char *)actions + bytes * i, dtype, run);
    if (bad < 0) continue;
    return refuse(natives, first + (int32_t)(bad / elements), bad % elements, error);
  }
  return PP_OK;
}
