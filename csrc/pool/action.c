/* Actions: checking what the caller sends and turning it into what step callbacks take. */
#include "action.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "idset.h"
#include "layout.h"

/* ------------------------------------------------------------------------------- Discrete -- */

/* Converts count elements to int64 and says where the first one outside 0 .. n-1 is, -1: nowhere.
 * The loop has no exit, so that the compiler can use vectors, and only collects sign bits: x or
 * n-1-x is negative when x is outside. A bad value is looked for afterwards. */
#define DEFINE_DISCRETE(name, type)                                              \
  static int64_t name(int64_t *to, const type *from, int64_t count, int64_t n) { \
    uint64_t bad = 0;                                                            \
    for (int64_t i = 0; i < count; i++) {                                        \
      uint64_t value = (uint64_t)(int64_t)from[i];                               \
      to[i] = (int64_t)value;                                                    \
      bad |= value | ((uint64_t)n - 1 - value);                                  \
    }                                                                            \
    for (int64_t i = 0; bad >> 63 && i < count; i++) {                           \
      if ((uint64_t)to[i] >= (uint64_t)n) return i;                              \
    }                                                                            \
    return -1;                                                                   \
  }

DEFINE_DISCRETE(discrete_uint8, uint8_t)
DEFINE_DISCRETE(discrete_int32, int32_t)
DEFINE_DISCRETE(discrete_int64, int64_t)

static int64_t store_discrete(int64_t *to, const void *from, int64_t count, int64_t n,
                              int32_t dtype) {
  switch (dtype) {
    case PP_UINT8: return discrete_uint8(to, from, count, n);
    case PP_INT32: return discrete_int32(to, from, count, n);
    default: return discrete_int64(to, from, count, n);
  }
}

/* MultiDiscrete: every element has its own n */
static int64_t store_multi(int64_t *to, const void *from, int64_t count, const int64_t *nvec,
                           int32_t dtype) {
  int64_t size = pp_dtype_size(dtype);
  for (int64_t i = 0; i < count; i++) {
    if (store_discrete(to + i, (const char *)from + size * i, 1, nvec[i], dtype) >= 0) return i;
  }
  return -1;
}

/* ------------------------------------------------------------------------------------ Box -- */

/* The same for floats; outside means NaN or infinite. A sum of x - x is zero only if all are finite
 */
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

static int is_float(int32_t dtype) {
  return dtype == PP_FLOAT32 || dtype == PP_FLOAT64;
}

static int is_integer(int32_t dtype) {
  return dtype == PP_UINT8 || dtype == PP_INT32 || dtype == PP_INT64;
}

static int check_dtype(const pp_fleet *fleet, int32_t dtype, pp_error *error) {
  const pp_field *action = &fleet->config.action;
  int fits = action->space == PP_DISCRETE || action->space == PP_MULTI_DISCRETE ? is_integer(dtype)
             : is_float(action->dtype)                                          ? is_float(dtype)
                                                                                : 0;
  // what has no conversion must come as it is
  if (fits || dtype == action->dtype) return PP_OK;
  return pp_error_set(error, PP_ERR_TYPE,
                      "%s: actions of dtype %d can't become its own, which is %d: send those",
                      fleet->def->id, dtype, action->dtype);
}

static int refuse(const pp_fleet *fleet, int32_t env_id, int64_t at, pp_error *error) {
  const pp_field *action = &fleet->config.action;
  const char *stored = pp_fleet_action(fleet, env_id);
  if (action->space == PP_BOX) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "the action of environment %d is not finite (element %lld): send finite "
                        "numbers",
                        env_id, (long long)at);
  }
  return pp_error_set(
      error, PP_ERR_ARGUMENT,
      "action %lld of environment %d is outside its space: choose 0 to %lld",
      (long long)((const int64_t *)stored)[at], env_id,
      (long long)(action->space == PP_DISCRETE ? action->n
                                               : action->nvec[at % pp_field_elements(action, 1)]) -
          1);
}

/* stores the action of so many environments that lie side by side; returns the first bad element */
static int64_t store(const pp_fleet *fleet, int32_t first, const void *from, int32_t dtype,
                     int64_t envs) {
  const pp_field *action = &fleet->config.action;
  int64_t elements = pp_field_elements(action, fleet->num_players), rows, bad;
  void *to = pp_fleet_action(fleet, first);

  if (action->space == PP_DISCRETE) {
    return store_discrete(to, from, elements * envs, action->n, dtype);
  }
  if (action->space == PP_MULTI_DISCRETE) {
    int64_t width = pp_field_elements(action, 1);
    rows = elements * envs / (width ? width : 1);
    for (int64_t i = 0; i < rows; i++) {
      bad = store_multi((int64_t *)to + i * width,
                        (const char *)from + i * width * pp_dtype_size(dtype), width, action->nvec,
                        dtype);
      if (bad >= 0) return i * width + bad;
    }
    return -1;
  }
  if (is_float(action->dtype)) return store_box(to, action->dtype, from, dtype, elements * envs);
  memcpy(to, from, (size_t)(fleet->action_bytes * envs));
  return -1;
}

int pp_action_store(pp_fleet *fleet, const int32_t *env_ids, int32_t count, const void *actions,
                    int32_t dtype, pp_error *error) {
  int64_t elements = pp_field_elements(&fleet->config.action, fleet->num_players);
  int64_t bytes = elements * pp_dtype_size(dtype), bad;
  int status = check_dtype(fleet, dtype, error);

  if (status < 0) return status;
  if (!actions) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "actions are null: give one for each environment");
  }
  if (!env_ids) {
    bad = store(fleet, 0, actions, dtype, count);
    return bad < 0 ? PP_OK : refuse(fleet, (int32_t)(bad / elements), bad % elements, error);
  }
  for (int32_t i = 0, run; i < count; i += run) {
    int32_t first = env_ids[i];
    run = pp_ids_run(env_ids + i, count - i);
    bad = store(fleet, first, (const char *)actions + bytes * i, dtype, run);
    if (bad < 0) continue;
    return refuse(fleet, first + (int32_t)(bad / elements), bad % elements, error);
  }
  return PP_OK;
}
