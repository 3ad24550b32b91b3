/* Visits: the handlers that compiled programs call to start and advance states that belong to the
 * program. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_mode.h"
#include "call.h"
#include "pool/error.h"

typedef struct visits {
  pp_call call;
  const char *from; /* states, null: the call is a reset */
  char *to;
  int64_t size; /* bytes of a state */
  int64_t rows;
  int64_t action_bytes; /* bytes of the action of a row */
  const uint32_t *seeds;
  int32_t num_words;
  int32_t *env_ids; /* ids of all environments: 0, 1, 2 ... */
} visits;

/* -------------------------------------------------------------------------------- operands -- */

/* returns the buffer if it has this dtype and `rank` axes, else null */
static const pp_xla_buffer *expect(const pp_xla_buffer *buffer, int dtype, int64_t rank) {
  return buffer && buffer->dtype == dtype && buffer->rank == rank ? buffer : NULL;
}

static int read_states(visits *it) {
  const pp_xla_buffer *states = expect(pp_call_next(&it->call), PP_XLA_U8, 2);
  if (!states) return pp_call_wrong(&it->call, "the state");
  it->from = states->data;
  it->rows = states->dims[0];
  it->size = states->dims[1];
  return PP_OK;
}

static int read_actions(visits *it) {
  const pp_xla_list *all = &it->call.frame->arguments;
  int64_t rows;
  int status;
  const pp_xla_buffer *given = it->call.next < all->size ? all->items[it->call.next] : NULL;
  status = pp_call_actions(&it->call, &it->call.actions, &it->call.action_dtype, &rows);
  if (status < 0) return status;
  if (rows != it->rows) return pp_call_wrong(&it->call, "the number of rows");
  // those of a dtype that the engine lacks were converted
  it->action_bytes = it->call.num_owned ? 8 : pp_xla_bytes(given->dtype);
  if (rows) it->action_bytes *= pp_xla_elements(given) / rows;
  return PP_OK;
}

static int read_seeds(visits *it) {
  const pp_xla_buffer *seeds = expect(pp_call_next(&it->call), PP_XLA_U32, 2);
  if (!seeds || seeds->dims[1] < 1 || seeds->dims[1] > INT32_MAX) {
    return pp_call_wrong(&it->call, "the key");
  }
  if (it->from && seeds->dims[0] != it->rows) {
    return pp_call_wrong(&it->call, "the number of rows");
  }
  it->seeds = seeds->data;
  it->rows = seeds->dims[0];
  it->num_words = (int32_t)seeds->dims[1];
  if (it->call.next == it->call.frame->arguments.size) return PP_OK;
  return pp_call_wrong(&it->call, "the number of arguments");
}

static int check_results(visits *it) {
  const pp_xla_list *results = &it->call.frame->results;
  const pp_xla_buffer *states;
  if (results->size < 1 || results->types[0] != PP_XLA_BUFFER ||
      !(states = expect(results->items[0], PP_XLA_U8, 2)) || states->dims[0] != it->rows ||
      (it->from && states->dims[1] != it->size)) {
    return pp_call_wrong(&it->call, "the state");
  }
  it->to = states->data;
  it->size = states->dims[1];
  return pp_call_check_columns(&it->call, 1, it->rows);
}

static int read_operands(visits *it, bool advances) {
  int status = advances ? read_states(it) : PP_OK;
  if (status >= 0 && advances) status = read_actions(it);
  if (status >= 0) status = read_seeds(it);
  return status < 0 ? status : check_results(it);
}

/* ------------------------------------------------------------------------------------- rows -- */

/* Returns a text without the environment that it begins with: programs know rows only. */
static const char *without_env(const char *text) {
  int length = 0;
  (void)sscanf(text, "environment %*d: %n", &length);
  return text + length;
}

/* says which row failed first */
static int explain(const visits *it, int64_t at) {
  int32_t count, first = INT32_MAX;
  const int32_t *failed = pp_pool_failed(it->call.pool, &count, NULL);
  pp_error own;
  for (int32_t i = 0; i < count; i++) first = failed[i] < first ? failed[i] : first;
  own = *pp_pool_env_error(it->call.pool, first);
  return pp_error_set(it->call.error, own.code < 0 ? own.code : PP_ERR_ENV, "row %lld: %s",
                      (long long)(at + first), without_env(own.text));
}

/* names the row of an action that was refused */
static int explain_action(const visits *it, int64_t at, int status) {
  pp_error own = *it->call.error;
  int env_id, length = 0;
  const char *named = strstr(own.text, " of environment ");
  if (!named || sscanf(named, " of environment %d%n", &env_id, &length) != 1) return status;
  return pp_error_set(it->call.error, status, "%.*s of row %lld%s", (int)(named - own.text),
                      own.text, (long long)(at + env_id), named + length);
}

/* Sends the rows from `at` on, and receives if this thread may step environments, which it could
 * not leave at a time limit. Returns the status of that, 0: they are to be received. */
static int32_t begin(const visits *it, int64_t at, int32_t count) {
  const pp_call *call = &it->call;
  pp_pool *pool = call->pool;
  const char *actions = (const char *)call->actions + it->action_bytes * at;
  int32_t status;
  if (!it->from) {
    return pp_pool_send_reset(pool, it->env_ids, count, NULL, NULL, NULL, call->error);
  }
  if (call->limit.timeout < 0) {
    status = pp_pool_step(pool, it->env_ids, count, actions, call->action_dtype, call->share->spare,
                          call->error);
  } else {
    status = pp_pool_send(pool, it->env_ids, count, actions, call->action_dtype, call->error);
  }
  return status < 0 && status != PP_ERR_ENV ? explain_action(it, at, status) : status;
}

/* starts or advances the rows from `at` on, as many as the pool has environments for */
static int visit(visits *it, int64_t at, int32_t count) {
  const pp_visit visit = {.from = it->from ? it->from + it->size * at : NULL,
                          .to = it->to + it->size * at,
                          .size = it->size,
                          .seeds = it->seeds + it->num_words * at,
                          .num_words = it->num_words,
                          .count = count};
  pp_call *call = &it->call;
  char *oldest = pp_ring_held(&call->pool->ring, 0);
  int32_t status = pp_pool_visit(call->pool, &visit, call->error);
  if (status < 0) return status;
  status = pp_call_receive(call, begin(it, at, count), oldest);
  if (status == PP_ERR_ENV) return explain(it, at);
  if (status >= 0) return pp_call_copy(call, oldest, at, count);
  // time is up, or the pool is closed: threads may still step, and XLA frees its memory
  pp_pool_leave_visit(call->pool);
  call->share->is_late = pp_pool_in_flight(call->pool) > 0;
  return status;
}

/* Waits for the batch that an earlier call has left, and drops it. */
static int drain(pp_call *call) {
  int32_t status;
  if (!call->share->is_late) return PP_OK;
  status = pp_call_receive(call, 0, pp_ring_held(&call->pool->ring, 0));
  if (status < 0 && status != PP_ERR_ENV) return status;
  call->share->is_late = false;
  call->error->text[0] = '\0';
  return PP_OK;
}

static int visit_all(visits *it) {
  int32_t num_envs = it->call.pool->fleet.num_envs;
  int status = PP_OK;
  it->env_ids = malloc(sizeof(*it->env_ids) * (size_t)num_envs);
  if (!it->env_ids) return pp_error_set(it->call.error, PP_ERR_MEMORY, "no memory for ids");
  for (int32_t i = 0; i < num_envs; i++) it->env_ids[i] = i;
  for (int64_t at = 0; status >= 0 && at < it->rows; at += num_envs) {
    status = visit(it, at, it->rows - at < num_envs ? (int32_t)(it->rows - at) : num_envs);
  }
  free(it->env_ids);
  return status;
}

/* --------------------------------------------------------------------------------- handlers -- */

static void *run(const pp_xla_frame *frame, bool advances) {
  pp_error error = {.text = ""};
  visits it = {.call = {.frame = frame, .error = &error}};
  int status;

  if (pp_xla_has_no_work(frame)) return NULL;
  pp_shared_park();
  it.call.limit = pp_xla_limit(frame);
  it.call.number = (int32_t)pp_xla_number(frame, "number", 0);
  status = pp_shared_wait(it.call.number, &it.call.limit, &it.call.share, &error);
  if (status >= 0) {
    // XLA's threads flush denormal numbers to zero, and this one may step environments
    pp_float_mode mode = pp_float_mode_reset();
    it.call.pool = it.call.share->pool;
    status = read_operands(&it, advances);
    if (status >= 0) status = drain(&it.call);
    if (status >= 0) status = visit_all(&it);
    pp_call_fini(&it.call);
    pp_float_mode_restore(mode);
    pp_shared_end(it.call.share, false);
  }
  pp_shared_park();
  return pp_xla_answer(frame, status, &error);
}

void *pp_xla_start(void *frame) {
  return run(frame, false);
}

void *pp_xla_advance(void *frame) {
  return run(frame, true);
}
