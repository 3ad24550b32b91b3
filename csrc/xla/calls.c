/* Calls: the handlers that compiled programs call to send, reset, receive and step. A call is for
 * one pool, or for several that are called together: then all operands and results have one more
 * axis in front, and each pool gets its part. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_mode.h"
#include "call.h"
#include "pool/error.h"

/* What a handler does on each pool. start comes before the finish of all pools, so that their
 * threads work at the same time; each may be null. */
typedef struct operation {
  bool receives; /* it takes batches of the pool's ring */
  bool has_columns;
  int (*start)(pp_call *it, bool is_alone);
  int (*finish)(pp_call *it);
} operation;

/* -------------------------------------------------------------------------------- one pool -- */

static int read_actions(pp_call *it) {
  int64_t rows;
  int status = pp_call_actions(it, &it->actions, &it->action_dtype, &rows);
  return status < 0 ? status : pp_call_ids(it, rows);
}

static int send(pp_call *it) {
  return pp_pool_send(it->pool, it->env_ids, (int32_t)it->count, it->actions, it->action_dtype,
                      it->error);
}

static int start_send(pp_call *it, bool is_alone) {
  int status = read_actions(it);
  (void)is_alone;
  return status < 0 ? status : send(it);
}

static int start_reset(pp_call *it, bool is_alone) {
  const uint32_t *words;
  const int32_t *sizes;
  int status = pp_call_seeds(it, &words, &sizes);
  (void)is_alone;
  if (status < 0) return status;
  return pp_pool_send_reset(it->pool, it->env_ids, (int32_t)it->count, words, sizes, NULL,
                            it->error);
}

/* Returns whether a step should be sent, so that the pool's threads begin it, instead of waiting
 * for its turn in this thread. */
static bool is_worth_sending(const pp_pool *pool, int32_t count) {
  return pool->ring.is_ordered && !pp_pool_in_flight(pool) && !pool->ops.is_inline(pool, count);
}

/* Returns whether the thread of a step may step environments itself: it could not leave them when
 * the time is up. */
static bool may_step(const pp_call *it, bool is_alone) {
  if (it->limit.timeout >= 0) return false;
  return is_alone || !is_worth_sending(it->pool, (int32_t)it->count);
}

static int start_step(pp_call *it, bool is_alone) {
  int status = read_actions(it);
  if (status < 0 || may_step(it, is_alone)) return status;
  status = pp_pool_check(it->pool, it->error);
  if (status >= 0) status = pp_pool_check_pending(it->pool, it->error);
  if (status >= 0) status = send(it);
  it->is_sent = status >= 0;
  return status;
}

/* finishes a receive that began with this status; oldest: the memory that it fills */
static int finish_receive(pp_call *it, int32_t status, char *oldest) {
  status = pp_call_receive(it, status, oldest);
  return status > 0 ? pp_call_copy(it, oldest, 0, it->pool->ring.batch_size) : status;
}

static int receive(pp_call *it) {
  return finish_receive(it, 0, pp_ring_held(&it->pool->ring, 0));
}

static int finish_recv(pp_call *it) {
  if (it->next != it->frame->arguments.size) return pp_call_wrong(it, "the number of arguments");
  return receive(it);
}

static int finish_step(pp_call *it) {
  char *oldest = pp_ring_held(&it->pool->ring, 0);
  if (it->is_sent) return receive(it);
  return finish_receive(it,
                        pp_pool_step(it->pool, it->env_ids, (int32_t)it->count, it->actions,
                                     it->action_dtype, it->share->spare, it->error),
                        oldest);
}

static int observe(pp_call *it) {
  const pp_column *columns;
  int32_t count, num_envs = it->pool->fleet.num_envs;
  void *rows[PP_MAX_FIELDS] = {NULL};
  int status = PP_OK;
  if (!it->pool->ring.is_ordered) return pp_call_wrong(it, "a result");
  columns = pp_pool_columns(it->pool, &count);
  for (int32_t env = 0; status >= 0 && env < num_envs; env++) {
    for (int64_t i = 0; i < it->num_columns; i++) {
      const pp_xla_buffer *result = it->frame->results.items[i + it->column_results];
      const pp_column *column = &columns[it->columns[i]];
      if (column->field < 0 || column->is_final || !pp_xla_is_exact(result, column)) {
        return pp_call_wrong(it, "a result");
      }
      rows[column->field] = (char *)result->data + column->row_bytes * env;
    }
    status = pp_pool_observe(it->pool, env, rows, it->error);
  }
  return status;
}

/* reads the handle and finds the pool; from then on pp_shared_end must be called */
static int find(pp_call *it, bool receives) {
  const pp_xla_buffer *handle = pp_call_next(it);
  const uint32_t *halves;
  int status;
  if (!handle || !pp_xla_is_handle(handle)) return pp_call_wrong(it, "handle");
  halves = handle->data;
  it->number = (int32_t)halves[0];
  it->calls = halves[1];
  status = pp_shared_begin(it->number, it->calls, receives, &it->share, it->error);
  if (status >= 0) {
    it->pool = it->share->pool;
  } else {
    it->share = NULL;
  }
  return status;
}

/* before the pool is called, so that nothing has changed if the results do not fit */
static int check_results(pp_call *it, bool has_columns) {
  const pp_xla_list *results = &it->frame->results;
  if (results->size < 1 || results->types[0] != PP_XLA_BUFFER ||
      !pp_xla_is_handle(results->items[0])) {
    return pp_call_wrong(it, "the result");
  }
  return has_columns ? pp_call_check_columns(it, 1, it->pool->ring.batch_size) : PP_OK;
}

static void write_handle(const pp_call *it) {
  uint32_t *halves = ((const pp_xla_buffer *)it->frame->results.items[0])->data;
  halves[0] = (uint32_t)it->number;
  halves[1] = it->calls + 1;
}

static void begin(pp_call *it, const operation *what, bool is_alone) {
  it->status = find(it, what->receives);
  if (it->status >= 0) it->status = check_results(it, what->has_columns);
  if (it->status >= 0 && what->start) it->status = what->start(it, is_alone);
}

static void end(pp_call *it, const operation *what) {
  if (it->status >= 0 && what->finish) it->status = what->finish(it);
  pp_call_fini(it);
  if (it->status >= 0) write_handle(it);
  if (it->share) pp_shared_end(it->share, it->status >= 0);
}

/* --------------------------------------------------------------------------- several pools -- */

/* the parts of a call that are for one of several pools */
typedef struct part {
  pp_call call;
  pp_error error;
  pp_xla_frame frame;
  pp_xla_buffer *buffers; /* buffers of arguments, then of results */
  void **items;
} part;

/* Writes the i-th of count parts of the buffers of a list. */
static int divide(const pp_xla_list *list, int64_t i, int64_t count, pp_xla_buffer *buffers,
                  void **items) {
  for (int64_t j = 0; j < list->size; j++) {
    const pp_xla_buffer *whole = list->items[j];
    if (list->types[j] != PP_XLA_BUFFER || whole->rank < 1 || whole->dims[0] != count) {
      return PP_ERR_ARGUMENT;
    }
    buffers[j] = *whole;
    buffers[j].rank--;
    buffers[j].dims++;
    buffers[j].data =
        (char *)whole->data + i * pp_xla_elements(&buffers[j]) * pp_xla_bytes(whole->dtype);
    items[j] = &buffers[j];
  }
  return PP_OK;
}

static int make_part(const pp_call *whole, int64_t i, int64_t count, part *one) {
  const pp_xla_frame *frame = whole->frame;
  const pp_xla_list *arguments = &frame->arguments, *results = &frame->results;
  one->frame = *frame;
  one->call = (pp_call){.frame = &one->frame, .limit = whole->limit, .error = &one->error};
  one->frame.arguments.items = one->items;
  one->frame.results.items = one->items + arguments->size;
  if (divide(arguments, i, count, one->buffers, one->items) < 0) return PP_ERR_ARGUMENT;
  return divide(results, i, count, one->buffers + arguments->size, one->items + arguments->size);
}

/* Says which pool failed first. Returns its status. */
static int explain(const part *parts, int64_t count, pp_error *error) {
  for (int64_t i = 0; i < count; i++) {
    const pp_error *own = &parts[i].error;
    int status = parts[i].call.status;
    if (status >= 0) continue;
    return pp_error_set(error, status, "pool %lld of %lld: %s", (long long)i, (long long)count,
                        own->text[0] ? own->text : pp_status_name(status));
  }
  return PP_OK;
}

static int call_parts(const pp_call *whole, const operation *what, part *parts, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (make_part(whole, i, count, &parts[i]) < 0) return pp_call_wrong(whole, "an operand");
  }
  // a pool that fails keeps no other from its call: which were called depends on no order
  for (int64_t i = 0; i < count; i++) begin(&parts[i].call, what, false);
  for (int64_t i = 0; i < count; i++) end(&parts[i].call, what);
  return explain(parts, count, whole->error);
}

static int run_several(pp_call *whole, const operation *what, int64_t count) {
  const pp_xla_buffer *handles = pp_call_next(whole);
  size_t each = (size_t)(whole->frame->arguments.size + whole->frame->results.size);
  pp_xla_buffer *buffers;
  void **items;
  part *parts;
  int status = PP_ERR_MEMORY;
  if (!handles || handles->rank != 2 || handles->dims[0] != count) {
    return pp_call_wrong(whole, "handle");
  }
  parts = calloc((size_t)count, sizeof(*parts));
  buffers = calloc((size_t)count * each, sizeof(*buffers));
  items = calloc((size_t)count * each, sizeof(*items));
  if (parts && buffers && items) {
    for (size_t i = 0; i < (size_t)count; i++) {
      parts[i].buffers = buffers + i * each;
      parts[i].items = items + i * each;
    }
    status = call_parts(whole, what, parts, count);
  }
  free(parts);
  free(buffers);
  free(items);
  return status;
}

/* -------------------------------------------------------------------------------- handlers -- */

static int run_one(pp_call *it, const operation *what) {
  begin(it, what, true);
  end(it, what);
  return it->status;
}

static void *run(const pp_xla_frame *frame, const operation *what) {
  pp_error error = {.text = ""};
  pp_call it = {.frame = frame, .error = &error};
  pp_float_mode mode;
  int64_t pools;
  int status;

  if (pp_xla_has_no_work(frame)) return NULL;
  pp_shared_park();
  it.limit = pp_xla_limit(frame);
  pools = pp_xla_number(frame, "pools", 0);
  // XLA's threads flush denormal numbers to zero, and this one may step environments
  mode = pp_float_mode_reset();
  status = pools > 0 ? run_several(&it, what, pools) : run_one(&it, what);
  pp_float_mode_restore(mode);
  pp_shared_park();
  return pp_xla_answer(frame, status, &error);
}

void *pp_xla_send(void *frame) {
  static const operation what = {.start = start_send};
  return run(frame, &what);
}

void *pp_xla_reset(void *frame) {
  static const operation what = {.start = start_reset};
  return run(frame, &what);
}

void *pp_xla_recv(void *frame) {
  static const operation what = {.receives = true, .has_columns = true, .finish = finish_recv};
  return run(frame, &what);
}

void *pp_xla_step(void *frame) {
  static const operation what = {
      .receives = true, .has_columns = true, .start = start_step, .finish = finish_step};
  return run(frame, &what);
}

void *pp_xla_observe(void *frame) {
  static const operation what = {.has_columns = true, .finish = observe};
  return run(frame, &what);
}
