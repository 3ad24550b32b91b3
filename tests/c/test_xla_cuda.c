/* Calls of compiled programs on CUDA, whose driver is one that is late. All tests of test_xla.c
 * hold there, too; those of their calls that are done are waited for, as by a program that reads
 * the results. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "include/pp_xla.h"
#include "late_driver.h"

/* of the calls in test_xla.c, whatever thread makes them */
static late_stream common_stream;
static _Thread_local bool is_left_queued; /* results are not waited for */

static void *late_handler(void *(*handler)(void *frame), void *frame) {
  void *failure;
  if (!late_program_stream) late_program_stream = &common_stream;
  pp_cuda_driver_use(&late_driver);
  failure = late_call(handler, frame);
  if (!is_left_queued) late_finish(late_program_stream);
  return failure;
}

static void *late_send(void *frame) {
  return late_handler(pp_xla_cuda_send, frame);
}

static void *late_reset(void *frame) {
  return late_handler(pp_xla_cuda_reset, frame);
}

static void *late_recv(void *frame) {
  return late_handler(pp_xla_cuda_recv, frame);
}

static void *late_step(void *frame) {
  return late_handler(pp_xla_cuda_step, frame);
}

static void *late_start(void *frame) {
  return late_handler(pp_xla_cuda_start, frame);
}

static void *late_advance(void *frame) {
  return late_handler(pp_xla_cuda_advance, frame);
}

#define pp_xla_send late_send
#define pp_xla_reset late_reset
#define pp_xla_recv late_recv
#define pp_xla_step late_step
#define pp_xla_start late_start
#define pp_xla_advance late_advance
#include "test_xla.c"

/* --------------------------------------------------------------------------------- programs -- */

/* a program on a pool: its calls are left queued on a stream of its own */
typedef struct program {
  client c;
  void *spare;
  int32_t number;
  call it;
  late_stream stream;
} program;

/* context: CUDA's, null for one of its own */
static program *start_on(client c, void *context) {
  program *p = calloc(1, sizeof(*p));
  p->c = c;
  p->number = share(&p->c, &p->spare);
  p->it = make_call(&p->c, p->number, 0);
  p->stream.other_context = context;
  return p;
}

static program *start_program(const char *id, void *context) {
  return start_on(open_pool(id, NUM_ENVS, 1), context);
}

static void end_program(program *p) {
  late_end(&p->stream);
  drop_call(&p->it);
  end(&p->c, p->number, p->spare);
  free(p);
}

/* Makes a call on the program's stream, with the newest handle. */
static int call_of(program *p, int (*make)(call *it)) {
  uint32_t calls = pp_xla_calls(p->number);
  int code;
  p->it.handle[0] = p->number;
  p->it.handle[1] = (int32_t)calls;
  late_program_stream = &p->stream;
  code = make(&p->it);
  late_program_stream = NULL;
  CHECK_EQ(late_depth, 0);
  return code;
}

/* The same, and leaves the results queued. */
static int call_queued(program *p, int (*make)(call *it)) {
  int code;
  is_left_queued = true;
  code = call_of(p, make);
  is_left_queued = false;
  return code;
}

static int reset_unseeded(call *it) {
  return reset(it, false);
}

static void begin_program(program *p) {
  CHECK_EQ(call_queued(p, reset_unseeded), 0);
  CHECK_EQ(call_queued(p, recv), 0);
  late_finish(&p->stream);
}

static bool has_columns_of(const program *p, const client *expected) {
  bool is_same = true;
  for (int32_t i = 0; i < p->c.num_columns; i++) {
    const pp_column *column = &p->c.columns[i];
    const char *wanted = (const char *)expected->batch + column->offset;
    if (memcmp(p->it.results[i], wanted, (size_t)(column->row_bytes * NUM_ENVS))) is_same = false;
  }
  return is_same;
}

static client open_twin(const char *id) {
  client c = open_pool(id, NUM_ENVS, 1);
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  return c;
}

static void step_twin(client *c, const program *p) {
  int64_t actions[NUM_ENVS];
  for (int32_t i = 0; i < NUM_ENVS; i++) actions[i] = p->it.actions[i];
  CHECK_EQ(client_step(c, NULL, NUM_ENVS, actions), NUM_ENVS);
}

/* ----------------------------------------------------------------------------------- tests -- */

TEST(a_call_waits_for_its_arguments_and_not_for_its_results) {
  program *p = start_program("CartPole-v1", NULL);
  client twin = open_twin("CartPole-v1");
  begin_program(p);
  CHECK(has_columns_of(p, &twin));
  choose(&p->it, 1, 0);
  CHECK_EQ(call_queued(p, step), 0);
  // the pool has stepped, and the GPU has seen nothing of it yet
  CHECK_EQ(pp_xla_calls(p->number), 3);
  CHECK(has_columns_of(p, &twin));
  CHECK(p->stream.queued > p->stream.made);
  step_twin(&twin, p);
  CHECK(!has_columns_of(p, &twin));
  late_finish(&p->stream);
  CHECK(has_columns_of(p, &twin));
  CHECK_EQ(p->it.next[0], p->number);
  CHECK_EQ(p->it.next[1], 3);
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(p);
  client_close(&twin);
}

TEST(arguments_may_be_made_by_the_stream) {
  program *p = start_program("CartPole-v1", NULL);
  client twin = open_twin("CartPole-v1");
  static int32_t actions[NUM_ENVS];
  void *memory;
  begin_program(p);
  choose(&p->it, 2, 0);
  memcpy(actions, p->it.actions, sizeof(actions));
  step_twin(&twin, p);
  // what is there when the call is queued, no environment takes
  for (int32_t i = 0; i < NUM_ENVS; i++) p->it.actions[i] = 99;
  cuCtxPushCurrent_v2(late_context_of(&p->stream));
  CHECK_EQ(cuMemHostAlloc(&memory, sizeof(actions), 1), 0);
  memcpy(memory, actions, sizeof(actions));
  cuMemcpyAsync((uintptr_t)p->it.actions, (uintptr_t)memory, sizeof(actions), &p->stream);
  CHECK_EQ(cuCtxPopCurrent_v2(&(void *){NULL}), 0);
  CHECK_EQ(call_queued(p, step), 0);
  late_finish(&p->stream);
  CHECK(has_columns_of(p, &twin));
  cuMemFreeHost(memory);
  end_program(p);
  client_close(&twin);
}

TEST(memory_is_not_written_while_another_stream_is_to_read_it) {
  static int context;
  program *one = start_program("CartPole-v1", &context),
          *two = start_program("CartPole-v1", &context);
  client twin = open_twin("CartPole-v1");
  begin_program(one);
  begin_program(two);
  for (int64_t t = 0; t < 20; t++) {
    choose(&one->it, 3, t);
    choose(&two->it, 4, t);
    step_twin(&twin, one);
    CHECK_EQ(call_queued(one, step), 0);
    // the same memory
    CHECK_EQ(call_queued(two, step), 0);
    late_finish(&two->stream);
    late_finish(&one->stream);
    if (!CHECK(has_columns_of(one, &twin))) break;
  }
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(one);
  end_program(two);
  client_close(&twin);
}

TEST(memory_is_not_freed_while_a_stream_is_to_read_it) {
  static int context;
  program *small = start_program("CartPole-v1", &context),
          *large = start_program("MiniGrid-Empty-5x5-v0", &context);
  client twin = open_twin("CartPole-v1");
  begin_program(small);
  choose(&small->it, 5, 0);
  step_twin(&twin, small);
  CHECK_EQ(call_queued(small, step), 0);
  // needs more memory than there is
  begin_program(large);
  late_finish(&small->stream);
  CHECK(has_columns_of(small, &twin));
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(small);
  end_program(large);
  client_close(&twin);
}

static void *step_in_thread(void *p) {
  CHECK_EQ(call_of(p, step), 0);
  return NULL;
}

TEST(memory_is_lent_to_one_call_at_a_time) {
  static int context;
  client slow = make_client("test/Fault-v0", NUM_ENVS), twin = open_twin("CartPole-v1");
  pp_env_def endless = *slow.def;
  program *one, *two = start_program("CartPole-v1", &context);
  pthread_t thread;
  endless.step = endless_step;
  slow.def = &endless;
  REQUIRE(client_open(&slow));
  one = start_on(slow, &context);
  begin_program(one);
  begin_program(two);
  atomic_store(&is_stepping, 0);
  atomic_store(&may_return, 0);
  REQUIRE(pthread_create(&thread, NULL, step_in_thread, one) == 0);
  while (!atomic_load(&is_stepping)) usleep(100);
  // the first call has its arguments, and no results yet
  choose(&two->it, 7, 0);
  step_twin(&twin, two);
  CHECK_EQ(call_queued(two, step), 0);
  atomic_store(&may_return, 1);
  pthread_join(thread, NULL);
  late_finish(&two->stream);
  CHECK(has_columns_of(two, &twin));
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(one);
  end_program(two);
  client_close(&twin);
}

TEST(contexts_share_nothing) {
  program *one = start_program("CartPole-v1", NULL), *two = start_program("CartPole-v1", NULL);
  begin_program(one);
  begin_program(two);
  for (int32_t t = 0; t < 5; t++) {
    CHECK_EQ(call_queued(one, step), 0);
    CHECK_EQ(call_queued(two, step), 0);
  }
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(one);
  end_program(two);
}

TEST(after_the_first_calls_no_memory_is_locked) {
  program *p = start_program("CartPole-v1", NULL);
  int allocations;
  begin_program(p);
  CHECK_EQ(call_queued(p, step), 0);
  allocations = atomic_load(&late_allocations);
  for (int32_t t = 0; t < 100; t++) CHECK_EQ(call_queued(p, step), 0);
  CHECK_EQ(atomic_load(&late_allocations), allocations);
  end_program(p);
}

/* Makes a call of which the n-th call of CUDA fails; returns whether there is one. was_made:
 * whether the environments were called nevertheless. */
static bool call_failing(program *p, int (*make)(call *it), int n, bool *was_made) {
  uint32_t calls = pp_xla_calls(p->number);
  int code;
  atomic_store(&late_failing, n);
  code = call_queued(p, make);
  atomic_store(&late_failing, 0);
  *was_made = pp_xla_calls(p->number) == calls + 1;
  if (!code) return false;
  CHECK_EQ(code, PP_XLA_INTERNAL);
  CHECK(strstr(p->it.failed.text, "failed with CUDA_ERROR_LAUNCH_FAILED (719)") != NULL);
  CHECK_EQ(*was_made, strstr(p->it.failed.text, "the environments were called") != NULL);
  return true;
}

TEST(each_failure_of_cuda_is_an_error_of_the_call) {
  program *p = start_program("CartPole-v1", NULL);
  client twin = open_twin("CartPole-v1");
  int failures = 0, made = 0, per_call, num_events;
  bool was_made;
  begin_program(p);
  CHECK_EQ(call_queued(p, step), 0);
  step_twin(&twin, p);
  per_call = atomic_load(&late_calls);
  CHECK_EQ(call_queued(p, step), 0);
  step_twin(&twin, p);
  per_call = atomic_load(&late_calls) - per_call;
  num_events = late_num_events;
  while (call_failing(p, step, failures + 1, &was_made)) {
    failures++;
    made += was_made;
    if (was_made) step_twin(&twin, p);
    late_finish(&p->stream);
    CHECK_EQ(pp_pool_in_flight(p->c.pool), 0);
    // later calls work
    CHECK_EQ(call_queued(p, step), 0);
    step_twin(&twin, p);
  }
  step_twin(&twin, p);
  late_finish(&p->stream);
  CHECK(has_columns_of(p, &twin));
  CHECK_EQ(failures, per_call);
  // the copies of the results, and the event behind them
  CHECK_EQ(made, p->c.num_columns + 2);
  // memory is lost only if it is unknown when the copies of the call before are done
  CHECK_EQ(late_num_events - num_events, 1);
  CHECK_EQ(atomic_load(&late_faults), 0);
  end_program(p);
  client_close(&twin);
}

TEST(copies_of_a_call_that_failed_harm_no_other) {
  static int context;
  enum { RECORD = 6 }; /* behind the copies of handle and actions, which are queued */
  program *one = start_program("CartPole-v1", &context),
          *two = start_program("CartPole-v1", &context);
  bool was_made;
  begin_program(one);
  begin_program(two);
  // locks all memory that is needed
  CHECK_EQ(call_queued(one, step), 0);
  late_finish(&one->stream);
  CHECK_EQ(call_queued(two, reset_unseeded), 0);
  late_finish(&two->stream);
  CHECK(call_failing(one, step, RECORD, &was_made));
  CHECK(!was_made && one->stream.queued - one->stream.made == 2);
  CHECK_EQ(call_queued(two, recv), 0);
  late_finish(&one->stream);
  late_finish(&two->stream);
  // where the results of the second are, the actions of the first would be
  CHECK_EQ(two->it.next[0], two->number);
  CHECK_EQ(two->it.next[1], 4);
  end_program(one);
  end_program(two);
}

TEST(each_failure_while_memory_is_made_is_an_error_of_the_call) {
  enum { MOST = 40 };
  static char contexts[2 * MOST];
  client twin = open_twin("CartPole-v1");
  bool is_failing = true;
  for (int n = 1; is_failing; n++) {
    // the first call locks memory, the second needs more
    for (int32_t second = 0; second < 2; second++) {
      program *p = start_program("CartPole-v1", &contexts[2 * n + second]);
      bool was_made;
      REQUIRE(n < MOST);
      if (second) CHECK_EQ(call_queued(p, reset_unseeded), 0);
      is_failing = call_failing(p, second ? recv : reset_unseeded, n, &was_made);
      late_finish(&p->stream);
      if (is_failing && !was_made) CHECK_EQ(call_queued(p, second ? recv : reset_unseeded), 0);
      if (!second) CHECK_EQ(call_queued(p, recv), 0);
      late_finish(&p->stream);
      if (!second || !was_made) CHECK(has_columns_of(p, &twin));
      CHECK_EQ(atomic_load(&late_faults), 0);
      end_program(p);
    }
  }
  client_close(&twin);
}

static void *refuse_stream(pp_xla_stream_args *args) {
  pp_xla_error_args error = {sizeof(error), NULL, "there is no stream", PP_XLA_INTERNAL};
  (void)args;
  return create_error(&error);
}

TEST(an_error_of_xlas_is_passed_on) {
  pp_xla_api refusing = {.create_error = create_error, .get_stream = refuse_stream};
  pp_xla_frame frame = {.api = &refusing, .stage = PP_XLA_EXECUTE};
  failure *failed = pp_xla_cuda_step(&frame);
  REQUIRE(failed != NULL);
  CHECK_TEXT(failed->text, "there is no stream");
  free(failed);
}

TEST(a_driver_that_is_not_there_is_named) {
  pp_error error = {.text = ""};
  pp_cuda_driver_use(NULL);
  CHECK_EQ(pp_xla_cuda_driver("/nowhere/libcuda.so.1", &error), PP_ERR_SYSTEM);
  CHECK(strstr(error.text, "CUDA's driver can't be loaded: /nowhere/libcuda.so.1") != NULL);
  // a library, but another one
  CHECK_EQ(pp_xla_cuda_driver("libdl.so.2", &error), PP_ERR_SYSTEM);
  CHECK(strstr(error.text, "libdl.so.2 has no cuStreamGetCtx") != NULL);
  pp_cuda_driver_use(&late_driver);
  CHECK(pp_cuda_driver_find(&error) == &late_driver);
}

static void *play_alone(void *context) {
  program *p = context;
  for (int64_t t = 0; t < 200; t++) {
    choose(&p->it, 6, t);
    CHECK_EQ(call_of(p, step), 0);
  }
  return NULL;
}

TEST(threads_with_streams_of_their_own_share_memory) {
  enum { THREADS = 3 };
  static int context;
  program *programs[THREADS];
  pthread_t threads[THREADS];
  client twin = open_twin("CartPole-v1");
  for (int32_t i = 0; i < THREADS; i++) {
    programs[i] = start_program("CartPole-v1", &context);
    begin_program(programs[i]);
  }
  for (int32_t i = 0; i < THREADS; i++) {
    REQUIRE(pthread_create(&threads[i], NULL, play_alone, programs[i]) == 0);
  }
  for (int32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int64_t t = 0; t < 200; t++) {
    choose(&programs[0]->it, 6, t);
    step_twin(&twin, programs[0]);
  }
  for (int32_t i = 0; i < THREADS; i++) {
    late_finish(&programs[i]->stream);
    CHECK(has_columns_of(programs[i], &twin));
    end_program(programs[i]);
  }
  CHECK_EQ(atomic_load(&late_faults), 0);
  client_close(&twin);
}
