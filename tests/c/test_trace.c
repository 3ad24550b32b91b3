/* Traces: a track loses no span without counting it, spans merge only if nothing is lost by that,
 * and a pool may be traced while other threads use it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "os/os.h"
#include "pool/pool.h"
#include "pool/track.h"
#include "pool_tests.h"
#include "threads/lanes.h"

enum { SMALL = 8, MANY_SPANS = 100000, ROOM = 64 };

/* returns a span whose members all follow from one number */
static pp_span numbered(int64_t i) {
  return (pp_span){i, 3 * i, (int32_t)(i % 8), (int32_t)(i % 101), (int32_t)(i % 7), 5};
}

static int is_numbered(const pp_span *span, int64_t i) {
  pp_span wanted = numbered(i);
  return memcmp(span, &wanted, sizeof(wanted)) == 0;
}

static pp_track *make_track(int32_t capacity) {
  return pp_os_pages_alloc(pp_track_size(capacity));
}

static void free_track(pp_track *track, int32_t capacity) {
  pp_os_pages_free(track, pp_track_size(capacity));
}

/* ---------------------------------------------------------------------------------- tracks -- */

TEST(a_track_gives_its_spans_in_order_and_counts_those_that_find_no_room) {
  pp_track *track = make_track(SMALL);
  pp_span out[ROOM];
  int64_t model[SMALL], added = 0, lost = 0;
  int32_t held = 0;
  uint32_t random = 1;
  REQUIRE(track != NULL);
  for (int32_t round = 0; round < 3000; round++) {
    random = random * 1664525u + 1013904223u;
    for (uint32_t i = 0; i < random >> 28; i++) {
      pp_span span = numbered(added);
      pp_track_add(track, SMALL, &span);
      if (held < SMALL) {
        model[held++] = added;
      } else {
        lost++;
      }
      added++;
    }
    int32_t room = 1 + (int32_t)(random >> 8 & 15), count = pp_track_read(track, SMALL, out, room);
    if (!CHECK_EQ(count, held < room ? held : room)) break;
    for (int32_t i = 0; i < count; i++) CHECK(is_numbered(&out[i], model[i]));
    held -= count;
    memmove(model, model + count, sizeof(*model) * (size_t)held);
  }
  CHECK(lost > 0 && added > lost);
  CHECK_EQ(atomic_load(&track->lost), lost);
  free_track(track, SMALL);
}

TEST(impossible_numbers_are_refused_and_the_next_spans_are_read) {
  const uint64_t wrong[] = {SMALL + 4, 2, UINT64_MAX, (uint64_t)INT64_MAX};
  pp_span out[ROOM], span = numbered(77);
  for (int32_t i = 0; i < 4; i++) {
    pp_track *track = make_track(SMALL);
    REQUIRE(track != NULL);
    for (int32_t k = 0; k < 3; k++) pp_track_add(track, SMALL, &span);
    CHECK_EQ(pp_track_read(track, SMALL, out, ROOM), 3);
    // three were written and read
    atomic_store(&track->written, wrong[i]);
    CHECK_EQ(pp_track_read(track, SMALL, out, ROOM), PP_ERR_STATE);
    CHECK_EQ(pp_track_read(track, SMALL, out, ROOM), 0);
    span = numbered(i);
    pp_track_add(track, SMALL, &span);
    CHECK_EQ(pp_track_read(track, SMALL, out, ROOM), 1);
    CHECK(is_numbered(&out[0], i));
    free_track(track, SMALL);
  }
}

typedef struct writer {
  pp_track *track;
  _Atomic int32_t is_over;
} writer;

static void *write_many(void *arg) {
  writer *it = arg;
  for (int64_t i = 0; i < MANY_SPANS; i++) {
    pp_span span = numbered(i);
    pp_track_add(it->track, SMALL, &span);
    if (i % 1024 == 0) sched_yield();
  }
  atomic_store(&it->is_over, 1);
  return NULL;
}

TEST(a_reader_sees_whole_spans_while_another_thread_writes) {
  writer it = {.track = make_track(SMALL)};
  pthread_t thread;
  pp_span out[ROOM];
  int64_t last = -1, total = 0;
  int32_t is_over, count;
  REQUIRE(it.track && pthread_create(&thread, NULL, write_many, &it) == 0);
  do {
    is_over = atomic_load(&it.is_over);
    count = pp_track_read(it.track, SMALL, out, SMALL / 2);
    for (int32_t i = 0; i < count; i++) {
      if (!CHECK(is_numbered(&out[i], out[i].start) && out[i].start > last)) break;
      last = out[i].start;
    }
    total += count;
    if (!count) sched_yield();
  } while (count > 0 || !is_over);
  pthread_join(thread, NULL);
  CHECK(total > 0);
  CHECK_EQ(total + atomic_load(&it.track->lost), MANY_SPANS);
  free_track(it.track, SMALL);
}

/* ------------------------------------------------------------------------------- recording -- */

static pp_recorder make_recorder(void) {
  pp_recorder recorder = {0};
  atomic_store(&recorder.track, pp_track_alloc());
  CHECK(pp_recorder_track(&recorder) != NULL);
  return recorder;
}

static void free_recorder(pp_recorder *recorder) {
  free_track(pp_recorder_track(recorder), PP_TRACK_THREAD);
}

/* reads up to ROOM spans */
static int32_t read_spans(const pp_recorder *recorder, pp_span *out) {
  return pp_track_read(pp_recorder_track(recorder), PP_TRACK_THREAD, out, ROOM);
}

/* records steps that take so many ns, and returns their end */
static int64_t work(pp_recorder *recorder, int64_t start, int64_t length, int32_t env_id,
                    int32_t count) {
  CHECK(pp_recorder_begin(recorder));
  pp_recorder_work(recorder, &(pp_span){start, start + length, PP_SPAN_WORK, env_id, count, 0});
  return start + length;
}

TEST(cheap_steps_without_a_gap_are_one_span) {
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t time = 1000;
  for (int32_t i = 0; i < 5; i++) time = work(&recorder, time, 1000, i, 2);
  CHECK(pp_recorder_is_busy(&recorder));
  CHECK_EQ(read_spans(&recorder, out), 0);
  // a gap
  time = work(&recorder, time + 1, 1000, 7, 1);
  CHECK(pp_recorder_is_busy(&recorder));
  CHECK_EQ(read_spans(&recorder, out), 1);
  CHECK_EQ(out[0].start, 1000);
  CHECK_EQ(out[0].end, 6000);
  CHECK_EQ(out[0].env_id, 0);
  CHECK_EQ(out[0].count, 10);
  pp_recorder_flush(&recorder);
  CHECK(!pp_recorder_is_busy(&recorder));
  CHECK_EQ(read_spans(&recorder, out), 1);
  CHECK_EQ(out[0].start, 6001);
  CHECK_EQ(out[0].env_id, 7);
  pp_recorder_flush(&recorder);
  CHECK_EQ(read_spans(&recorder, out), 0);
  free_recorder(&recorder);
}

TEST(expensive_steps_and_resets_are_spans_of_their_own_at_once) {
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t time = work(&recorder, 1000, 100, 0, 1);
  time = work(&recorder, time, 2000, 1, 1);
  CHECK(!pp_recorder_is_busy(&recorder));
  CHECK_EQ(read_spans(&recorder, out), 2);
  CHECK_EQ(out[1].end - out[1].start, 2000);
  pp_recorder_work(&recorder, &(pp_span){time, time + 5, PP_SPAN_RESET, 2, 1, 0});
  time = work(&recorder, time + 5, 100, 3, 1);
  CHECK_EQ(read_spans(&recorder, out), 1);
  CHECK_EQ(out[0].kind, PP_SPAN_RESET);
  free_recorder(&recorder);
}

TEST(no_merged_span_is_longer_than_a_millisecond) {
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t time = 0;
  int32_t count, steps = 0;
  for (int32_t i = 0; i < 10000; i++) time = work(&recorder, time, 500, 0, 1);
  pp_recorder_flush(&recorder);
  count = read_spans(&recorder, out);
  CHECK(count >= 5 && count <= 6);
  for (int32_t i = 0; i < count; i++) {
    CHECK(out[i].end - out[i].start < 1000000);
    CHECK(i == 0 || out[i].start == out[i - 1].end);
    steps += out[i].count;
  }
  CHECK_EQ(steps, 10000);
  free_recorder(&recorder);
}

TEST(short_calls_are_one_span_which_says_what_was_between_them) {
  enum { CALLS = 300 };
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t first = pp_os_now(), between = 0, inside = 0, last = first;
  int32_t steps = 0, count, most = 0;
  for (int32_t i = 0; i < CALLS; i++) {
    int64_t start = pp_os_now();
    pp_recorder_call(&recorder, PP_SPAN_INLINE, start, 3);
  }
  pp_recorder_flush(&recorder);
  // a thread that loses its core makes another span
  while ((count = read_spans(&recorder, out)) > 0) {
    for (int32_t i = 0; i < count; i++) {
      CHECK(out[i].start >= last && out[i].end >= out[i].start && out[i].kind == PP_SPAN_INLINE);
      CHECK(out[i].gaps >= 0 && out[i].gaps <= out[i].end - out[i].start);
      last = out[i].end;
      steps += out[i].count;
      inside += out[i].end - out[i].start;
      between += out[i].gaps;
      most = out[i].count > most ? out[i].count : most;
    }
  }
  CHECK_EQ(steps, 3 * CALLS);
  CHECK(most > 3);
  CHECK(between > 0 && between < inside);
  free_recorder(&recorder);
}

TEST(calls_that_are_long_or_return_nothing_or_do_not_step_are_not_merged) {
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t past = pp_os_now() - SECOND;
  const int32_t kinds[] = {PP_SPAN_INLINE, PP_SPAN_STEP, PP_SPAN_RECV, PP_SPAN_SEND};
  for (int32_t i = 0; i < 4; i++) {
    pp_recorder_call(&recorder, kinds[i], kinds[i] == PP_SPAN_INLINE ? past : pp_os_now(), 4);
    CHECK_EQ(read_spans(&recorder, out), 1);
    CHECK_EQ(out[0].kind, kinds[i]);
    CHECK_EQ(out[0].count, 4);
  }
  for (int32_t count = 0; count >= PP_ERR_STATE; count += PP_ERR_STATE) {
    pp_recorder_call(&recorder, PP_SPAN_INLINE, pp_os_now(), count);
    CHECK_EQ(read_spans(&recorder, out), 1);
    CHECK_EQ(out[0].count, 0);
  }
  free_recorder(&recorder);
}

TEST(a_call_comes_after_the_steps_that_it_made) {
  pp_recorder recorder = make_recorder();
  pp_span out[ROOM];
  int64_t start = pp_os_now();
  work(&recorder, start, 10, 0, 1);
  pp_recorder_call(&recorder, PP_SPAN_STEP, start, 1);
  CHECK_EQ(read_spans(&recorder, out), 2);
  CHECK_EQ(out[0].kind, PP_SPAN_WORK);
  CHECK_EQ(out[1].kind, PP_SPAN_STEP);
  free_recorder(&recorder);
}

TEST(nothing_is_kept_for_the_next_trace) {
  pp_recorder recorder = make_recorder();
  pp_track *track = pp_recorder_track(&recorder);
  pp_span out[ROOM];
  work(&recorder, 0, 10, 0, 1);
  atomic_store(&recorder.track, NULL);
  CHECK(!pp_recorder_begin(&recorder));
  pp_recorder_call(&recorder, PP_SPAN_INLINE, pp_os_now(), 1);
  atomic_store(&recorder.track, track);
  pp_recorder_flush(&recorder);
  CHECK_EQ(read_spans(&recorder, out), 0);
  free_recorder(&recorder);
}

/* ---------------------------------------------------------------------------- whole pools -- */

enum { NUM_ENVS = 12, STEPS = 40 };

typedef struct sums {
  int64_t worked, reset, inlined, received, sent, spans;
} sums;

/* reads all tracks, checks what every trace must obey, and adds to the sums */
static void read_tracks(pp_pool *pool, int32_t tracks, sums *all) {
  pp_span out[ROOM];
  pp_error error;
  for (int32_t track = 0; track < tracks; track++) {
    int64_t lost = -1;
    int32_t count;
    do {
      count = pp_pool_trace_read(pool, track, out, ROOM, &lost, &error);
      CHECK(count >= 0 && lost == 0);
      for (int32_t i = 0; i < count; i++) {
        CHECK(out[i].end >= out[i].start && out[i].count >= 0);
        all->spans++;
        switch (out[i].kind) {
          case PP_SPAN_WORK: all->worked += out[i].count; break;
          case PP_SPAN_RESET: all->reset += out[i].count; break;
          case PP_SPAN_INLINE: all->inlined += out[i].count; break;
          case PP_SPAN_STEP:
          case PP_SPAN_RECV: all->received += out[i].count; break;
          case PP_SPAN_SEND:
          case PP_SPAN_RESETS: all->sent += out[i].count; break;
          default: CHECK(!"a kind of a pool with threads");
        }
        // a caller's track has calls, of a sender nothing else
        CHECK(track != 1 || out[i].kind == PP_SPAN_SEND || out[i].kind == PP_SPAN_RESETS);
        CHECK(track < 2 || out[i].kind == PP_SPAN_WORK || out[i].kind == PP_SPAN_RESET);
      }
    } while (count == ROOM);
  }
}

static client open_traced(const char *id, int32_t threads, int32_t batch_size) {
  client c = make_client(id, NUM_ENVS);
  c.options.num_threads = threads;
  c.options.batch_size = batch_size;
  c.options.max_episode_steps = 9;
  CHECK(client_open(&c));
  return c;
}

/* receives and sends again so often, then receives all that is left */
static void play_unordered(client *c, int32_t batches) {
  int64_t actions[NUM_ENVS] = {0};
  int32_t ids[NUM_ENVS], rows = c->options.batch_size;
  for (int32_t i = 0; i < batches; i++) {
    CHECK_EQ(client_recv(c), rows);
    memcpy(ids, column(c, "env_id"), sizeof(*ids) * (size_t)rows);
    CHECK_EQ(pp_pool_send(c->pool, ids, rows, actions, PP_INT64, &c->error), PP_OK);
  }
  while (pp_pool_in_flight(c->pool) >= rows) CHECK_EQ(client_recv(c), rows);
}

/* The last steps too, although threads record them after their rows were received. */
TEST(every_step_of_a_trace_is_in_it_exactly_once) {
  int64_t actions[NUM_ENVS] = {0};
  const char *ids[] = {"CartPole-v1", "test/Heap-v0"};
  for (int32_t kind = 0; kind < 2; kind++) {
    for (int32_t threads = 1; threads <= 4; threads++) {
      client c = open_traced(ids[kind], threads, NUM_ENVS);
      for (int32_t round = 0; round < 20; round++) {
        sums all = {0};
        int32_t tracks = pp_pool_trace_start(c.pool, &c.error);
        CHECK_EQ(tracks, 2 + threads - 1);
        CHECK_EQ(client_reset(&c), NUM_ENVS);
        for (int32_t i = 0; i < round; i++) {
          CHECK_EQ(client_step(&c, NULL, NUM_ENVS, actions), NUM_ENVS);
        }
        pp_pool_trace_stop(c.pool);
        read_tracks(c.pool, tracks, &all);
        CHECK_EQ(all.worked + all.reset + all.inlined, NUM_ENVS * (round + 1));
        CHECK_EQ(all.received + all.inlined, NUM_ENVS * (round + 1));
        CHECK_EQ(all.sent, NUM_ENVS);
      }
      client_close(&c);
    }
  }
}

TEST(every_step_of_an_unordered_pool_is_in_its_trace_exactly_once) {
  for (int32_t threads = 1; threads <= 4; threads++) {
    client c = open_traced("CartPole-v1", threads, NUM_ENVS / 3);
    for (int32_t round = 0; round < 20; round++) {
      sums all = {0};
      int32_t tracks = pp_pool_trace_start(c.pool, &c.error), status;
      status = pp_pool_send_reset(c.pool, NULL, NUM_ENVS, NULL, NULL, NULL, &c.error);
      CHECK_EQ(status, PP_OK);
      play_unordered(&c, round);
      pp_pool_trace_stop(c.pool);
      read_tracks(c.pool, tracks, &all);
      CHECK_EQ(all.worked + all.reset, NUM_ENVS + NUM_ENVS / 3 * round);
      CHECK_EQ(all.received, NUM_ENVS + NUM_ENVS / 3 * round);
      CHECK_EQ(all.sent, NUM_ENVS + NUM_ENVS / 3 * round);
    }
    client_close(&c);
  }
}

/* a worker thread that records its last step late */
static void *record_late(void *arg) {
  pp_recorder *recorder = arg;
  pp_track *track = pp_recorder_track(recorder);
  pp_span span = {1, 2, PP_SPAN_WORK, 0, 1, 0};
  usleep(3000);
  pp_track_add(track, PP_TRACK_THREAD, &span);
  atomic_store_explicit(&recorder->is_busy, false, memory_order_release);
  return NULL;
}

TEST(the_end_of_a_trace_waits_for_threads_that_have_yet_to_record) {
  client c = open_traced("CartPole-v1", 2, NUM_ENVS);
  pp_recorder *recorder = &c.pool->threads->lanes[0].workers[0].recorder;
  pthread_t thread;
  sums all = {0};
  pp_stats stats;
  int32_t tracks = pp_pool_trace_start(c.pool, &c.error);
  // from now on the worker itself sleeps
  do {
    sched_yield();
    pp_pool_stats(c.pool, &stats);
  } while (stats.worker_waits == 0);
  CHECK(pp_recorder_begin(recorder));
  REQUIRE(pthread_create(&thread, NULL, record_late, recorder) == 0);
  pp_pool_trace_stop(c.pool);
  read_tracks(c.pool, tracks, &all);
  CHECK_EQ(all.worked, 1);
  pthread_join(thread, NULL);
  client_close(&c);
}

TEST(a_thread_that_ends_records_what_is_pending) {
  static pp_lane lane;
  pp_thread thread = {.lane = &lane, .recorder = make_recorder()};
  pp_span out[ROOM];
  atomic_store(&lane.is_closing, true);
  work(&thread.recorder, 1000, 10, 0, 1);
  // counted as awake by whoever starts a thread
  pp_spin_awake(1);
  pp_thread_run(&thread);
  CHECK_EQ(read_spans(&thread.recorder, out), 1);
  CHECK(!pp_recorder_is_busy(&thread.recorder));
  free_recorder(&thread.recorder);
}

TEST(the_last_steps_before_a_close_are_in_the_trace) {
  for (int32_t round = 0; round < 20; round++) {
    client c = open_traced("CartPole-v1", 3, NUM_ENVS);
    sums all = {0};
    int32_t tracks = pp_pool_trace_start(c.pool, &c.error);
    CHECK_EQ(client_reset(&c), NUM_ENVS);
    pp_pool_close(c.pool, -1);
    pp_pool_trace_stop(c.pool);
    read_tracks(c.pool, tracks, &all);
    CHECK_EQ(all.worked + all.reset, NUM_ENVS);
    CHECK_EQ(pp_pool_trace_start(c.pool, &c.error), PP_ERR_CLOSED);
    client_close(&c);
  }
}

TEST(wrong_calls_are_refused) {
  client c = open_traced("CartPole-v1", 2, NUM_ENVS);
  pp_span out[ROOM];
  int64_t lost;
  CHECK_EQ(pp_pool_trace_read(c.pool, 0, out, ROOM, &lost, &c.error), PP_ERR_ARGUMENT);
  // nothing to stop
  pp_pool_trace_stop(c.pool);
  CHECK_EQ(pp_pool_trace_start(c.pool, &c.error), 3);
  CHECK_EQ(pp_pool_trace_start(c.pool, &c.error), PP_ERR_STATE);
  CHECK_TEXT(c.error.text, "another trace of this pool is running: let it end first");
  CHECK_EQ(pp_pool_trace_read(c.pool, -1, out, ROOM, &lost, &c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_trace_read(c.pool, 3, out, ROOM, &lost, &c.error), PP_ERR_ARGUMENT);
  CHECK_TEXT(c.error.text, "track=3, room=64: choose 0 to 2, and 1 or more");
  CHECK_EQ(pp_pool_trace_read(c.pool, 0, out, 0, &lost, &c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_trace_read(c.pool, 0, out, ROOM, NULL, &c.error), 0);
  client_close(&c);
}

/* an environment whose steps take a millisecond while is_slow is set */
static _Atomic int32_t is_slow;

static int step_slowly(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action, (void)result;
  if (atomic_load(&is_slow)) usleep(1000);
  return PP_OK;
}

/* A call that began to step all environments itself leaves those to all threads that turn out to be
 * expensive. The call then is no inline one, as the caller's time in it is not all work. */
TEST(the_part_of_an_inline_call_that_the_caller_stepped_is_work) {
  int64_t actions[NUM_ENVS] = {0};
  client c = make_client("test/Fault-v0", NUM_ENVS);
  pp_env_def def = *c.def;
  sums all = {0};
  int32_t tracks;
  def.step = step_slowly;
  c.def = &def;
  c.options.num_threads = 2;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  // a step is known to take a nanosecond
  atomic_store(&c.pool->threads->lanes[0].cost.step, 16);
  CHECK(c.pool->ops.is_inline(c.pool, NUM_ENVS));
  tracks = pp_pool_trace_start(c.pool, &c.error);
  atomic_store(&is_slow, 1);
  CHECK_EQ(client_step(&c, NULL, NUM_ENVS, actions), NUM_ENVS);
  atomic_store(&is_slow, 0);
  pp_pool_trace_stop(c.pool);
  read_tracks(c.pool, tracks, &all);
  CHECK_EQ(all.inlined, 0);
  CHECK_EQ(all.worked, NUM_ENVS);
  CHECK_EQ(all.received, NUM_ENVS);
  client_close(&c);
}

/* a thread that starts and stops traces */
typedef struct tracer {
  pp_pool *pool;
  _Atomic int32_t is_over, traces;
  _Atomic int64_t spans; /* recorded so far */
} tracer;

static void *trace_again_and_again(void *arg) {
  tracer *it = arg;
  pp_error error;
  while (!atomic_load(&it->is_over)) {
    sums all = {0};
    int32_t tracks = pp_pool_trace_start(it->pool, &error);
    CHECK(tracks > 0);
    for (int32_t i = 0; i < 3; i++) {
      read_tracks(it->pool, tracks, &all);
      sched_yield();
    }
    pp_pool_trace_stop(it->pool);
    read_tracks(it->pool, tracks, &all);
    atomic_fetch_add(&it->spans, all.spans);
    atomic_fetch_add(&it->traces, 1);
  }
  return NULL;
}

TEST(a_pool_is_traced_again_and_again_while_another_thread_steps) {
  int64_t actions[NUM_ENVS] = {0};
  for (int32_t is_async = 0; is_async < 2; is_async++) {
    for (int32_t threads = 1; threads <= 3; threads += 2) {
      client c = open_traced("CartPole-v1", threads, is_async ? NUM_ENVS / 3 : NUM_ENVS);
      tracer it = {.pool = c.pool};
      pthread_t thread;
      REQUIRE(pthread_create(&thread, NULL, trace_again_and_again, &it) == 0);
      for (int32_t i = 0; atomic_load(&it.traces) < STEPS || atomic_load(&it.spans) < STEPS; i++) {
        // a trace that ends must not be taken for a thread that receives
        if (is_async) {
          CHECK_EQ(pp_pool_send_reset(c.pool, NULL, NUM_ENVS, NULL, NULL, NULL, &c.error), PP_OK);
          play_unordered(&c, 4);
        } else if (i == 0) {
          CHECK_EQ(client_reset(&c), NUM_ENVS);
        } else {
          CHECK_EQ(client_step(&c, NULL, NUM_ENVS, actions), NUM_ENVS);
        }
      }
      atomic_store(&it.is_over, 1);
      pthread_join(thread, NULL);
      client_close(&c);
    }
  }
}

/* two threads that step by turns, each while the other does not */
typedef struct turns {
  client *c;
  pthread_mutex_t lock;
} turns;

static void *step_in_turn(void *arg) {
  turns *it = arg;
  int64_t actions[NUM_ENVS] = {0};
  for (int32_t i = 0; i < STEPS; i++) {
    pthread_mutex_lock(&it->lock);
    CHECK_EQ(client_step(it->c, NULL, NUM_ENVS, actions), NUM_ENVS);
    pthread_mutex_unlock(&it->lock);
    sched_yield();
  }
  return NULL;
}

TEST(threads_that_receive_by_turns_share_a_track) {
  for (int32_t num_threads = 1; num_threads <= 2; num_threads++) {
    client c = open_traced("CartPole-v1", num_threads, NUM_ENVS);
    turns it = {.c = &c};
    pthread_t thread;
    sums all = {0};
    int32_t tracks;
    pthread_mutex_init(&it.lock, NULL);
    CHECK_EQ(client_reset(&c), NUM_ENVS);
    tracks = pp_pool_trace_start(c.pool, &c.error);
    REQUIRE(pthread_create(&thread, NULL, step_in_turn, &it) == 0);
    step_in_turn(&it);
    pthread_join(thread, NULL);
    pp_pool_trace_stop(c.pool);
    read_tracks(c.pool, tracks, &all);
    CHECK_EQ(all.worked + all.reset + all.inlined, 2 * STEPS * NUM_ENVS);
    CHECK_EQ(all.received + all.inlined, 2 * STEPS * NUM_ENVS);
    pthread_mutex_destroy(&it.lock);
    client_close(&c);
  }
}
