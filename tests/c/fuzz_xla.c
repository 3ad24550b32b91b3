/* Frames of compiled programs whose arguments, results and attributes are anything that XLA can
 * express: the handlers answer with an error, or do the call. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include <stdlib.h>

#include "fuzz.h"
#include "include/pp_xla.h"
#include "late_driver.h"
#include "pool_tests.h"
#include "xla/abi.h"

enum { NUM_ENVS = 3, MOST_BUFFERS = 8, MOST_RANK = 3, MOST_ATTRS = 4, MOST_COLUMNS = 8 };

/* ----------------------------------------------------------------------------- bytes to read -- */

typedef struct reader {
  const uint8_t *at;
  size_t left;
} reader;

/* the next byte; 0 after the last one */
static uint8_t take(reader *r) {
  if (r->left == 0) return 0;
  r->left--;
  return *r->at++;
}

static int64_t take_below(reader *r, int64_t limit) {
  return take(r) % limit;
}

/* --------------------------------------------------------------------------------- buffers -- */

typedef struct buffers {
  pp_xla_buffer buffer[MOST_BUFFERS];
  int64_t dims[MOST_BUFFERS][MOST_RANK];
  int types[MOST_BUFFERS];
  void *items[MOST_BUFFERS];
} buffers;

static size_t bytes_of(int dtype) {
  switch (dtype) {
    case PP_XLA_S64:
    case PP_XLA_U64:
    case PP_XLA_F64: return 8;
    case PP_XLA_S32:
    case PP_XLA_U32:
    case PP_XLA_F32: return 4;
    case PP_XLA_S16:
    case PP_XLA_U16: return 2;
    default: return 1;
  }
}

/* Memory of exactly the size that shape and dtype say, which XLA guarantees; filled with small
 * numbers and with any bytes. */
static void *fill(reader *r, const pp_xla_buffer *buffer) {
  const size_t each = bytes_of(buffer->dtype);
  size_t count = 1;
  for (int64_t i = 0; i < buffer->rank; i++) count *= (size_t)buffer->dims[i];
  uint8_t *data = calloc(count * each + (count == 0), 1);
  if (!data) abort();
  for (size_t i = 0; i < count; i++) {
    const uint8_t value = take(r);
    if (value < 0xe0) {
      data[i * each] = value % 6;
    } else {
      for (size_t b = 0; b < each; b++) data[i * each + b] = take(r);
    }
  }
  return data;
}

static pp_xla_list make_list(reader *r, buffers *all) {
  const int64_t size = take_below(r, MOST_BUFFERS);
  for (int64_t i = 0; i < size; i++) {
    pp_xla_buffer *buffer = &all->buffer[i];
    all->types[i] = take(r) < 0xf8 ? PP_XLA_BUFFER : 0;
    all->items[i] = buffer;
    *buffer = (pp_xla_buffer){.struct_size = sizeof(*buffer),
                              .dtype = (int)take_below(r, 14),
                              .rank = take_below(r, MOST_RANK + 1),
                              .dims = all->dims[i]};
    for (int64_t d = 0; d < buffer->rank; d++) {
      all->dims[i][d] = take(r) < 0x80 ? NUM_ENVS : take_below(r, 6);
    }
    buffer->data = fill(r, buffer);
  }
  return (pp_xla_list){.size = size, .types = all->types, .items = all->items};
}

static void free_list(const pp_xla_list *list) {
  for (int64_t i = 0; i < list->size; i++) free(((pp_xla_buffer *)list->items[i])->data);
}

/* ------------------------------------------------------------------------------ attributes -- */

typedef struct attributes {
  pp_xla_text text[MOST_ATTRS], *names[MOST_ATTRS];
  pp_xla_scalar scalar[MOST_ATTRS];
  pp_xla_array array[MOST_ATTRS];
  int64_t value[MOST_ATTRS];
  int types[MOST_ATTRS];
  void *items[MOST_ATTRS];
} attributes;

/* An array of integers in memory of exactly its size. */
static pp_xla_array make_array(reader *r) {
  pp_xla_array array = {.dtype = take(r) < 0xe0 ? PP_XLA_S64 : PP_XLA_S32,
                        .size = (size_t)take_below(r, MOST_COLUMNS)};
  const size_t each = bytes_of(array.dtype);
  uint8_t *data = calloc(array.size + 1, each);
  if (!data) abort();
  for (size_t i = 0; i < array.size; i++) {
    const int64_t index = (int8_t)take(r);
    memcpy(data + i * each, &index, each);
  }
  array.data = data;
  return array;
}

static pp_xla_attrs make_attributes(reader *r, attributes *all) {
  static const char *const names[] = {"has_ids", "has_seeds", "has_signed_seeds", "columns",
                                      "other",   "pools",     "number",           "timeout"};
  const int64_t size = take_below(r, MOST_ATTRS + 1);
  for (int64_t i = 0; i < size; i++) {
    const char *name = names[take_below(r, 8)];
    const bool is_array = (strcmp(name, "columns") == 0) != (take(r) > 0xe0);
    all->text[i] = (pp_xla_text){name, strlen(name)};
    all->names[i] = &all->text[i];
    all->types[i] = is_array ? PP_XLA_ATTR_ARRAY : PP_XLA_ATTR_SCALAR;
    all->value[i] = take(r) % (NUM_ENVS + 1);
    all->scalar[i] = (pp_xla_scalar){take(r) < 0xe0 ? PP_XLA_S64 : PP_XLA_PRED, &all->value[i]};
    all->array[i] = (pp_xla_array){0};
    if (is_array) all->array[i] = make_array(r);
    all->items[i] = is_array ? (void *)&all->array[i] : (void *)&all->scalar[i];
  }
  return (pp_xla_attrs){
      .size = size, .types = all->types, .names = all->names, .items = all->items};
}

/* ----------------------------------------------------------------------------------- calls -- */

static void *create_error(pp_xla_error_args *args) {
  CHECK(args->message != NULL && args->message[0] != '\0');
  return malloc(1);
}

static const pp_xla_api api = {.struct_size = sizeof(api), .create_error = create_error};

static client ours, visited; /* the second has the number 2 */
static int32_t number;

static void *spare, *visited_spare;

/* The leak sanitizer asks for everything. */
__attribute__((destructor)) static void close_pool(void) {
  if (!ours.pool) return;
  pp_xla_unshare(number, -1);
  pp_batch_free(spare, ours.size);
  client_close(&ours);
  pp_xla_unshare(2, -1);
  pp_batch_free(visited_spare, visited.size);
  client_close(&visited);
}

static void open_visited(void) {
  int32_t other;
  visited = make_client("test/Duel-v0", NUM_ENVS - 1);
  visited.options.autoreset = PP_SAME_STEP;
  if (!client_open(&visited)) abort();
  visited_spare = pp_batch_alloc(visited.pool);
  if (pp_pool_open_visits(visited.pool, &visited.error) < 0 ||
      pp_xla_share(visited.pool, visited_spare, &other, &visited.error) != PP_OK || other != 2) {
    abort();
  }
}

static void open_pool(void) {
  ours = make_client("test/Duel-v0", NUM_ENVS);
  if (!client_open(&ours) || client_reset(&ours) != NUM_ENVS) abort();
  spare = pp_batch_alloc(ours.pool);
  if (pp_xla_share(ours.pool, spare, &number, &ours.error) != PP_OK) abort();
  open_visited();
}

/* Makes the first argument the pool's handle, as all calls of programs but forged ones have it. */
static void put_handle(pp_xla_list *arguments, buffers *all) {
  static int64_t two = 2;
  pp_xla_buffer *handle = &all->buffer[0];
  if (arguments->size == 0) return;
  free(handle->data);
  all->types[0] = PP_XLA_BUFFER;
  *handle = (pp_xla_buffer){.dtype = PP_XLA_S32, .rank = 1, .dims = &two, .data = malloc(8)};
  if (!handle->data) abort();
  ((int32_t *)handle->data)[0] = number;
  ((uint32_t *)handle->data)[1] = pp_xla_calls(number);
}

/* A step whose operands are on a GPU. */
static void *step_on_cuda(void *frame) {
  static late_stream stream;
  void *failure;
  pp_cuda_driver_use(&late_driver);
  late_program_stream = &stream;
  failure = late_call(pp_xla_cuda_step, frame);
  late_finish(&stream);
  CHECK_EQ(atomic_load(&late_faults), 0);
  return failure;
}

/* Whether a call would wait for rows that nobody has sent. */
static bool may_wait(void *(*call)(void *)) {
  return call == pp_xla_recv && pp_pool_in_flight(ours.pool) < NUM_ENVS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void *(*const calls[])(void *) = {pp_xla_send,  pp_xla_reset,   pp_xla_recv,
                                           pp_xla_step,  pp_xla_observe, step_on_cuda,
                                           pp_xla_start, pp_xla_advance};
  reader r = {data, size};
  buffers arguments, results;
  attributes attrs;
  if (!ours.pool) open_pool();
  void *(*call)(void *) = calls[take_below(&r, 8)];
  const bool is_pure = call == pp_xla_start || call == pp_xla_advance;
  const bool is_forged = take(&r) > 0xf0 || is_pure;
  pp_xla_frame frame = {.struct_size = sizeof(frame), .api = &api, .stage = PP_XLA_EXECUTE};
  frame.arguments = make_list(&r, &arguments);
  frame.results = make_list(&r, &results);
  frame.attributes = make_attributes(&r, &attrs);
  if (!is_forged) put_handle(&frame.arguments, &arguments);
  if (!may_wait(call)) free(call(&frame));
  free_list(&frame.arguments);
  free_list(&frame.results);
  for (int64_t i = 0; i < frame.attributes.size; i++) free(attrs.array[i].data);
  if (atomic_load(&check_failed)) abort();
  return 0;
}

/* -------------------------------------------------------------------------------- examples -- */

/* bytes of which LLVMFuzzerTestOneInput makes a frame */
typedef struct writer {
  uint8_t *bytes;
  size_t size;
} writer;

static void put(writer *w, int64_t value) {
  w->bytes[w->size++] = (uint8_t)value;
}

/* a buffer of rows for all environments; extent: the second dimension, 0: there is none */
static void put_buffer(writer *w, int dtype, int64_t extent) {
  put(w, 0);
  put(w, dtype);
  put(w, extent ? 2 : 1);
  put(w, 0);
  if (extent) {
    put(w, 0x80);
    put(w, extent);
  }
  for (int64_t i = 0; i < NUM_ENVS * (extent ? extent : 1); i++) put(w, i % NUM_ENVS);
}

static void put_flag(writer *w, int name) {
  put(w, name);
  put(w, 0);
  put(w, 1);
  put(w, 0);
}

/* columns that a result of one or two dimensions can take, by index; returns how many */
static int64_t list_columns(int64_t *indices) {
  int64_t count = 0;
  for (int32_t i = 0; i < ours.num_columns && count < MOST_BUFFERS - 2; i++) {
    const pp_column *column = &ours.columns[i];
    const bool is_small = column->ndim == 0 || (column->ndim == 1 && column->shape[0] < 6);
    if (is_small && (column->dtype == PP_FLOAT64 || column->dtype == PP_INT32))
      indices[count++] = i;
  }
  return count;
}

static void put_results(writer *w, int64_t count, const int64_t *indices) {
  put(w, 1 + count);
  put_buffer(w, PP_XLA_S32, 0);
  for (int64_t i = 0; i < count; i++) {
    const pp_column *column = &ours.columns[indices[i]];
    put_buffer(w, column->dtype == PP_FLOAT64 ? PP_XLA_F64 : PP_XLA_S32,
               column->ndim ? column->shape[0] : 0);
  }
}

/* A call that is in order: send, reset, recv, step, observe; has_ids: for named environments. */
static size_t good_call(int which, bool has_ids, uint8_t *bytes) {
  enum { SEND, RESET, RECV, STEP };
  writer w = {bytes, 0};
  int64_t indices[MOST_BUFFERS], count = which == RECV || which == STEP ? list_columns(indices) : 0;
  const bool has_rows = which == SEND || which == STEP || which == RESET;
  put(&w, which);
  put(&w, 0);
  put(&w, 1 + has_rows + has_ids);
  put_buffer(&w, PP_XLA_S32, 0);
  if (has_rows) {
    put_buffer(&w, PP_XLA_S32, which == RESET ? 0 : pp_pool_config(ours.pool)->num_players);
  }
  if (has_ids) put_buffer(&w, PP_XLA_S32, 0);
  put_results(&w, count, indices);
  put(&w, (which == RESET) + has_ids + (count > 0));
  if (which == RESET) put_flag(&w, 1);
  if (has_ids) put_flag(&w, 0);
  if (count > 0) {
    put(&w, 3);
    put(&w, 0);
    put(&w, 1);
    put(&w, 0);
    put(&w, 0);
    put(&w, count);
    for (int64_t i = 0; i < count; i++) put(&w, indices[i]);
  }
  return w.size;
}

/* The calls that are in order, and random bytes. */
size_t fuzz_example(int which, uint8_t bytes[FUZZ_BYTES]) {
  enum { GOOD = 10, RANDOM = 4, BYTES = 300 };
  uint32_t x = (uint32_t)which;
  if (!ours.pool) open_pool();
  if (which < GOOD) return good_call(which % 5, which >= 5, bytes);
  if (which >= GOOD + RANDOM) return 0;
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
  return BYTES;
}
