/* The death of worker processes, at each step of their work and at random moments: the batch still
 * gets all of its rows, and another worker goes on. */
#define _GNU_SOURCE

/* kills the process if it is to die at this point */
static void die_at(const char *point);
#define PP_TEST_DIE(point) die_at(#point)

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "pool/pool.h"
#include "process_tests.h"
#include "processes/board.c"
#include "processes/lanes.h"
#include "processes/mailbox.c"
#include "processes/rows.c"
#include "processes/worker.c"
#include "processes/worker_wait.c"

#ifdef __SANITIZE_THREAD__
enum { KILLS = 15 };
#else
enum { KILLS = 100 };
#endif

/* a way to die, and how many of the lane's four environments are not done by then */
typedef struct death {
  const char *point;
  int32_t passes; /* how often the worker passes the point before it dies there */
  int32_t is_ordered;
  int32_t chunk;    /* turns delivered at once */
  int32_t affected; /* SOME: it depends on actions */
  int32_t is_early; /* it dies before anything is sent */
} death;

enum { SOME = -1 };

static const death deaths[] = {
    {"asleep", 0, 1, 4, 4, 1},     {"running", 0, 1, 4, 4, 0},    {"running", 2, 0, 4, 4, 0},
    {"taken", 0, 1, 4, 4, 0},      {"taken", 0, 0, 1, 4, 0},      {"claimed", 0, 0, 1, 4, 0},
    {"claimed", 2, 0, 1, 2, 0},    {"claimed", 3, 0, 4, 1, 0},    {"placed", 1, 0, 1, 3, 0},
    {"placed", 3, 0, 1, 1, 0},     {"placed", 1, 0, 4, 3, 0},     {"hinted", 0, 0, 1, 4, 0},
    {"copied", 0, 1, 4, SOME, 0},  {"copied", 3, 0, 1, SOME, 0},  {"half_saved", 0, 1, 4, 4, 0},
    {"half_saved", 4, 1, 4, 2, 0}, {"half_saved", 2, 0, 1, 3, 0}, {"written", 0, 1, 4, 4, 0},
    {"written", 3, 0, 4, 1, 0},    {"done", 0, 1, 4, 3, 0},       {"done", 1, 0, 4, 2, 0},
    {"done", 3, 1, 4, 0, 0},       {"done", 2, 1, 1, 1, 0},       {"done", 5, 1, 4, SOME, 0},
    {"done", 5, 0, 1, SOME, 0},    {"counted", 0, 1, 4, 0, 0},    {"counted", 1, 0, 1, 2, 0},
};
enum { NUM_DEATHS = sizeof(deaths) / sizeof(*deaths) };

/* how the next child dies */
static const death *chosen;
static const char *fatal_point;
static int32_t passes_left;

static void die_at(const char *point) {
  if (fatal_point && strcmp(point, fatal_point) == 0 && passes_left-- == 0) raise(SIGKILL);
}

/* in the child */
static void be_doomed(void) {
  fatal_point = chosen->point;
  passes_left = chosen->passes;
}

/* returns whether a lane's worker has died; may_wait: waits until it has */
static int is_dead(const test_pool *w, int32_t lane, int32_t may_wait) {
  siginfo_t info = {0};
  waitid(P_PID, (id_t)w->pids[lane], &info, WEXITED | WNOWAIT | (may_wait ? 0 : WNOHANG));
  return info.si_pid != 0;
}

/* ------------------------------------------------------------------------------ every step -- */

/* receives all that is in flight */
static void drain(test_pool *w) {
  int32_t ids[MAX_ENVS];
  while (pp_pool_in_flight(w->c.pool) > 0 && test_pool_recv(w, ids) > 0) {
  }
}

/* rounds of steps of some environments; ids null: of all */
static void play(test_pool *w, const int32_t *ids, int32_t count, int32_t rounds) {
  for (int32_t i = 0; i < rounds; i++) {
    test_pool_send(w, ids, count, 0);
    drain(w);
  }
}

/* sends until the worker of lane 0 is dead */
static void play_to_death(test_pool *w, const death *way) {
  int32_t ids[MAX_ENVS], is_over = 0;
  if (way->is_early) is_over = is_dead(w, 0, 1);
  do {
    test_pool_send(w, NULL, 8, 0);
    if (way->affected != SOME) is_over = is_dead(w, 0, 1);
    while (!is_over && pp_pool_in_flight(w->c.pool) > 0) {
      if (test_pool_try(w, ids, 2000000) == 0) is_over = is_dead(w, 0, 0);
    }
  } while (!is_over);
}

static void check_refused(test_pool *w) {
  int64_t actions[8] = {0};
  const int32_t ids[2] = {5, 2};
  w->c.error.env_id = -1;
  CHECK_EQ(pp_pool_send(w->c.pool, ids, 2, actions, PP_UINT8, &w->c.error), PP_ERR_STATE);
  CHECK_EQ(w->c.error.env_id, 2);
  CHECK_EQ(pp_pool_send_reset(w->c.pool, ids, 2, NULL, NULL, NULL, &w->c.error), PP_ERR_STATE);
  CHECK(pp_pool_needs_reset(w->c.pool, 5) != PP_ERR_STATE);
  CHECK_EQ(pp_pool_request(w->c.pool, 0, "x", 1, &w->c.error), PP_ERR_STATE);
}

static void die(const death *way, int32_t how, int32_t min_rows) {
  const int32_t others[4] = {4, 5, 6, 7};
  test_pool w = test_pool_open(8, way->is_ordered ? 8 : 4, 2, PP_NEXT_STEP);
  w.chunk = way->chunk;
  w.c.min_rows = min_rows;
  w.fails = way->affected == SOME;
  chosen = way;
  test_pool_start_all(&w);
  play(&w, NULL, 8, 3);
  // this one dies with nothing to do
  kill(w.pids[0], SIGKILL);
  CHECK_EQ(test_pool_after_death(&w, 0, how == PP_DEATH_FAIL ? PP_DEATH_REPEAT : how), 0);
  test_pool_start(&w, 0, be_doomed);
  play_to_death(&w, way);
  int32_t affected = test_pool_after_death(&w, 0, how);
  if (way->affected != SOME) CHECK_EQ(affected, way->affected);
  if (how == PP_DEATH_REQUEUE) test_pool_start(&w, 0, NULL);
  drain(&w);
  CHECK_EQ(pp_pool_in_flight(w.c.pool), 0);
  if (how == PP_DEATH_REPEAT || how == PP_DEATH_REPLACE) test_pool_start(&w, 0, NULL);
  if (how == PP_DEATH_FAIL) {
    check_refused(&w);
    play(&w, others, 4, 3);
  } else {
    play(&w, NULL, 8, 5);
  }
  test_pool_close(&w);
}

static void die_in_all_ways(int32_t how) {
  for (int32_t i = 0; i < NUM_DEATHS; i++) {
    int failed = atomic_load(&check_failed);
    die(&deaths[i], how, 0);
    if (!deaths[i].is_ordered) die(&deaths[i], how, 1);
    if (atomic_load(&check_failed) != failed) {
      printf("  dead at %s after %d, ordered %d, chunk %d\n", deaths[i].point, deaths[i].passes,
             deaths[i].is_ordered, deaths[i].chunk);
    }
  }
}

TEST(environments_fail_with_their_worker_wherever_it_dies) {
  die_in_all_ways(PP_DEATH_FAIL);
}

TEST(environments_fail_and_go_on_with_another_worker_wherever_theirs_dies) {
  die_in_all_ways(PP_DEATH_REPLACE);
}

TEST(rows_repeat_what_was_shown_wherever_the_worker_dies) {
  die_in_all_ways(PP_DEATH_REPEAT);
}

TEST(another_worker_restarts_environments_wherever_the_first_dies) {
  die_in_all_ways(PP_DEATH_REQUEUE);
}

/* ----------------------------------------------------------------------------- resets -- */

/* A reset that the dead worker had not done fails, or waits with its payload for the next one. */
static void die_at_resets(const death *way, int32_t how) {
  test_pool w = test_pool_open(8, way->is_ordered ? 8 : 4, 2, PP_NEXT_STEP);
  w.chunk = way->chunk;
  chosen = way;
  test_pool_start_all(&w);
  play(&w, NULL, 8, 3);
  kill(w.pids[0], SIGKILL);
  CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 0);
  test_pool_start(&w, 0, be_doomed);
  for (int32_t i = 0; i < 8; i++) test_pool_payload(&w, i, 10 + 300 * i);
  test_pool_send(&w, NULL, 8, 1);
  CHECK(is_dead(&w, 0, 1));
  bool fails = how == PP_DEATH_FAIL || how == PP_DEATH_REPLACE;
  CHECK_EQ(test_pool_after_death(&w, 0, how), fails ? way->affected : 0);
  if (how != PP_DEATH_FAIL) test_pool_start(&w, 0, NULL);
  drain(&w);
  CHECK_EQ(pp_pool_in_flight(w.c.pool), 0);
  if (how != PP_DEATH_FAIL) play(&w, NULL, 8, 5);
  test_pool_close(&w);
}

TEST(resets_wait_for_the_next_worker_wherever_the_first_dies) {
  for (int32_t how = PP_DEATH_FAIL; how <= PP_DEATH_REPLACE; how++) {
    for (int32_t i = 0; i < NUM_DEATHS; i++) {
      int failed = atomic_load(&check_failed);
      if (deaths[i].affected == SOME || deaths[i].is_early) continue;
      die_at_resets(&deaths[i], how);
      if (atomic_load(&check_failed) == failed) continue;
      printf("  dead at %s after %d, ordered %d, chunk %d, how %d\n", deaths[i].point,
             deaths[i].passes, deaths[i].is_ordered, deaths[i].chunk, how);
    }
  }
}

/* Two workers die one after the other, with resets and steps in flight. Then there is a third, or,
 * if is_given_up, none. */
static void die_twice(const death *way, int32_t how, int32_t is_given_up) {
  const int32_t resets[2] = {0, 2}, steps[2] = {3, 1};
  static const death at_once = {"taken", 0, 0, 4, 4, 0};
  test_pool w = test_pool_open(4, way->is_ordered ? 4 : 2, 1, PP_NEXT_STEP);
  w.chunk = way->chunk;
  test_pool_start_all(&w);
  play(&w, NULL, 4, 3);
  kill(w.pids[0], SIGKILL);
  CHECK_EQ(test_pool_after_death(&w, 0, how), 0);
  chosen = &at_once;
  test_pool_payload(&w, 0, 700);
  test_pool_send(&w, resets, 2, 1);
  test_pool_send(&w, steps, 2, 0);
  test_pool_start(&w, 0, be_doomed);
  CHECK_EQ(test_pool_after_death(&w, 0, how), 2);
  chosen = way;
  test_pool_start(&w, 0, be_doomed);
  CHECK(is_dead(&w, 0, 1));
  test_pool_after_death(&w, 0, is_given_up ? PP_DEATH_FAIL : how);
  if (!is_given_up) test_pool_start(&w, 0, NULL);
  drain(&w);
  CHECK_EQ(pp_pool_in_flight(w.c.pool), 0);
  if (!is_given_up) play(&w, NULL, 4, 5);
  test_pool_close(&w);
}

TEST(two_worker_deaths_in_a_row_lose_nothing) {
  static const death ways[] = {{"running", 0, 1, 4, 0, 0}, {"running", 1, 0, 1, 0, 0},
                               {"taken", 0, 1, 4, 0, 0},   {"claimed", 0, 0, 1, 0, 0},
                               {"placed", 1, 0, 4, 0, 0},  {"done", 0, 1, 1, 0, 0},
                               {"counted", 0, 0, 1, 0, 0}, {"half_saved", 0, 1, 4, 0, 0}};
  for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
    for (int32_t variant = 0; variant < 4; variant++) {
      int failed = atomic_load(&check_failed);
      die_twice(&ways[i], variant % 2 ? PP_DEATH_REPEAT : PP_DEATH_REQUEUE, variant / 2);
      if (atomic_load(&check_failed) == failed) continue;
      printf("  dead at %s after %d, variant %d\n", ways[i].point, ways[i].passes, variant);
    }
  }
}

/* A stopped worker is killed before its lane is repaired, and never wakes. */
TEST(a_stopped_worker_is_killed_and_replaced) {
  for (int32_t how = PP_DEATH_REPEAT; how <= PP_DEATH_REQUEUE; how++) {
    test_pool w = test_pool_open(4, 2, 2, PP_NEXT_STEP);
    int32_t ids[MAX_ENVS];
    test_pool_start_all(&w);
    play(&w, NULL, 4, 3);
    test_pool_stop(&w, 0);
    test_pool_send(&w, NULL, 4, 0);
    CHECK_EQ(test_pool_recv(&w, ids), 2);
    CHECK(ids[0] >= 2 && ids[1] >= 2);
    CHECK_EQ(test_pool_try(&w, ids, 1000000), 0);
    kill(w.pids[0], SIGKILL);
    CHECK_EQ(test_pool_after_death(&w, 0, how), 2);
    test_pool_start(&w, 0, NULL);
    drain(&w);
    play(&w, NULL, 4, 3);
    test_pool_close(&w);
  }
}

/* --------------------------------------------------------------------------------- hints -- */

/* A block of one row is received and its slot prepared again before the next claim: only the dead
 * worker could have raised the hint. */
TEST(a_stale_hint_stops_no_worker) {
  static const death way = {"claimed", 0, 0, 1, 1, 0};
  const int32_t own[1] = {0};
  int32_t ids[MAX_ENVS];
  test_pool w = test_pool_open(2, 1, 1, PP_NEXT_STEP);
  chosen = &way;
  test_pool_start(&w, 0, be_doomed);
  test_pool_send(&w, own, 1, 0);
  CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 1);
  CHECK_EQ(test_pool_recv(&w, ids), 1);
  test_pool_start(&w, 0, NULL);
  for (int32_t i = 0; i < 5; i++) {
    test_pool_send(&w, own, 1, 0);
    CHECK_EQ(test_pool_recv(&w, ids), 1);
  }
  test_pool_close(&w);
}

/* ------------------------------------------------------------------------------ any moment -- */

static uint32_t draw(uint32_t *state, uint32_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % n;
}

/* kills a random worker after a random time, and starts another in its place */
static void kill_some(test_pool *w, uint32_t *state) {
  int32_t lane = (int32_t)draw(state, (uint32_t)w->num_lanes);
  int32_t how = draw(state, 2) ? PP_DEATH_REPEAT : PP_DEATH_REQUEUE;
  int64_t end = pp_os_now() + draw(state, 300000);
  while (pp_os_now() < end) pp_os_relax();
  kill(w->pids[lane], SIGKILL);
  test_pool_after_death(w, lane, how);
  test_pool_start(w, lane, NULL);
}

static void run_with_kills(int32_t num_envs, int32_t batch_size, int32_t num_lanes, int32_t chunk) {
  test_pool w = test_pool_open(num_envs, batch_size, num_lanes, PP_NEXT_STEP);
  int32_t ids[MAX_ENVS], rows = num_envs;
  uint32_t state = (uint32_t)(num_envs + batch_size);
  w.chunk = chunk;
  w.fails = 1;
  test_pool_start_all(&w);
  test_pool_send(&w, NULL, num_envs, 1);
  for (int32_t i = 0; i < 3 * KILLS; i++) {
    if (i % 3 == 0) kill_some(&w, &state);
    rows = test_pool_recv(&w, ids);
    if (rows <= 0) break;
    test_pool_send(&w, ids, rows, i % 17 == 16);
  }
  if (batch_size == num_envs) drain(&w);
  test_pool_close(&w);
}

TEST(workers_are_killed_at_any_moment) {
  run_with_kills(8, 8, 3, 2);
  run_with_kills(9, 4, 3, 1);
  run_with_kills(5, 1, 2, 3);
}

/* -------------------------------------------------------------------------------- requests -- */

static int32_t answer_of(test_pool *w, int32_t lane, const void **bytes, int64_t *size) {
  int32_t status;
  do status = pp_pool_answer(w->c.pool, lane, SECOND, bytes, size, &w->c.error);
  while (status == 0);
  return status;
}

static void die_answering(const char *point, int32_t status) {
  const death way = {.point = point};
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  uint8_t command[1000];
  const void *bytes;
  int64_t size;
  chosen = &way;
  fill(command, sizeof(command), 3);
  test_pool_start(&w, 1, NULL);
  test_pool_start(&w, 0, be_doomed);
  CHECK_EQ(pp_pool_request(w.c.pool, 0, command, sizeof(command), &w.c.error), PP_OK);
  CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 0);
  // its answer stays while another worker works
  test_pool_start(&w, 0, NULL);
  play(&w, NULL, 4, 20);
  CHECK_EQ(answer_of(&w, 0, &bytes, &size), status);
  if (status > 0) CHECK(size == sizeof(command) && is_filled(bytes, size, 3));
  CHECK_EQ(pp_pool_request(w.c.pool, 0, "y", 1, &w.c.error), PP_OK);
  CHECK_EQ(answer_of(&w, 0, &bytes, &size), 1);
  CHECK(size == 1 && *(const char *)bytes == 'y');
  test_pool_close(&w);
}

TEST(an_answer_arrives_or_the_death_is_reported) {
  die_answering("copied", PP_ERR_STATE);
  die_answering("replied", PP_ERR_STATE);
  die_answering("answered", 1);
}

TEST(a_request_to_a_dead_worker_goes_to_the_next) {
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  const void *bytes;
  int64_t size;
  test_pool_start_all(&w);
  kill(w.pids[0], SIGKILL);
  CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 0);
  CHECK_EQ(pp_pool_request(w.c.pool, 0, "abc", 3, &w.c.error), PP_OK);
  test_pool_start(&w, 0, NULL);
  CHECK_EQ(answer_of(&w, 0, &bytes, &size), 1);
  CHECK(size == 3 && memcmp(bytes, "abc", 3) == 0);
  test_pool_close(&w);
}

/* --------------------------------------------------------------------------- worker deaths -- */

TEST(worker_death_checks_its_arguments) {
  test_pool w = test_pool_open(4, 4, 2, PP_NEXT_STEP);
  int32_t affected[4];
  CHECK_EQ(pp_pool_worker_died(w.c.pool, 2, PP_DEATH_FAIL, affected, &w.c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_worker_died(w.c.pool, -1, PP_DEATH_FAIL, affected, &w.c.error), PP_ERR_ARGUMENT);
  CHECK_EQ(pp_pool_worker_died(w.c.pool, 0, 4, affected, &w.c.error), PP_ERR_ARGUMENT);
  w.c.pool->processes->board.shape.saves_rows = 0;
  CHECK_EQ(pp_pool_worker_died(w.c.pool, 0, PP_DEATH_REPEAT, affected, &w.c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_worker_died(w.c.pool, 0, PP_DEATH_REQUEUE, affected, &w.c.error), PP_ERR_STATE);
  CHECK_EQ(pp_pool_worker_died(w.c.pool, 0, PP_DEATH_FAIL, affected, &w.c.error), 0);
  test_pool_close(&w);
}

/* The final columns of a truncated episode show its last state. */
TEST(final_columns_of_a_repeated_row_repeat_the_row) {
  test_pool w = test_pool_open(2, 2, 1, PP_SAME_STEP);
  int32_t ids[MAX_ENVS];
  test_pool_start_all(&w);
  play(&w, NULL, 2, 4);
  kill(w.pids[0], SIGKILL);
  CHECK(is_dead(&w, 0, 1));
  test_pool_send(&w, NULL, 2, 0);
  CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 2);
  CHECK_EQ(test_pool_recv(&w, ids), 2);
  for (int32_t i = 0; i < w.c.num_columns; i++) {
    const pp_column *last = &w.c.columns[i];
    if (!last->is_final) continue;
    const char *memory = w.c.batch, *first = memory + w.c.columns[last->field].offset;
    CHECK(memcmp(memory + last->offset, first, (size_t)(2 * last->row_bytes)) == 0);
  }
  CHECK_EQ(((int64_t *)column(&w.c, "mark"))[1], 4);
  test_pool_close(&w);
}

/* Each worker replies to all, and dies before anything is sent again. */
TEST(replies_of_the_dead_do_not_pile_up) {
  test_pool w = test_pool_open(2, 2, 1, PP_NEXT_STEP);
  static uint8_t bytes[1 << 20];
  const int64_t actions[2] = {1, 1};
  struct stat file;
  int64_t size;
  for (int32_t i = 0; i < 12; i++) {
    const void *reply;
    test_pool_start(&w, 0, NULL);
    fill(bytes, sizeof(bytes), i);
    for (int32_t e = 0; e < 2; e++) pp_pool_set_payload(w.c.pool, e, bytes, sizeof(bytes), NULL);
    CHECK_EQ(pp_pool_send(w.c.pool, NULL, 2, actions, PP_UINT8, NULL), PP_OK);
    CHECK_EQ(client_recv(&w.c), 2);
    w.rows += 2;
    kill(w.pids[0], SIGKILL);
    CHECK_EQ(test_pool_after_death(&w, 0, PP_DEATH_REPEAT), 0);
    reply = pp_pool_reply(w.c.pool, 1, &size);
    CHECK(size == sizeof(bytes) && is_filled(reply, size, i));
  }
  CHECK_EQ(fstat(pp_pool_reply_fd(w.c.pool, 0), &file), 0);
  CHECK(file.st_size <= 8 << 20);
  test_pool_close(&w);
}
