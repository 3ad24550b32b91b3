/* Calls of compiled programs: made-up frames, as XLA passes them, against pools. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "include/pp_xla.h"
#include "pool_tests.h"
#include "xla/abi.h"

enum { NUM_ENVS = 5, MAX_COLUMNS = 16, TEXT = 512 };

/* -------------------------------------------------------------------- XLA's side of a call -- */

typedef struct failure {
  int code;
  char text[TEXT];
} failure;

static void *create_error(pp_xla_error_args *args) {
  failure *made = calloc(1, sizeof(*made));
  made->code = args->code;
  snprintf(made->text, sizeof(made->text), "%s", args->message);
  return made;
}

static const pp_xla_api api = {.struct_size = sizeof(api), .create_error = create_error};

typedef void *handler(void *frame);

/* one call: at most a handle, actions or seeds, and ids; results for a handle and all columns */
typedef struct call {
  int32_t handle[2];
  int32_t actions[NUM_ENVS], ids[NUM_ENVS];
  uint32_t seeds[NUM_ENVS];
  int32_t rows; /* of actions, seeds and ids; 0: no ids */
  int64_t columns[MAX_COLUMNS];
  int32_t num_columns;
  char *results[MAX_COLUMNS];
  int dtypes[MAX_COLUMNS];
  int64_t sizes[MAX_COLUMNS]; /* elements */
  int action_dtype;
  int32_t next[2];
  int next_dtype; /* 0: that of a handle */
  int64_t next_size;
  int64_t timeout; /* of receives, nanoseconds; 0: none */
  failure failed;
} call;

static int dtype_of(int32_t dtype) {
  static const int of[] = {[PP_BOOL] = PP_XLA_PRED,   [PP_UINT8] = PP_XLA_U8,
                           [PP_INT32] = PP_XLA_S32,   [PP_INT64] = PP_XLA_S64,
                           [PP_FLOAT32] = PP_XLA_F32, [PP_FLOAT64] = PP_XLA_F64,
                           [PP_INT8] = PP_XLA_S8};
  return of[dtype];
}

static call make_call(const client *c, int32_t number, uint32_t calls) {
  call it = {.handle = {number, (int32_t)calls}, .action_dtype = PP_XLA_S32};
  it.num_columns = c->num_columns;
  for (int32_t i = 0; i < c->num_columns; i++) {
    const pp_column *column = &c->columns[i];
    it.columns[i] = i;
    it.dtypes[i] = dtype_of(column->dtype);
    it.sizes[i] = c->options.batch_size;
    for (int32_t j = 0; j < column->ndim; j++) it.sizes[i] *= column->shape[j];
    it.results[i] = calloc((size_t)it.sizes[i], 8);
  }
  return it;
}

static void drop_call(call *it) {
  for (int32_t i = 0; i < it->num_columns; i++) free(it->results[i]);
}

/* Makes the call; returns 0 or the code of its error. */
static int run(call *it, handler *handle, bool has_actions, bool has_seeds, bool receives) {
  int64_t two = 2, rows = it->rows ? it->rows : NUM_ENVS, yes = 1;
  pp_xla_buffer handle_in = {.dtype = PP_XLA_S32, .data = it->handle, .rank = 1, .dims = &two};
  pp_xla_buffer handle_out = handle_in;
  pp_xla_buffer given = {.dtype = has_actions ? it->action_dtype : PP_XLA_U32, .rank = 1};
  pp_xla_buffer ids = {.dtype = PP_XLA_S32, .data = it->ids, .rank = 1, .dims = &rows};
  pp_xla_buffer columns[MAX_COLUMNS];
  int types[MAX_COLUMNS + 1], attr_types[4];
  void *arguments[3] = {&handle_in}, *results[MAX_COLUMNS + 1] = {&handle_out}, *attrs[4];
  pp_xla_text names[4], *name_list[4] = {&names[0], &names[1], &names[2], &names[3]};
  pp_xla_scalar flag = {PP_XLA_S64, &yes}, timeout = {PP_XLA_S64, &it->timeout};
  pp_xla_array indices = {PP_XLA_S64, (size_t)it->num_columns, it->columns};
  pp_xla_frame frame = {.struct_size = sizeof(frame), .api = &api, .stage = PP_XLA_EXECUTE};
  int64_t num_arguments = 1, num_results = 1, num_attrs = 0;
  failure *failed;

  for (int32_t i = 0; i <= MAX_COLUMNS; i++) types[i] = PP_XLA_BUFFER;
  handle_out.data = it->next;
  if (it->next_dtype) handle_out.dtype = it->next_dtype;
  if (it->next_dtype) handle_out.dims = &it->next_size;
  given.data = has_actions ? (void *)it->actions : (void *)it->seeds;
  given.dims = &rows;
  if (has_actions || has_seeds) arguments[num_arguments++] = &given;
  if (it->rows) {
    arguments[num_arguments++] = &ids;
    names[num_attrs] = (pp_xla_text){"has_ids", strlen("has_ids")};
    attr_types[num_attrs] = PP_XLA_ATTR_SCALAR;
    attrs[num_attrs++] = &flag;
  }
  if (has_seeds) {
    names[num_attrs] = (pp_xla_text){"has_seeds", strlen("has_seeds")};
    attr_types[num_attrs] = PP_XLA_ATTR_SCALAR;
    attrs[num_attrs++] = &flag;
  }
  if (receives && it->timeout) {
    names[num_attrs] = (pp_xla_text){"timeout", strlen("timeout")};
    attr_types[num_attrs] = PP_XLA_ATTR_SCALAR;
    attrs[num_attrs++] = &timeout;
  }
  if (receives) {
    names[num_attrs] = (pp_xla_text){"columns", strlen("columns")};
    attr_types[num_attrs] = PP_XLA_ATTR_ARRAY;
    attrs[num_attrs++] = &indices;
    for (int32_t i = 0; i < it->num_columns; i++) {
      columns[i] = (pp_xla_buffer){
          .dtype = it->dtypes[i], .data = it->results[i], .rank = 1, .dims = &it->sizes[i]};
      results[num_results++] = &columns[i];
    }
  }
  frame.arguments = (pp_xla_list){.size = num_arguments, .types = types, .items = arguments};
  frame.results = (pp_xla_list){.size = num_results, .types = types, .items = results};
  frame.attributes =
      (pp_xla_attrs){.size = num_attrs, .types = attr_types, .names = name_list, .items = attrs};
  failed = handle(&frame);
  if (!failed) {
    memcpy(it->handle, it->next, sizeof(it->next));
    return 0;
  }
  it->failed = *failed;
  free(failed);
  return it->failed.code;
}

static int step(call *it) {
  return run(it, pp_xla_step, true, false, true);
}

static int send(call *it) {
  return run(it, pp_xla_send, true, false, false);
}

static int recv(call *it) {
  return run(it, pp_xla_recv, false, false, true);
}

static int reset(call *it, bool has_seeds) {
  return run(it, pp_xla_reset, false, has_seeds, false);
}

/* ----------------------------------------------------------------------------------- pools -- */

static client open_pool(const char *id, int32_t batch, int32_t threads) {
  client c = make_client(id, NUM_ENVS);
  c.options.batch_size = batch;
  c.options.num_threads = threads;
  client_open(&c);
  return c;
}

static int32_t share(client *c, void **spare) {
  int32_t number = 0;
  *spare = pp_batch_alloc(c->pool);
  CHECK_EQ(pp_xla_share(c->pool, *spare, &number, &c->error), PP_OK);
  return number;
}

/* calls of programs have permuted the blocks of the pool and the spare one */
static void end(client *c, int32_t number, void *spare) {
  int64_t size = c->size;
  pp_pool_close(c->pool, -1);
  pp_xla_unshare(number, -1);
  pp_batch_free(spare, size);
  client_close(c);
}

static void choose(call *it, int64_t game, int64_t t) {
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    it->actions[i] = (int32_t)some_action(i, game * 1000 + t, 2);
  }
}

/* ----------------------------------------------------------------------------------- tests -- */

TEST(xla_learns_the_version) {
  pp_xla_metadata metadata = {.struct_size = sizeof(metadata), .traits = 9};
  pp_xla_metadata_extension question = {.base = {.type = PP_XLA_METADATA}, .metadata = &metadata};
  pp_xla_frame frame = {.extensions = &question.base};
  static handler *const all[] = {pp_xla_send, pp_xla_reset, pp_xla_recv, pp_xla_step};
  for (int32_t i = 0; i < 4; i++) {
    metadata.version.minor = metadata.version.major = -1;
    CHECK(all[i](&frame) == NULL);
    CHECK_EQ(metadata.version.major, PP_XLA_MAJOR);
    CHECK_EQ(metadata.version.minor, PP_XLA_MINOR);
    CHECK_EQ(metadata.traits, 0);
  }
  // an older XLA is told its own version, a newer one ours
  pp_xla_speak(1);
  pp_xla_step(&frame);
  CHECK_EQ(metadata.version.minor, 1);
  pp_xla_speak(PP_XLA_MINOR + 1);
  pp_xla_step(&frame);
  CHECK_EQ(metadata.version.minor, PP_XLA_MINOR);
  // other stages have no work
  frame = (pp_xla_frame){.stage = PP_XLA_EXECUTE - 1};
  CHECK(pp_xla_step(&frame) == NULL);
}

TEST(programs_and_other_calls_take_turns_with_the_same_results) {
  client ours = open_pool("CartPole-v1", NUM_ENVS, 2),
         theirs = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare;
  int32_t number = share(&ours, &spare);
  call it = make_call(&ours, number, 0);
  CHECK_EQ(client_reset(&theirs), NUM_ENVS);
  REQUIRE(reset(&it, false) == 0);
  REQUIRE(recv(&it) == 0);
  for (int64_t t = 0; t < 300; t++) {
    int64_t actions[NUM_ENVS];
    choose(&it, 1, t);
    for (int32_t i = 0; i < NUM_ENVS; i++) actions[i] = it.actions[i];
    CHECK_EQ(client_step(&theirs, NULL, NUM_ENVS, actions), NUM_ENVS);
    if (t % 7 < 4) {
      REQUIRE(step(&it) == 0);
      for (int32_t i = 0; i < ours.num_columns; i++) {
        const pp_column *column = &ours.columns[i];
        const char *expected = (const char *)theirs.batch + column->offset;
        if (!CHECK(!memcmp(it.results[i], expected, (size_t)(column->row_bytes * NUM_ENVS))))
          return;
      }
    } else {
      // as Python does: it asks for the order of the blocks before it receives
      void *held[MAX_BATCHES + 1];
      REQUIRE(pp_xla_enter(number, held, &ours.error) == PP_OK);
      for (int32_t i = 0; i < ours.capacity; i++) ours.given[i] = held[i];
      ours.oldest = 0;
      spare = held[ours.capacity];
      CHECK_EQ(client_step(&ours, NULL, NUM_ENVS, actions), NUM_ENVS);
      pp_xla_leave(number);
      for (int32_t i = 0; i < NUM_ENVS; i++) {
        if (!CHECK_EQ(sum_row(&ours, 1, i), sum_row(&theirs, 1, i))) return;
      }
    }
  }
  CHECK_EQ(pp_xla_calls(number), (uint32_t)it.handle[1]);
  {
    void *held[MAX_BATCHES + 1];
    REQUIRE(pp_xla_enter(number, held, &ours.error) == PP_OK);
    for (int32_t i = 0; i < ours.capacity; i++) ours.given[i] = held[i];
    spare = held[ours.capacity];
  }
  drop_call(&it);
  end(&ours, number, spare);
  client_close(&theirs);
}

TEST(results_of_64_bits_may_have_32) {
  client c = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare;
  int32_t number = share(&c, &spare), narrowed = 0;
  call it = make_call(&c, number, 0);
  for (int32_t i = 0; i < it.num_columns; i++) {
    if (it.dtypes[i] != PP_XLA_F64) continue;
    it.dtypes[i] = PP_XLA_F32;
    narrowed = i;
  }
  REQUIRE(reset(&it, false) == 0 && recv(&it) == 0 && step(&it) == 0);
  for (int32_t i = 0; i < NUM_ENVS; i++) CHECK_EQ(((float *)(void *)it.results[narrowed])[i], 1);
  drop_call(&it);
  end(&c, number, spare);
}

TEST(seeds_are_those_of_a_reset) {
  client one = open_pool("CartPole-v1", NUM_ENVS, 1), two = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare;
  int32_t number = share(&one, &spare), sizes[NUM_ENVS];
  call it = make_call(&one, number, 0);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    it.seeds[i] = 40U + (uint32_t)i;
    sizes[i] = 1;
  }
  REQUIRE(reset(&it, true) == 0 && recv(&it) == 0);
  CHECK_EQ(pp_pool_send_reset(two.pool, NULL, NUM_ENVS, it.seeds, sizes, NULL, &two.error), PP_OK);
  CHECK_EQ(client_recv(&two), NUM_ENVS);
  CHECK(!memcmp(it.results[0], (char *)two.batch + two.columns[0].offset,
                (size_t)(two.columns[0].row_bytes * NUM_ENVS)));
  drop_call(&it);
  end(&one, number, spare);
  client_close(&two);
}

TEST(wrong_calls_change_nothing) {
  client c = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare;
  int32_t number = share(&c, &spare);
  call it = make_call(&c, number, 0), old;
  int64_t kept_size;

  CHECK_EQ(recv(&it), PP_XLA_FAILED_PRECONDITION);
  CHECK(strstr(it.failed.text, "send first") != NULL);
  REQUIRE(reset(&it, false) == 0 && recv(&it) == 0);
  old = it;
  it.actions[2] = 7;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.actions[2] = 0;
  it.action_dtype = PP_XLA_F32;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.action_dtype = PP_XLA_PRED;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  // as an unsigned number, -1 does not wrap
  it.action_dtype = PP_XLA_U32;
  it.actions[2] = -1;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  CHECK(strstr(it.failed.text, "action 4294967295 of environment 2") != NULL);
  it.actions[2] = 0;
  it.action_dtype = PP_XLA_S32;
  it.rows = 2;
  it.ids[0] = it.ids[1] = 3;
  CHECK_EQ(send(&it), PP_XLA_INVALID_ARGUMENT);
  CHECK(strstr(it.failed.text, "named twice") != NULL);
  it.ids[1] = NUM_ENVS;
  CHECK_EQ(send(&it), PP_XLA_INVALID_ARGUMENT);
  it.rows = 0;
  // results that do not fit are never written
  kept_size = it.sizes[0]--;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.sizes[0] = kept_size;
  it.dtypes[0] = PP_XLA_S32;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.dtypes[0] = PP_XLA_F32;
  it.columns[0] = c.num_columns;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.columns[0] = -1;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  it.columns[0] = 0;
  CHECK_EQ(pp_pool_in_flight(c.pool), 0);
  CHECK_EQ(pp_xla_calls(number), 2);
  // the handle is still valid, and then no more
  CHECK_EQ(step(&it), 0);
  CHECK_EQ(step(&old), PP_XLA_FAILED_PRECONDITION);
  CHECK(strstr(old.failed.text, "of call 2, and the pool is at call 3") != NULL);
  it.handle[0] = number + 1;
  CHECK_EQ(step(&it), PP_XLA_INVALID_ARGUMENT);
  CHECK(strstr(it.failed.text, "of no pool of this process") != NULL);
  it.handle[0] = number;
  CHECK_EQ(step(&it), 0);
  drop_call(&it);
  end(&c, number, spare);
}

/* an environment whose step does not return until the test says so */
static _Atomic int32_t is_stepping, may_return;

static int endless_step(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action, (void)result;
  atomic_store(&is_stepping, 1);
  while (!atomic_load(&may_return)) usleep(100);
  return PP_OK;
}

/* Steps until the pool is closed. The step succeeds if the thread takes all environments at once,
 * which it does if it measured them as quick; otherwise it ends after those that it took. */
static void *step_once(void *arg) {
  int code = step(arg);
  CHECK(code == 0 || code == PP_XLA_FAILED_PRECONDITION);
  return NULL;
}

TEST(a_first_result_that_holds_no_handle_is_refused) {
  static const struct {
    int dtype;
    int64_t size;
  } others[] = {{PP_XLA_S16, 2}, {PP_XLA_S32, 1}, {PP_XLA_S32, 0}, {PP_XLA_S64, 2}};
  client c = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare;
  int32_t number = share(&c, &spare);
  call it = make_call(&c, number, 0);
  for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
    it.next_dtype = others[i].dtype;
    it.next_size = others[i].size;
    CHECK_EQ(reset(&it, false), PP_XLA_INVALID_ARGUMENT);
    CHECK_EQ(it.next[0] | it.next[1], 0);
  }
  it.next_dtype = 0;
  CHECK_EQ(reset(&it, false), 0);
  CHECK_EQ(recv(&it), 0);
  drop_call(&it);
  end(&c, number, spare);
}

TEST(unshare_gives_up_on_a_call_that_does_not_return) {
  client c = make_client("test/Fault-v0", NUM_ENVS);
  pp_env_def endless = *c.def;
  pthread_t thread;
  void *spare;
  int32_t number;
  endless.step = endless_step;
  c.def = &endless;
  // the program's thread is the only one
  c.options.num_threads = 1;
  REQUIRE(client_open(&c));
  number = share(&c, &spare);
  call it = make_call(&c, number, 0);
  CHECK_EQ(reset(&it, false), 0);
  CHECK_EQ(recv(&it), 0);
  REQUIRE(pthread_create(&thread, NULL, step_once, &it) == 0);
  while (!atomic_load(&is_stepping)) usleep(100);
  CHECK_EQ(pp_pool_close(c.pool, 0), PP_OK);
  CHECK_EQ(pp_xla_unshare(number, 0), PP_AGAIN);
  CHECK_EQ(pp_xla_unshare(number, 1000000), PP_AGAIN);
  // it is there, but takes no more calls
  CHECK_EQ(pp_xla_enter(number, NULL, &c.error), PP_ERR_CLOSED);
  CHECK_EQ(recv(&(call){.handle = {number, 2}}), PP_XLA_FAILED_PRECONDITION);
  atomic_store(&may_return, 1);
  CHECK_EQ(pp_xla_unshare(number, -1), PP_OK);
  CHECK_EQ(pp_xla_unshare(number, 0), PP_OK);
  pthread_join(thread, NULL);
  drop_call(&it);
  end(&c, number, spare);
}

/* an environment that does not return, of which the pool's thread has begun a step */
static void begin_endless(client *c, const pp_env_def *def, pp_env_def *endless) {
  atomic_store(&is_stepping, 0);
  atomic_store(&may_return, 0);
  *endless = *def;
  endless->step = endless_step;
  c->def = endless;
}

static void wait_for_step(void) {
  while (!atomic_load(&is_stepping)) usleep(100);
}

TEST(a_call_that_is_late_loses_nothing) {
  enum { NS = 1000000 };
  client c = make_client("test/Fault-v0", NUM_ENVS);
  pp_env_def endless;
  void *spare;
  int32_t number;
  begin_endless(&c, c.def, &endless);
  REQUIRE(client_open(&c));
  number = share(&c, &spare);
  call it = make_call(&c, number, 0);
  it.timeout = INT64_MAX;
  CHECK_EQ(reset(&it, false), 0);
  CHECK_EQ(recv(&it), 0);
  it.timeout = NS;
  CHECK_EQ(step(&it), PP_XLA_DEADLINE_EXCEEDED);
  CHECK(strstr(it.failed.text, "no batch of 5 within 0.001 s: 5 environments are in flight") !=
        NULL);
  // the caller has not stepped itself, and the step goes on
  wait_for_step();
  CHECK_EQ(recv(&it), PP_XLA_DEADLINE_EXCEEDED);
  CHECK(strstr(it.failed.text, "in flight, now in a step or reset of environment") != NULL);
  CHECK_EQ(step(&it), PP_XLA_FAILED_PRECONDITION);
  CHECK(strstr(it.failed.text, "results of an earlier call are pending (5 environments)") != NULL);
  CHECK_EQ(pp_pool_in_flight(c.pool), NUM_ENVS);
  CHECK_EQ(pp_xla_calls(number), 2);
  atomic_store(&may_return, 1);
  it.timeout = 0;
  CHECK_EQ(recv(&it), 0);
  CHECK_EQ(step(&it), 0);
  CHECK_EQ(pp_xla_calls(number), 4);
  drop_call(&it);
  end(&c, number, spare);
}

/* ---------------------------------------------------------------------------------- visits -- */

/* a call that advances states, in memory of its own for each operand, as XLA's */
typedef struct visit {
  int32_t number;
  int64_t timeout, size;
  char *from, *to; /* from null: it starts them */
  int64_t *actions;
  uint32_t *seeds;
  failure failed;
} visit;

static visit make_visit(int32_t number, int64_t size, const char *from, int64_t timeout) {
  visit it = {.number = number, .timeout = timeout, .size = size};
  it.from = from ? malloc((size_t)(size * NUM_ENVS)) : NULL;
  if (from) memcpy(it.from, from, (size_t)(size * NUM_ENVS));
  it.to = calloc(NUM_ENVS, (size_t)size);
  it.actions = calloc(NUM_ENVS, sizeof(*it.actions));
  it.seeds = calloc(NUM_ENVS, sizeof(*it.seeds));
  return it;
}

/* XLA frees what a call that has failed was given */
static void drop_operands(visit *it) {
  free(it->from);
  free(it->actions);
  free(it->seeds);
}

static int run_visit(visit *it) {
  int64_t states[2] = {NUM_ENVS, it->size}, seeds[2] = {NUM_ENVS, 1}, rows = NUM_ENVS,
          number = it->number;
  pp_xla_buffer from = {.dtype = PP_XLA_U8, .data = it->from, .rank = 2, .dims = states};
  pp_xla_buffer actions = {.dtype = PP_XLA_S64, .data = it->actions, .rank = 1, .dims = &rows};
  pp_xla_buffer words = {.dtype = PP_XLA_U32, .data = it->seeds, .rank = 2, .dims = seeds};
  pp_xla_buffer to = from;
  int types[3] = {PP_XLA_BUFFER, PP_XLA_BUFFER, PP_XLA_BUFFER};
  void *given[3] = {&from, &actions, &words}, *results[1] = {&to};
  pp_xla_text texts[3] = {{"number", 6}, {"timeout", 7}, {"columns", 7}};
  pp_xla_text *names[3] = {&texts[0], &texts[1], &texts[2]};
  pp_xla_scalar scalars[2] = {{PP_XLA_S64, &number}, {PP_XLA_S64, &it->timeout}};
  pp_xla_array columns = {PP_XLA_S64, 0, NULL};
  int attr_types[3] = {PP_XLA_ATTR_SCALAR, PP_XLA_ATTR_SCALAR, PP_XLA_ATTR_ARRAY};
  void *attrs[3] = {&scalars[0], &scalars[1], &columns};
  pp_xla_frame frame = {.struct_size = sizeof(frame), .api = &api, .stage = PP_XLA_EXECUTE};
  int32_t skipped = it->from ? 0 : 2;
  failure *failed;

  to.data = it->to;
  frame.arguments = (pp_xla_list){.size = 3 - skipped, .types = types, .items = given + skipped};
  frame.results = (pp_xla_list){.size = 1, .types = types, .items = results};
  frame.attributes = (pp_xla_attrs){.size = 3, .types = attr_types, .names = names, .items = attrs};
  failed = it->from ? pp_xla_advance(&frame) : pp_xla_start(&frame);
  if (!failed) return 0;
  it->failed = *failed;
  free(failed);
  return it->failed.code;
}

/* opens a pool of environments that do not return, and starts states */
static client open_visited(const char *id, pp_env_def *endless, int32_t *number, void **spare,
                           visit *first) {
  client c = make_client(id, NUM_ENVS);
  int64_t size;
  begin_endless(&c, c.def, endless);
  c.options.autoreset = PP_SAME_STEP;
  client_open(&c);
  size = pp_pool_open_visits(c.pool, &c.error);
  CHECK(size > 0);
  *number = share(&c, spare);
  // states that hold an episode grow
  *first = make_visit(*number, size + 256, NULL, -1);
  CHECK_EQ(run_visit(first), 0);
  drop_operands(first);
  return c;
}

/* Memory that no thread may write any more: of one that still does, the bytes change. */
enum { MARK = 0x5a };

static void mark(visit *it) {
  memset(it->to, MARK, (size_t)(it->size * NUM_ENVS));
}

static bool is_marked(const visit *it) {
  int64_t i = 0;
  while (i < it->size * NUM_ENVS && it->to[i] == MARK) i++;
  return i == it->size * NUM_ENVS;
}

static void *visit_once(void *context) {
  run_visit(context);
  return NULL;
}

static void check_late_visit(const char *id) {
  pp_env_def endless;
  visit first, late, again, twice;
  void *spare;
  int32_t number;
  client c = open_visited(id, &endless, &number, &spare, &first);

  late = make_visit(number, first.size, first.to, 1000000);
  // until the thread has begun a step in that time
  do {
    REQUIRE(run_visit(&late) == PP_XLA_DEADLINE_EXCEEDED);
    CHECK(strstr(late.failed.text, "no batch of 5 within 0.001 s: 5 environments") != NULL);
  } while (!atomic_load(&is_stepping));
  drop_operands(&late);
  mark(&late);
  // the next call waits for it, no longer than for its own
  again = make_visit(number, first.size, first.to, 1000000);
  CHECK_EQ(run_visit(&again), PP_XLA_DEADLINE_EXCEEDED);
  atomic_store(&may_return, 1);
  again.timeout = INT64_MAX;
  CHECK_EQ(run_visit(&again), 0);
  CHECK(is_marked(&late));
  // its states are those of a call that nothing was before
  twice = make_visit(number, first.size, first.to, -1);
  CHECK_EQ(run_visit(&twice), 0);
  CHECK(!memcmp(again.to, twice.to, (size_t)(first.size * NUM_ENVS)));
  drop_operands(&again);
  drop_operands(&twice);
  end(&c, number, spare);
  free(first.to);
  free(late.to);
  free(again.to);
  free(twice.to);
}

TEST(a_visit_that_is_late_leaves_the_memory_of_its_program) {
  check_late_visit("test/Fault-v0");
  check_late_visit("test/Heap-v0");
}

static void check_closed_visit(const char *id) {
  pp_env_def endless;
  visit first, closed, after;
  void *spare;
  int32_t number;
  client c = open_visited(id, &endless, &number, &spare, &first);
  pthread_t thread;

  closed = make_visit(number, first.size, first.to, INT64_MAX);
  REQUIRE(pthread_create(&thread, NULL, visit_once, &closed) == 0);
  wait_for_step();
  CHECK_EQ(pp_pool_close(c.pool, 0), PP_AGAIN);
  pthread_join(thread, NULL);
  CHECK_EQ(closed.failed.code, PP_XLA_FAILED_PRECONDITION);
  CHECK(strstr(closed.failed.text, "the pool is closed") != NULL);
  drop_operands(&closed);
  mark(&closed);
  // before a call, and before Python has noted it
  after = make_visit(number, first.size, first.to, -1);
  CHECK_EQ(run_visit(&after), PP_XLA_FAILED_PRECONDITION);
  CHECK_EQ(pp_xla_unshare(number, 0), PP_OK);
  CHECK_EQ(run_visit(&after), PP_XLA_FAILED_PRECONDITION);
  CHECK(strstr(after.failed.text, "the pool is closed") != NULL);
  drop_operands(&after);
  atomic_store(&may_return, 1);
  CHECK_EQ(pp_pool_close(c.pool, -1), PP_OK);
  CHECK(is_marked(&closed));
  end(&c, number, spare);
  free(first.to);
  free(closed.to);
  free(after.to);
}

TEST(a_visit_of_a_pool_that_is_closed_leaves_the_memory_of_its_program) {
  check_closed_visit("test/Fault-v0");
  check_closed_visit("test/Heap-v0");
}

TEST(a_visit_waits_for_its_turn_until_its_limit) {
  pp_env_def endless;
  visit first, other, waits;
  void *spare;
  int32_t number;
  client c = open_visited("test/Fault-v0", &endless, &number, &spare, &first);
  pthread_t thread;

  other = make_visit(number, first.size, first.to, INT64_MAX);
  waits = make_visit(number, first.size, first.to, 1000000);
  REQUIRE(pthread_create(&thread, NULL, visit_once, &other) == 0);
  wait_for_step();
  CHECK_EQ(run_visit(&waits), PP_XLA_DEADLINE_EXCEEDED);
  CHECK(strstr(waits.failed.text, "no turn within 0.001 s") != NULL);
  atomic_store(&may_return, 1);
  pthread_join(thread, NULL);
  CHECK_EQ(other.failed.code, 0);
  waits.timeout = INT64_MAX;
  CHECK_EQ(run_visit(&waits), 0);
  CHECK(!memcmp(other.to, waits.to, (size_t)(first.size * NUM_ENVS)));
  drop_operands(&other);
  drop_operands(&waits);
  end(&c, number, spare);
  free(first.to);
  free(other.to);
  free(waits.to);
}

/* ---------------------------------------------------------------------------------- others -- */

TEST(pools_of_processes_and_other_memory_are_refused) {
  client c = open_pool("CartPole-v1", NUM_ENVS, 1);
  int32_t number = -1;
  CHECK_EQ(pp_xla_share(c.pool, NULL, &number, &c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(number, -1);
  pp_pool_close(c.pool, -1);
  CHECK_EQ(pp_xla_share(c.pool, c.fresh, &number, &c.error), PP_ERR_CLOSED);
  pp_xla_unshare(number, -1);
  CHECK_EQ(pp_xla_calls(number), 0);
  client_close(&c);
}

TEST(while_others_receive_programs_may_send_only) {
  client c = open_pool("CartPole-v1", NUM_ENVS, 1);
  void *spare, *held[MAX_BATCHES + 1];
  int32_t number = share(&c, &spare);
  call it = make_call(&c, number, 0);
  REQUIRE(pp_xla_enter(number, held, &c.error) == PP_OK);
  CHECK(held[c.capacity] == spare);
  CHECK(held[0] == c.given[0]);
  CHECK_EQ(reset(&it, false), 0);
  CHECK_EQ(recv(&it), PP_XLA_FAILED_PRECONDITION);
  CHECK_EQ(step(&it), PP_XLA_FAILED_PRECONDITION);
  pp_xla_leave(number);
  CHECK_EQ(recv(&it), 0);
  CHECK_EQ(pp_xla_enter(number + 1, held, &c.error), PP_ERR_CLOSED);
  drop_call(&it);
  end(&c, number, spare);
}

/* --------------------------------------------------------------------------------- threads -- */

typedef struct player {
  call it;
  int done, refused;
} player;

/* plays with whatever handle is valid */
static void *play(void *context) {
  player *own = context;
  for (int64_t t = 0; t < 300; t++) {
    own->it.handle[1] = (int32_t)pp_xla_calls(own->it.handle[0]);
    if (step(&own->it)) {
      own->refused++;
    } else {
      own->done++;
    }
  }
  return NULL;
}

TEST(of_calls_at_once_one_is_made) {
  client c = open_pool("CartPole-v1", NUM_ENVS, 2);
  void *spare;
  int32_t number = share(&c, &spare);
  player players[2] = {{make_call(&c, number, 0), 0, 0}, {make_call(&c, number, 0), 0, 0}};
  pthread_t threads[2];
  for (int32_t i = 0; i < 2; i++) {
    REQUIRE(pthread_create(&threads[i], NULL, play, &players[i]) == 0);
  }
  for (int32_t i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(players[i].done + players[i].refused, 300);
    drop_call(&players[i].it);
  }
  CHECK_EQ(pp_xla_calls(number), players[0].done + players[1].done);
  CHECK(players[0].done + players[1].done > 0);
  end(&c, number, spare);
}

static void *play_until_refused(void *context) {
  player *own = context;
  while (!step(&own->it)) own->done++;
  return NULL;
}

TEST(closing_ends_programs) {
  for (int32_t round = 0; round < 20; round++) {
    client c = open_pool("CartPole-v1", NUM_ENVS, 2);
    void *spare;
    int32_t number = share(&c, &spare);
    player own = {make_call(&c, number, 0), 0, 0};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, play_until_refused, &own) == 0);
    usleep((unsigned)round * 100);
    end(&c, number, spare);
    pthread_join(thread, NULL);
    CHECK(strstr(own.it.failed.text, "closed") != NULL);
    drop_call(&own.it);
  }
}
