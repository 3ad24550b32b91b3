/* Calls: the handlers that compiled programs call to send, reset, receive and step. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/float_mode.h"
#include "pool/error.h"
#include "pool/pool.h"
#include "shared_pool.h"

/* -------------------------------------------------------------------------------- answering -- */

/* returns whether XLA asks about the handler, instead of calling it, and answers */
static bool is_question(const pp_xla_frame *frame) {
  const pp_xla_extension *first = frame->extensions;
  pp_xla_metadata *metadata;
  if (!first || first->type != PP_XLA_METADATA) return false;
  metadata = ((const pp_xla_metadata_extension *)(const void *)first)->metadata;
  metadata->version.major = PP_XLA_MAJOR;
  metadata->version.minor = PP_XLA_MINOR;
  metadata->traits = 0;
  return true;
}

static int code_of(int32_t status) {
  switch (status) {
    case PP_ERR_ARGUMENT:
    case PP_ERR_TYPE: return PP_XLA_INVALID_ARGUMENT;
    case PP_ERR_MEMORY: return PP_XLA_RESOURCE_EXHAUSTED;
    case PP_ERR_ENV: return PP_XLA_ABORTED;
    default: return PP_XLA_FAILED_PRECONDITION;
  }
}

static void *fail(const pp_xla_frame *frame, const char *message, int code) {
  pp_xla_error_args args = {sizeof(args), NULL, message, code};
  return frame->api->create_error(&args);
}

/* -------------------------------------------------------------------------------- arguments -- */

typedef struct call {
  const pp_xla_frame *frame;
  pp_shared_pool *share;
  pp_pool *pool;
  int32_t number;
  uint32_t calls;
  int64_t next; /* index of the next argument */
  int64_t count;
  const int32_t *env_ids;
  const int64_t *columns; /* indices of the columns that are results */
  int64_t num_columns;
  void *owned[2]; /* memory for converted arguments */
  int32_t num_owned;
  pp_error *error;
} call;

static int64_t elements(const pp_xla_buffer *buffer) {
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; i++) count *= buffer->dims[i];
  return count;
}

/* returns whether a buffer has the shape of a handle: two int32 */
static bool is_handle(const pp_xla_buffer *buffer) {
  return buffer->dtype == PP_XLA_S32 && elements(buffer) == 2;
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

static bool has_flag(const call *it, const char *name) {
  const pp_xla_scalar *flag = find_attribute(&it->frame->attributes, name, PP_XLA_ATTR_SCALAR);
  return flag && flag->dtype == PP_XLA_S64 && *(const int64_t *)flag->value;
}

static const pp_xla_buffer *next_argument(call *it) {
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

static int wrong(const call *it, const char *what) {
  return pp_error_set(it->error, PP_ERR_ARGUMENT,
                      "%s of this compiled call is not what this pool takes: use a pool's own "
                      "functions, from its xla()",
                      what);
}

/* returns memory until the end of the call, or null and sets the error */
static void *own(call *it, int64_t bytes) {
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
static const int32_t *narrow_ids(call *it, const pp_xla_buffer *ids) {
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

/* reads the ids, which are the last argument if there are any; count is the number of rows before
 */
static int read_ids(call *it, int64_t count) {
  const pp_xla_buffer *ids;
  it->count = it->pool->fleet.num_envs;
  if (has_flag(it, "has_ids")) {
    ids = next_argument(it);
    if (!ids || !is_integer(ids) || ids->rank != 1) return wrong(it, "env_id");
    it->env_ids = ids->dtype == PP_XLA_S32 ? ids->data : narrow_ids(it, ids);
    if (!it->env_ids) return it->error->code;
    it->count = ids->dims[0];
  }
  if (it->next != it->frame->arguments.size || (count >= 0 && count != it->count) ||
      it->count > INT32_MAX) {
    return wrong(it, "the number of rows");
  }
  return PP_OK;
}

/* integers of a dtype that the engine lacks, as int64 */
static const int64_t *widen(call *it, const pp_xla_buffer *given, int64_t count) {
  int64_t *wide = own(it, count * 8);
  for (int64_t i = 0; wide && i < count; i++) wide[i] = integer_at(given, i);
  return wide;
}

static int read_actions(call *it, const void **actions, int32_t *dtype) {
  const pp_config *config = &it->pool->fleet.config;
  const pp_xla_buffer *given = next_argument(it);
  int64_t each = config->action.per_player ? config->num_players : 1;
  for (int32_t i = 0; i < config->action.ndim; i++) each *= config->action.shape[i];
  if (!given || given->rank < 1) return wrong(it, "the action");
  *actions = given->data;
  *dtype = dtype_of(given->dtype);
  if (elements(given) != each * given->dims[0]) return wrong(it, "the action");
  if (*dtype < 0 && is_integer(given)) {
    *actions = widen(it, given, elements(given));
    *dtype = PP_INT64;
    if (!*actions) return PP_ERR_MEMORY;
  }
  if (*dtype < 0) return wrong(it, "the action");
  return read_ids(it, given->dims[0]);
}

/* reads seeds, as words of 32 bits and the number of words of each */
static int read_seeds(call *it, const uint32_t **words, const int32_t **sizes) {
  const pp_xla_buffer *given;
  bool is_signed = has_flag(it, "has_signed_seeds");
  uint32_t *next;
  int32_t *size;
  *words = NULL;
  *sizes = NULL;
  if (!has_flag(it, "has_seeds")) return read_ids(it, -1);
  given = next_argument(it);
  if (!given || !is_integer(given) || given->rank != 1) return wrong(it, "the seed");
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
  return read_ids(it, given->dims[0]);
}

/* ---------------------------------------------------------------------------------- results -- */

static int64_t row_elements(const pp_column *column) {
  int64_t count = 1;
  for (int32_t i = 0; i < column->ndim; i++) count *= column->shape[i];
  return count;
}

/* what a result of this dtype can take of a column: 8 bytes an element, or 4 of 8 */
static bool takes(int result, int32_t column) {
  return dtype_of(result) == column || (result == PP_XLA_F32 && column == PP_FLOAT64) ||
         (result == PP_XLA_S32 && column == PP_INT64);
}

/* checked before the pool is called, so that nothing has changed if the results do not fit */
static int check_results(call *it, bool receives) {
  const pp_xla_list *results = &it->frame->results;
  const pp_xla_array *indices;
  const pp_column *columns;
  int32_t count;
  if (results->size < 1 || results->types[0] != PP_XLA_BUFFER || !is_handle(results->items[0])) {
    return wrong(it, "the result");
  }
  if (!receives) return PP_OK;
  columns = pp_pool_columns(it->pool, &count);
  indices = find_attribute(&it->frame->attributes, "columns", PP_XLA_ATTR_ARRAY);
  if (!indices || indices->dtype != PP_XLA_S64 || results->size != 1 + (int64_t)indices->size) {
    return wrong(it, "the result");
  }
  it->columns = indices->data;
  it->num_columns = (int64_t)indices->size;
  for (int64_t i = 0; i < it->num_columns; i++) {
    const pp_xla_buffer *result = results->items[i + 1];
    int64_t at = it->columns[i];
    if (results->types[i + 1] != PP_XLA_BUFFER || at < 0 || at >= count ||
        !takes(result->dtype, columns[at].dtype) ||
        elements(result) != row_elements(&columns[at]) * it->pool->ring.batch_size) {
      return wrong(it, "a result");
    }
  }
  return PP_OK;
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

/* copies a received batch into the results */
static int copy_results(const call *it, const char *batch) {
  int32_t ignored;
  const pp_column *columns = pp_pool_columns(it->pool, &ignored);
  int64_t rows = it->pool->ring.batch_size;
  for (int64_t i = 0; i < it->num_columns; i++) {
    const pp_xla_buffer *result = it->frame->results.items[i + 1];
    const pp_column *column = &columns[it->columns[i]];
    const void *from = batch + column->offset;
    int64_t count = row_elements(column) * rows;
    if (dtype_of(result->dtype) == column->dtype) {
      memcpy(result->data, from, (size_t)(column->row_bytes * rows));
    } else if (column->dtype == PP_FLOAT64) {
      for (int64_t j = 0; j < count; j++) {
        ((float *)result->data)[j] = (float)((const double *)from)[j];
      }
    } else {
      int status = narrow_integers(result->data, from, count, column, it->error);
      if (status < 0) return status;
    }
  }
  return PP_OK;
}

/* ------------------------------------------------------------------------------------ calls -- */

/* finishes a receive that began with this status; oldest: the memory that it fills */
static int finish_receive(call *it, int32_t status, char *oldest) {
  void *given = it->share->spare;
  // returns 0 about every 50 ms
  while (status == 0) status = pp_pool_recv(it->pool, given, -1, it->error);
  if (status > 0 || status == PP_ERR_ENV) it->share->spare = oldest;
  return status > 0 ? copy_results(it, oldest) : status;
}

static int do_send(call *it) {
  const void *actions;
  int32_t dtype;
  int status = read_actions(it, &actions, &dtype);
  if (status < 0) return status;
  return pp_pool_send(it->pool, it->env_ids, (int32_t)it->count, actions, dtype, it->error);
}

static int do_reset(call *it) {
  const uint32_t *words;
  const int32_t *sizes;
  int status = read_seeds(it, &words, &sizes);
  if (status < 0) return status;
  return pp_pool_send_reset(it->pool, it->env_ids, (int32_t)it->count, words, sizes, NULL,
                            it->error);
}

static int do_recv(call *it) {
  char *oldest = pp_ring_held(&it->pool->ring, 0);
  if (it->next != it->frame->arguments.size) return wrong(it, "the number of arguments");
  return finish_receive(it, pp_pool_recv(it->pool, it->share->spare, -1, it->error), oldest);
}

static int do_step(call *it) {
  const void *actions;
  int32_t dtype;
  char *oldest = pp_ring_held(&it->pool->ring, 0);
  int32_t status = read_actions(it, &actions, &dtype);
  if (status < 0) return status;
  status = pp_pool_step(it->pool, it->env_ids, (int32_t)it->count, actions, dtype, it->share->spare,
                        it->error);
  return finish_receive(it, status, oldest);
}

static int do_observe(call *it) {
  const pp_column *columns;
  int32_t count, num_envs = it->pool->fleet.num_envs;
  void *rows[PP_MAX_FIELDS] = {NULL};
  int status = check_results(it, true);
  if (status < 0) return status;
  if (!it->pool->ring.is_ordered) return wrong(it, "a result");
  columns = pp_pool_columns(it->pool, &count);
  for (int32_t env = 0; status >= 0 && env < num_envs; env++) {
    for (int64_t i = 0; i < it->num_columns; i++) {
      const pp_xla_buffer *result = it->frame->results.items[i + 1];
      const pp_column *column = &columns[it->columns[i]];
      if (column->field < 0 || column->is_final || dtype_of(result->dtype) != column->dtype) {
        return wrong(it, "a result");
      }
      rows[column->field] = (char *)result->data + column->row_bytes * env;
    }
    status = pp_pool_observe(it->pool, env, rows, it->error);
  }
  return status;
}

/* reads the handle and finds the pool; from then on pp_shared_end must be called */
static int begin(call *it, bool receives) {
  const pp_xla_buffer *handle = next_argument(it);
  const uint32_t *halves;
  int status;
  if (!handle || !is_handle(handle)) return wrong(it, "handle");
  halves = handle->data;
  it->number = (int32_t)halves[0];
  it->calls = halves[1];
  status = pp_shared_begin(it->number, it->calls, receives, &it->share, it->error);
  if (status >= 0) it->pool = it->share->pool;
  return status;
}

static void write_handle(const call *it) {
  uint32_t *halves = ((const pp_xla_buffer *)it->frame->results.items[0])->data;
  halves[0] = (uint32_t)it->number;
  halves[1] = it->calls + 1;
}

static void *run(const pp_xla_frame *frame, bool receives, int (*work)(call *)) {
  pp_error error = {.text = ""};
  call it = {.frame = frame, .error = &error};
  int status;

  if (is_question(frame) || frame->stage != PP_XLA_EXECUTE) return NULL;
  pp_shared_park();
  status = begin(&it, receives);
  if (status >= 0) {
    // XLA's threads flush denormal numbers to zero, and this one may step environments
    pp_float_mode mode = pp_float_mode_reset();
    status = check_results(&it, receives);
    if (status >= 0) status = work(&it);
    while (it.num_owned > 0) free(it.owned[--it.num_owned]);
    pp_float_mode_restore(mode);
    if (status >= 0) write_handle(&it);
    pp_shared_end(it.share, status >= 0);
  }
  pp_shared_park();
  if (status >= 0) return NULL;
  return fail(frame, error.text[0] ? error.text : pp_status_name(status), code_of(status));
}

void *pp_xla_send(void *frame) {
  return run(frame, false, do_send);
}

void *pp_xla_reset(void *frame) {
  return run(frame, false, do_reset);
}

void *pp_xla_recv(void *frame) {
  return run(frame, true, do_recv);
}

void *pp_xla_step(void *frame) {
  return run(frame, true, do_step);
}

void *pp_xla_observe(void *frame) {
  return run(frame, false, do_observe);
}

void *pp_xla_refuse(void *frame) {
  if (is_question(frame) || ((const pp_xla_frame *)frame)->stage != PP_XLA_EXECUTE) return NULL;
  return fail(frame,
              "parallel_pool's functions run on the CPU: jit with jax.default_device(jax.devices"
              "(\"cpu\")[0]), or call step() from jax.experimental.io_callback",
              PP_XLA_UNIMPLEMENTED);
}
