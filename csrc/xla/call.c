/* Call: one call of a compiled program on one pool: its arguments, and where its results go. */
#include "call.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pool/error.h"

/* -------------------------------------------------------------------------------- answering -- */

/* Written before handlers are registered, and read when they are; relaxed. What newer versions have
 * added is at the ends of structs, or in structs that handlers do not use. */
static _Atomic int spoken_minor = PP_XLA_MINOR;

void pp_xla_speak(int32_t minor) {
  int spoken = minor < PP_XLA_MINOR ? minor : PP_XLA_MINOR;
  atomic_store_explicit(&spoken_minor, spoken, memory_order_relaxed);
}

/* returns whether XLA asks about the handler, instead of calling it, and answers */
static bool is_question(const pp_xla_frame *frame) {
  const pp_xla_extension *first = frame->extensions;
  pp_xla_metadata *metadata;
  if (!first || first->type != PP_XLA_METADATA) return false;
  metadata = ((const pp_xla_metadata_extension *)(const void *)first)->metadata;
  metadata->version.major = PP_XLA_MAJOR;
  metadata->version.minor = atomic_load_explicit(&spoken_minor, memory_order_relaxed);
  metadata->traits = 0;
  return true;
}

bool pp_xla_has_no_work(const pp_xla_frame *frame) {
  return is_question(frame) || frame->stage != PP_XLA_EXECUTE;
}

static int code_of(int32_t status) {
  switch (status) {
    case PP_ERR_ARGUMENT:
    case PP_ERR_TYPE: return PP_XLA_INVALID_ARGUMENT;
    case PP_ERR_MEMORY: return PP_XLA_RESOURCE_EXHAUSTED;
    case PP_ERR_ENV: return PP_XLA_ABORTED;
    case PP_ERR_TIMEOUT: return PP_XLA_DEADLINE_EXCEEDED;
    case PP_ERR_SYSTEM: return PP_XLA_INTERNAL;
    default: return PP_XLA_FAILED_PRECONDITION;
  }
}

void *pp_xla_fail(const pp_xla_frame *frame, const char *message, int code) {
  pp_xla_error_args args = {sizeof(args), NULL, message, code};
  return frame->api->create_error(&args);
}

void *pp_xla_answer(const pp_xla_frame *frame, int status, const pp_error *error) {
  if (status >= 0) return NULL;
  return pp_xla_fail(frame, error->text[0] ? error->text : pp_status_name(status), code_of(status));
}

/* -------------------------------------------------------------------------------- arguments -- */

int64_t pp_xla_elements(const pp_xla_buffer *buffer) {
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; i++) count *= buffer->dims[i];
  return count;
}

bool pp_xla_is_handle(const pp_xla_buffer *buffer) {
  return buffer->dtype == PP_XLA_S32 && pp_xla_elements(buffer) == 2;
}

static const void *find_attribute(const pp_xla_attrs *attrs, const char *name, int type) {
  for (int64_t i = 0; i < attrs->size; i++) {
    const pp_xla_text *own = attrs->names[i];
    if (own->len == strlen(name) && !memcmp(own->ptr, name, own->len)) {
      return attrs->types[i] == type ? attrs->items[i] : NULL;
    }
  }
  return NULL;
}

int64_t pp_xla_number(const pp_xla_frame *frame, const char *name, int64_t missing) {
  const pp_xla_scalar *found = find_attribute(&frame->attributes, name, PP_XLA_ATTR_SCALAR);
  return found && found->dtype == PP_XLA_S64 ? *(const int64_t *)found->value : missing;
}

pp_limit pp_xla_limit(const pp_xla_frame *frame) {
  return pp_limit_start(pp_xla_number(frame, "timeout", -1));
}

static bool has_flag(const pp_call *it, const char *name) {
  return pp_xla_number(it->frame, name, 0) != 0;
}

const pp_xla_buffer *pp_call_next(pp_call *it) {
  const pp_xla_list *all = &it->frame->arguments;
  if (it->next >= all->size || all->types[it->next] != PP_XLA_BUFFER) return NULL;
  return all->items[it->next++];
}

/* returns the pp_dtype of a buffer, -1 if there is none */
static int32_t dtype_of(int dtype) {
  switch (dtype) {
    case PP_XLA_PRED: return PP_BOOL;
    case PP_XLA_U8: return PP_UINT8;
    case PP_XLA_S8: return PP_INT8;
    case PP_XLA_S32: return PP_INT32;
    case PP_XLA_S64: return PP_INT64;
    case PP_XLA_F32: return PP_FLOAT32;
    case PP_XLA_F64: return PP_FLOAT64;
    default: return -1;
  }
}

int64_t pp_xla_bytes(int dtype) {
  switch (dtype) {
    case PP_XLA_S16:
    case PP_XLA_U16: return 2;
    case PP_XLA_S32:
    case PP_XLA_U32:
    case PP_XLA_F32: return 4;
    case PP_XLA_S64:
    case PP_XLA_U64:
    case PP_XLA_F64: return 8;
    default: return 1;
  }
}

bool pp_xla_is_exact(const pp_xla_buffer *result, const pp_column *column) {
  return dtype_of(result->dtype) == column->dtype;
}

int pp_call_wrong(const pp_call *it, const char *what) {
  return pp_error_set(it->error, PP_ERR_ARGUMENT,
                      "%s of this compiled call is not what this pool takes: use a pool's own "
                      "functions, from its xla()",
                      what);
}

/* returns memory until the end of the call, or null and sets the error */
static void *own(pp_call *it, int64_t bytes) {
  void *memory = malloc(bytes ? (size_t)bytes : 1);
  if (memory) {
    it->owned[it->num_owned++] = memory;
  } else {
    pp_error_set(it->error, PP_ERR_MEMORY, "no memory for the arguments of a call");
  }
  return memory;
}

static bool is_integer(const pp_xla_buffer *buffer) {
  return buffer->dtype >= PP_XLA_S8 && buffer->dtype <= PP_XLA_U64;
}

/* Returns an element of integers. One above INT64_MAX becomes INT64_MAX, which is outside of every
 * space, as in Python. */
static int64_t integer_at(const pp_xla_buffer *buffer, int64_t i) {
  switch (buffer->dtype) {
    case PP_XLA_S8: return ((const int8_t *)buffer->data)[i];
    case PP_XLA_S16: return ((const int16_t *)buffer->data)[i];
    case PP_XLA_S32: return ((const int32_t *)buffer->data)[i];
    case PP_XLA_S64: return ((const int64_t *)buffer->data)[i];
    case PP_XLA_U8: return ((const uint8_t *)buffer->data)[i];
    case PP_XLA_U16: return ((const uint16_t *)buffer->data)[i];
    case PP_XLA_U32: return ((const uint32_t *)buffer->data)[i];
    default: break;
  }
  uint64_t value = ((const uint64_t *)buffer->data)[i];
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* the ids of a buffer of another dtype than int32 */
static const int32_t *narrow_ids(pp_call *it, const pp_xla_buffer *ids) {
  int64_t count = ids->dims[0];
  int32_t num_envs = it->pool->fleet.num_envs, *narrow = own(it, count * 4);
  for (int64_t i = 0; narrow && i < count; i++) {
    int64_t id = integer_at(ids, i);
    if (id < 0 || id >= num_envs) {
      pp_error_set(it->error, PP_ERR_ARGUMENT, "env_id %lld: choose 0 to %d", (long long)id,
                   num_envs - 1);
      return NULL;
    }
    narrow[i] = (int32_t)id;
  }
  return narrow;
}

int pp_call_ids(pp_call *it, int64_t rows) {
  const pp_xla_buffer *ids;
  it->count = it->pool->fleet.num_envs;
  if (has_flag(it, "has_ids")) {
    ids = pp_call_next(it);
    if (!ids || !is_integer(ids) || ids->rank != 1) return pp_call_wrong(it, "env_id");
    it->env_ids = ids->dtype == PP_XLA_S32 ? ids->data : narrow_ids(it, ids);
    if (!it->env_ids) return it->error->code;
    it->count = ids->dims[0];
  }
  if (it->next != it->frame->arguments.size || (rows >= 0 && rows != it->count) ||
      it->count > INT32_MAX) {
    return pp_call_wrong(it, "the number of rows");
  }
  return PP_OK;
}

/* integers of a dtype that the engine lacks, as int64 */
static const int64_t *widen(pp_call *it, const pp_xla_buffer *given, int64_t count) {
  int64_t *wide = own(it, count * 8);
  for (int64_t i = 0; wide && i < count; i++) wide[i] = integer_at(given, i);
  return wide;
}

int pp_call_actions(pp_call *it, const void **actions, int32_t *dtype, int64_t *rows) {
  const pp_config *config = &it->pool->fleet.config;
  const pp_xla_buffer *given = pp_call_next(it);
  int64_t each = config->action.per_player ? config->num_players : 1;
  for (int32_t i = 0; i < config->action.ndim; i++) each *= config->action.shape[i];
  if (!given || given->rank < 1) return pp_call_wrong(it, "the action");
  *actions = given->data;
  *dtype = dtype_of(given->dtype);
  if (pp_xla_elements(given) != each * given->dims[0]) return pp_call_wrong(it, "the action");
  if (*dtype < 0 && is_integer(given)) {
    *actions = widen(it, given, pp_xla_elements(given));
    *dtype = PP_INT64;
    if (!*actions) return PP_ERR_MEMORY;
  }
  *rows = given->dims[0];
  return *dtype < 0 ? pp_call_wrong(it, "the action") : PP_OK;
}

int pp_call_seeds(pp_call *it, const uint32_t **words, const int32_t **sizes) {
  const pp_xla_buffer *given;
  bool is_signed = has_flag(it, "has_signed_seeds");
  uint32_t *next;
  int32_t *size;
  *words = NULL;
  *sizes = NULL;
  if (!has_flag(it, "has_seeds")) return pp_call_ids(it, -1);
  given = pp_call_next(it);
  if (!given || !is_integer(given) || given->rank != 1) return pp_call_wrong(it, "the seed");
  *words = next = own(it, given->dims[0] * 12);
  if (!next) return PP_ERR_MEMORY;
  *sizes = size = (int32_t *)(next + 2 * given->dims[0]);
  for (int64_t i = 0; i < given->dims[0]; i++) {
    int64_t value = integer_at(given, i);
    uint64_t seed =
        given->dtype == PP_XLA_U64 ? ((const uint64_t *)given->data)[i] : (uint64_t)value;
    if (is_signed && (value < INT32_MIN || value > INT32_MAX)) {
      return pp_error_set(it->error, PP_ERR_ARGUMENT, "seed=%lld: choose -2**31 to 2**31 - 1",
                          (long long)value);
    }
    size[i] = 0;
    if (is_signed && value < 0) continue;
    if (value < 0) {
      return pp_error_set(it->error, PP_ERR_ARGUMENT, "seed=%lld: choose 0 or more",
                          (long long)value);
    }
    *next++ = (uint32_t)seed;
    if (seed >> 32) *next++ = (uint32_t)(seed >> 32);
    size[i] = 1 + (seed >> 32 != 0);
  }
  return pp_call_ids(it, given->dims[0]);
}

/* ---------------------------------------------------------------------------------- results -- */

static int64_t row_elements(const pp_column *column) {
  int64_t count = 1;
  for (int32_t i = 0; i < column->ndim; i++) count *= column->shape[i];
  return count;
}

/* returns whether a result of this dtype can receive the column: the same dtype, or 64 bits
 * narrowed to 32 */
static bool takes(int result, int32_t column) {
  return dtype_of(result) == column || (result == PP_XLA_F32 && column == PP_FLOAT64) ||
         (result == PP_XLA_S32 && column == PP_INT64);
}

int pp_call_check_columns(pp_call *it, int64_t first, int64_t rows) {
  const pp_xla_list *results = &it->frame->results;
  const pp_xla_array *indices =
      find_attribute(&it->frame->attributes, "columns", PP_XLA_ATTR_ARRAY);
  int32_t count;
  const pp_column *columns = pp_pool_columns(it->pool, &count);
  if (!indices || indices->dtype != PP_XLA_S64 || results->size != first + (int64_t)indices->size) {
    return pp_call_wrong(it, "the result");
  }
  it->column_results = first;
  it->columns = indices->data;
  it->num_columns = (int64_t)indices->size;
  for (int64_t i = 0; i < it->num_columns; i++) {
    const pp_xla_buffer *result = results->items[i + first];
    int64_t at = it->columns[i];
    if (results->types[i + first] != PP_XLA_BUFFER || at < 0 || at >= count ||
        !takes(result->dtype, columns[at].dtype) ||
        pp_xla_elements(result) != row_elements(&columns[at]) * rows) {
      return pp_call_wrong(it, "a result");
    }
  }
  return PP_OK;
}

int32_t pp_call_receive(pp_call *it, int32_t status, char *oldest) {
  void *given = it->share->spare;
  // returns 0 about every 50 ms
  while (status == 0) {
    int64_t left = pp_limit_left(&it->limit);
    status = pp_pool_recv(it->pool, given, left, it->error);
    if (status == 0 && left == 0) {
      status = pp_pool_explain_timeout(it->pool, 0, it->limit.timeout, it->error);
    }
  }
  if (status > 0 || status == PP_ERR_ENV) it->share->spare = oldest;
  return status;
}

static int narrow_integers(int32_t *to, const int64_t *from, int64_t count, const pp_column *column,
                           pp_error *error) {
  for (int64_t i = 0; i < count; i++) {
    if (from[i] < INT32_MIN || from[i] > INT32_MAX) {
      return pp_error_set(error, PP_ERR_ARGUMENT,
                          "%s is %lld, which 32 bits do not hold: set jax_enable_x64", column->name,
                          (long long)from[i]);
    }
    to[i] = (int32_t)from[i];
  }
  return PP_OK;
}

int pp_call_copy(const pp_call *it, const char *batch, int64_t at, int64_t rows) {
  int32_t ignored;
  const pp_column *columns = pp_pool_columns(it->pool, &ignored);
  for (int64_t i = 0; i < it->num_columns; i++) {
    const pp_xla_buffer *result = it->frame->results.items[i + it->column_results];
    const pp_column *column = &columns[it->columns[i]];
    const void *from = batch + column->offset;
    int64_t each = row_elements(column), count = each * rows;
    if (dtype_of(result->dtype) == column->dtype) {
      memcpy((char *)result->data + column->row_bytes * at, from,
             (size_t)(column->row_bytes * rows));
    } else if (column->dtype == PP_FLOAT64) {
      float *to = (float *)result->data + each * at;
      for (int64_t j = 0; j < count; j++) to[j] = (float)((const double *)from)[j];
    } else {
      int status =
          narrow_integers((int32_t *)result->data + each * at, from, count, column, it->error);
      if (status < 0) return status;
    }
  }
  return PP_OK;
}

void pp_call_fini(pp_call *it) {
  while (it->num_owned > 0) free(it->owned[--it->num_owned]);
}
