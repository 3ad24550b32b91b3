/* Wild workers: whatever they write over the memory that a pool shares, the parent goes on. This
 * process opens the workers itself, and the test overwrites what they left. */
#define _GNU_SOURCE

#include <errno.h>
#include <unistd.h>

#include "wild_tests.h"

/* lets a worker wake and find nothing to do */
static void be_idle(wild *x, int32_t lane) {
  CHECK_EQ(pp_worker_take(x->workers[lane].worker, 0), 0);
}

static int has_text(const char *text, const char *part) {
  return text && strstr(text, part) != NULL;
}

/* Receives a batch in which one environment fails for a reason that the parent found. */
static void check_fails(wild *x, int32_t env_id, const char *why) {
  int32_t rows, count;
  int64_t size = 1;
  const int64_t *obs;
  const int32_t *failed, *ids;
  CHECK_EQ(client_try(&x->w.c, 0), PP_ERR_ENV);
  failed = pp_pool_failed(x->w.c.pool, &count, &rows);
  CHECK_EQ(count, 1);
  CHECK_EQ(failed[0], env_id);
  CHECK_EQ(x->w.c.error.env_id, env_id);
  CHECK(has_text(pp_pool_env_error(x->w.c.pool, env_id)->text, why));
  CHECK(!pp_pool_reply(x->w.c.pool, env_id, &size) && size == 0);
  ids = column(&x->w.c, "env_id");
  obs = column(&x->w.c, "obs");
  for (int32_t row = 0; row < rows; row++) {
    CHECK(obs[4 * row + 1] == 0 || ids[row] != env_id);
    CHECK(obs[4 * row] == ids[row] || ids[row] == env_id);
    count -= ids[row] == env_id;
  }
  CHECK_EQ(count, 0);
}

/* ------------------------------------------------------------------------------- messages -- */

/* Lists messages that no worker can have left in a reply file of this size; returns how many. */
static int list_bad_messages(int64_t bytes, pp_message *bad) {
  const pp_message all[] = {{0, bytes + 1},
                            {bytes, 1},
                            {bytes - 10, 11},
                            {-1, 10},
                            {INT64_MIN, 10},
                            {INT64_MAX, 1},
                            {0, INT64_MAX},
                            {INT64_MAX, INT64_MAX},
                            {0, INT64_MIN},
                            {0, -1},
                            {0, -2},
                            {0, (int64_t)PP_REPLY_HEAP_RESERVE + 1},
                            {PP_REPLY_HEAP_RESERVE, 1}};
  memcpy(bad, all, sizeof(all));
  return sizeof(all) / sizeof(*all);
}

TEST(impossible_replies_fail_their_environment) {
  wild x;
  pp_message bad[32];
  open_wild(&x, 4, 4, 2);
  test_pool_payload(&x.w, 3, 1000);
  send_and_work(&x);
  CHECK_EQ(client_try(&x.w.c, 0), 4);
  int64_t bytes = pp_os_shared_size(pp_pool_reply_fd(x.w.c.pool, 1)), size;
  CHECK(bytes >= 1000);
  int count = list_bad_messages(bytes, bad);
  for (int i = 0; i < count; i++) {
    send_and_work(&x);
    x.board->envs[3].reply = bad[i];
    check_fails(&x, 3, "its reply lies outside");
  }
  // a reply just inside the file can be read
  send_and_work(&x);
  x.board->envs[3].reply = (pp_message){bytes - 10, 10};
  CHECK_EQ(client_try(&x.w.c, 0), 4);
  const char *reply = pp_pool_reply(x.w.c.pool, 3, &size);
  CHECK(size == 10 && reply && reply[9] == 0);
  close_wild(&x);
}

/* The parent returns what it read at the receive, even if the board was overwritten since. */
TEST(replies_can_t_be_changed_after_they_were_received) {
  wild x;
  int64_t size, again;
  open_wild(&x, 2, 2, 1);
  test_pool_payload(&x.w, 1, 100);
  send_and_work(&x);
  CHECK_EQ(client_try(&x.w.c, 0), 2);
  const void *reply = pp_pool_reply(x.w.c.pool, 1, &size);
  x.board->envs[1].reply = (pp_message){INT64_C(1) << 40, INT64_C(1) << 40};
  CHECK(pp_pool_reply(x.w.c.pool, 1, &again) == reply && size == 100 && again == 100);
  close_wild(&x);
}

TEST(impossible_answers_are_an_error) {
  wild x;
  pp_message bad[32];
  const void *bytes = NULL;
  int64_t size = 0;
  open_wild(&x, 2, 2, 1);
  pp_pool *pool = x.w.c.pool;
  int count = 1;
  for (int i = 0; i < count; i++) {
    CHECK_EQ(pp_pool_request(pool, 0, "abc", 3, NULL), PP_OK);
    answer(&x.workers[0]);
    if (i == 0) count = list_bad_messages(pp_os_shared_size(pp_pool_reply_fd(pool, 0)), bad);
    x.board->mailboxes[0].reply = bad[i];
    CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, &x.w.c.error), PP_ERR_STATE);
    CHECK(has_text(x.w.c.error.text, bad[i].size == -1 ? "died" : "outside its "));
  }
  // the offset of an empty answer does not matter
  x.board->mailboxes[0].reply = (pp_message){INT64_MAX, 0};
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), 1);
  CHECK_EQ(size, 0);
  CHECK_EQ(pp_pool_request(pool, 0, "abc", 3, NULL), PP_OK);
  answer(&x.workers[0]);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, &x.w.c.error), 1);
  CHECK(size == 3 && memcmp(bytes, "abc", 3) == 0);
  close_wild(&x);
}

/* If a file could become shorter, the parent would die reading what was there. */
TEST(shared_files_can_t_be_made_shorter) {
  wild x;
  open_wild(&x, 2, 2, 1);
  const int32_t files[2] = {pp_pool_memory_fd(x.w.c.pool), pp_pool_reply_fd(x.w.c.pool, 0)};
  test_pool_payload(&x.w, 1, 100);
  send_and_work(&x);
  for (int i = 0; i < 2; i++) {
    int64_t bytes = pp_os_shared_size(files[i]);
    CHECK(bytes > 0);
    CHECK(ftruncate(files[i], 0) == -1 && errno == EPERM);
    CHECK(ftruncate(files[i], bytes - 1) == -1 && errno == EPERM);
    CHECK_EQ(pp_os_shared_size(files[i]), bytes);
    CHECK_EQ(pp_os_shared_grow(files[i], bytes, bytes + 4096), PP_OK);
    CHECK_EQ(pp_os_shared_size(files[i]), bytes + 4096);
  }
  CHECK_EQ(client_try(&x.w.c, 0), 2);
  close_wild(&x);
}

/* ----------------------------------------------------------------------------------- rows -- */

static void misname(int32_t batch_size) {
  const int32_t names[] = {-1, 4, 0, INT32_MAX, INT32_MIN};
  wild x;
  open_wild(&x, 4, batch_size, 2);
  for (int i = 0; i < 5; i++) {
    send_and_work(&x);
    int32_t *ids = ids_of(&x, (int32_t)(x.w.c.pool->ring.received % x.w.c.pool->ring.num_slots));
    int32_t named = ids[1];
    ids[1] = names[i];
    check_fails(&x, named, "its row names another environment");
    if (batch_size < 4) CHECK_EQ(client_try(&x.w.c, 0), 2);
    CHECK_EQ(pp_pool_in_flight(x.w.c.pool), 0);
  }
  close_wild(&x);
}

TEST(rows_that_name_others_fail_their_environment) {
  misname(4);
  misname(2);
}

TEST(rows_that_were_counted_too_early_fail_their_environment) {
  const int32_t states[] = {PP_ENV_IDLE, PP_ENV_QUEUED, PP_ENV_RUNNING, 5, 99, -1};
  wild x;
  open_wild(&x, 4, 4, 2);
  for (int i = 0; i < 6; i++) {
    send_and_work(&x);
    atomic_store(&x.board->envs[2].state, states[i]);
    check_fails(&x, 2, "before its turn was over");
  }
  close_wild(&x);
}

/* Rows without an owner are given to environments that have no row, so that as many environments
 * come back as were sent. */
TEST(rows_without_an_owner_go_to_environments_without_a_row) {
  const uint64_t words[] = {0, UINT64_MAX, 7, UINT64_C(77) << 32 | 3, UINT64_C(1) << 63};
  for (int i = 0; i < 5; i++) {
    for (int32_t all = 0; all < 2; all++) {
      wild x;
      int32_t count = 0, rows = 0, seen[6] = {0};
      open_wild(&x, 6, 3, 2);
      send_and_work(&x);
      for (int32_t row = 0; row < 6; row++) {
        if (!all && row != 1) continue;
        atomic_store(&x.board->rows[row], words[i]);
        ids_of(&x, row / 3)[row % 3] = -7;
      }
      for (int32_t batch = 0; batch < 2; batch++) {
        int32_t status = client_try(&x.w.c, 0);
        CHECK_EQ(status, all || batch == 0 ? PP_ERR_ENV : 3);
        if (status < 0) pp_pool_failed(x.w.c.pool, &count, &rows);
        CHECK_EQ(count, all ? 3 : 1);
        for (int32_t row = 0; row < 3; row++) {
          int32_t id = ((int32_t *)column(&x.w.c, "env_id"))[row];
          if (CHECK(id >= 0 && id < 6)) CHECK_EQ(seen[id]++, 0);
        }
      }
      CHECK_EQ(pp_pool_in_flight(x.w.c.pool), 0);
      send_and_work(&x);
      CHECK_EQ(client_try(&x.w.c, 0), 3);
      close_wild(&x);
    }
  }
}

/* Every call to a pool that was stopped returns PP_ERR_BROKEN. */
static void check_broken(wild *x) {
  const void *bytes;
  int64_t actions[MAX_ENVS] = {0}, size;
  pp_pool *pool = x->w.c.pool;
  CHECK(has_text(x->w.c.error.text, "written over the pool's memory"));
  CHECK(has_text(x->w.c.error.text, "make a new one"));
  CHECK_EQ(client_try(&x->w.c, 0), PP_ERR_BROKEN);
  CHECK(has_text(x->w.c.error.text, "make a new one"));
  CHECK_EQ(pp_pool_send(pool, NULL, 1, actions, PP_UINT8, NULL), PP_ERR_BROKEN);
  CHECK_EQ(pp_pool_send_reset(pool, NULL, 1, NULL, NULL, NULL, NULL), PP_ERR_BROKEN);
  CHECK_EQ(pp_pool_request(pool, 0, "x", 1, NULL), PP_ERR_BROKEN);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), PP_ERR_BROKEN);
}

TEST(impossible_counts_stop_the_pool) {
  const int32_t counts[] = {-1, 3, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 4; i++) {
    wild x;
    open_wild(&x, 4, 4, 2);
    send_and_work(&x);
    atomic_store(&x.board->rows_done[1], counts[i]);
    CHECK_EQ(client_try(&x.w.c, 0), PP_ERR_BROKEN);
    CHECK(has_text(x.w.c.error.text, "(lane 1"));
    check_broken(&x);
    close_wild(&x);
  }
}

/* A wrong but plausible count is found when all workers say that they are idle. */
static void count_wrongly(int32_t num_envs, int32_t batch_size, int32_t lanes, int32_t count) {
  wild x;
  open_wild(&x, num_envs, batch_size, lanes);
  send_and_work(&x);
  atomic_store(&x.board->rows_done[0], count);
  // the parent sends a probe, and waits on while a worker has not answered it
  for (int i = 0; i < 5; i++) CHECK_EQ(client_try(&x.w.c, 0), 0);
  for (int32_t lane = 0; lane < lanes; lane++) {
    CHECK_EQ(client_try(&x.w.c, 0), 0);
    be_idle(&x, lane);
  }
  CHECK_EQ(client_try(&x.w.c, 0), PP_ERR_BROKEN);
  CHECK(has_text(x.w.c.error.text, "no worker has turns left"));
  check_broken(&x);
  close_wild(&x);
}

TEST(plausible_wrong_counts_stop_the_pool) {
  for (int32_t count = 0; count < 4; count++) count_wrongly(4, 4, 1, count);
  for (int32_t count = 0; count < 2; count++) count_wrongly(4, 4, 2, count);
  for (int32_t count = 0; count < 3; count++) count_wrongly(6, 3, 1, count);
  count_wrongly(6, 3, 2, 0);
  count_wrongly(3, 3, 3, 0);
}

/* The same for a caller that waits for some rows of a batch: of as many environments as num_sent,
 * each has its row in a batch of 4. */
static void count_some_wrongly(int32_t num_sent, int32_t min_rows, int32_t count) {
  const int32_t ids[] = {0, 1, 2};
  wild x;
  open_wild(&x, 6, 4, 1);
  test_pool_send(&x.w, ids, num_sent, 0);
  work_all(&x);
  atomic_store(&x.board->rows_done[0], count);
  x.w.c.min_rows = min_rows;
  CHECK_EQ(client_try(&x.w.c, 0), 0);
  CHECK_EQ(client_try(&x.w.c, -1), 0);
  be_idle(&x, 0);
  CHECK_EQ(client_try(&x.w.c, count % 2 - 1), PP_ERR_BROKEN);
  CHECK(has_text(x.w.c.error.text, "no worker has turns left"));
  check_broken(&x);
  close_wild(&x);
}

TEST(wrong_counts_stop_a_pool_that_waits_for_some_rows) {
  // more rows than environments in flight, and all rows of the batch
  count_some_wrongly(1, 1, 3);
  count_some_wrongly(3, 2, 4);
  // fewer than are claimed: with and without as many as the caller waits for
  count_some_wrongly(3, 1, 2);
  count_some_wrongly(3, 2, 1);
}

/* The answer to a probe does not cover what was sent after the probe. */
TEST(an_idle_worker_is_not_idle_for_what_is_sent_later) {
  const int32_t first = 0, second = 1;
  int64_t action = 1;
  wild x;
  open_wild(&x, 2, 2, 1);
  pp_pool *pool = x.w.c.pool;
  CHECK_EQ(pp_pool_send(pool, &first, 1, &action, PP_UINT8, NULL), PP_OK);
  CHECK_EQ(pp_worker_take(x.workers[0].worker, 0), 1);
  CHECK_EQ(client_try(&x.w.c, 0), 0);
  take_turn(&x.workers[0], 0);
  pp_worker_deliver(x.workers[0].worker, 0, 1);
  be_idle(&x, 0);
  CHECK_EQ(client_try(&x.w.c, 0), 1);
  // the board still shows the worker as idle, because it has not looked since
  CHECK_EQ(pp_pool_send(pool, &second, 1, &action, PP_UINT8, NULL), PP_OK);
  for (int i = 0; i < 3; i++) CHECK_EQ(client_try(&x.w.c, 0), 0);
  work_all(&x);
  CHECK_EQ(client_try(&x.w.c, 0), 1);
  close_wild(&x);
}

/* A slow worker, a dead one, or one that is about to be replaced does not stop the pool. */
TEST(a_wait_goes_on_while_any_worker_works) {
  for (int32_t batch_size = 2; batch_size <= 4; batch_size += 2) {
    int32_t affected[4];
    wild x;
    open_wild(&x, 4, batch_size, 2);
    test_pool_send(&x.w, NULL, 4, 1);
    CHECK_EQ(pp_worker_take(x.workers[1].worker, 0), 2);
    for (int i = 0; i < 5; i++) CHECK_EQ(client_try(&x.w.c, 0), 0);
    // resets wait for the next worker
    CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 0, PP_DEATH_REPEAT, affected, NULL), 0);
    CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 1, PP_DEATH_REPEAT, affected, NULL), 0);
    for (int i = 0; i < 5; i++) CHECK_EQ(client_try(&x.w.c, 0), 0);
    work_all(&x);
    for (int32_t rows = 0; rows < 4; rows += batch_size) {
      CHECK_EQ(client_try(&x.w.c, 0), batch_size);
    }
    CHECK_EQ(pp_pool_in_flight(x.w.c.pool), 0);
    close_wild(&x);
  }
}

/* A turn that its worker never sees is never done. */
TEST(turns_that_are_lost_stop_the_pool) {
  wild x;
  open_wild(&x, 4, 4, 2);
  test_pool_send(&x.w, NULL, 4, 0);
  atomic_store(&x.board->mailboxes[1].tail, 0);
  work_all(&x);
  CHECK_EQ(client_try(&x.w.c, 0), 0);
  be_idle(&x, 0);
  be_idle(&x, 1);
  CHECK_EQ(client_try(&x.w.c, 0), PP_ERR_BROKEN);
  check_broken(&x);
  close_wild(&x);
}

/* A worker that waits for a row that never becomes free still answers probes. */
static void *deliver_one(void *arg) {
  test_worker *h = arg;
  pp_worker_deliver(h->worker, 0, 1);
  return NULL;
}

TEST(rows_that_are_never_ready_stop_the_pool) {
  wild x;
  pthread_t thread;
  int32_t status = 0;
  open_wild(&x, 4, 2, 1);
  test_pool_send(&x.w, NULL, 4, 0);
  CHECK_EQ(pp_worker_take(x.workers[0].worker, 0), 4);
  for (int32_t i = 0; i < 4; i++) atomic_store(&x.board->rows[i], UINT64_C(0xfffffff0) << 32);
  pp_os_thread_start(&thread, deliver_one, &x.workers[0], "deliverer");
  for (int i = 0; i < 10000 && !status; i++) {
    status = client_try(&x.w.c, 0);
    usleep(1000);
  }
  CHECK_EQ(status, PP_ERR_BROKEN);
  // then rows become free, and it claims one
  for (int32_t i = 0; i < 4; i++) atomic_store(&x.board->rows[i], (uint64_t)(i / 2) << 32);
  pthread_join(thread, NULL);
  close_wild(&x);
}

TEST(unanswered_requests_stop_the_pool) {
  const void *bytes;
  int64_t size;
  wild x;
  open_wild(&x, 2, 2, 1);
  pp_pool *pool = x.w.c.pool;
  CHECK_EQ(pp_pool_request(pool, 0, "abc", 3, NULL), PP_OK);
  for (int i = 0; i < 3; i++) CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), 0);
  // it has a request, so it is not idle
  be_idle(&x, 0);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), 0);
  answer(&x.workers[0]);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), 1);
  // as if there were no request
  CHECK_EQ(pp_pool_request(pool, 0, "abc", 3, NULL), PP_OK);
  atomic_fetch_sub(&x.board->mailboxes[0].request, 1);
  be_idle(&x, 0);
  atomic_fetch_add(&x.board->mailboxes[0].request, 1);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, NULL), 0);
  atomic_fetch_sub(&x.board->mailboxes[0].request, 1);
  be_idle(&x, 0);
  atomic_fetch_add(&x.board->mailboxes[0].request, 1);
  CHECK_EQ(pp_pool_answer(pool, 0, 0, &bytes, &size, &x.w.c.error), PP_ERR_BROKEN);
  check_broken(&x);
  close_wild(&x);
}

TEST(a_worker_death_without_free_rows_breaks_the_pool) {
  int32_t affected[4];
  wild x;
  open_wild(&x, 4, 2, 1);
  test_pool_send(&x.w, NULL, 4, 0);
  for (int32_t i = 0; i < 4; i++) atomic_store(&x.board->rows[i], UINT64_MAX - (uint64_t)i);
  CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 0, PP_DEATH_REPEAT, affected, &x.w.c.error), 4);
  CHECK_EQ(client_try(&x.w.c, 0), PP_ERR_BROKEN);
  check_broken(&x);
  close_wild(&x);
}

/* A dead worker may have noted any number as its place, also the place of another row. */
TEST(row_notes_of_a_dead_worker_are_not_trusted) {
  const int32_t notes[] = {-1, 0, 1, 4, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 6; i++) {
    for (int32_t batch_size = 2; batch_size <= 4; batch_size += 2) {
      int32_t affected[4], ids[4], seen[4] = {0};
      wild x;
      open_wild(&x, 4, batch_size, 2);
      test_pool_send(&x.w, NULL, 4, 0);
      work_all(&x);
      atomic_store(&x.board->envs[3].state, PP_ENV_RUNNING);
      x.board->envs[3].place = notes[i];
      x.board->envs[2].place = notes[i];
      CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 1, PP_DEATH_REPEAT, affected, &x.w.c.error), 1);
      CHECK_EQ(affected[0], 3);
      for (int32_t rows = 0; rows < 4; rows += batch_size) {
        CHECK_EQ(client_try(&x.w.c, 0), batch_size);
        memcpy(ids, column(&x.w.c, "env_id"), sizeof(*ids) * (size_t)batch_size);
        for (int32_t row = 0; row < batch_size; row++) {
          int64_t turn = ((int64_t *)column(&x.w.c, "obs"))[4 * row + 1];
          CHECK_EQ(seen[ids[row]]++, 0);
          // the row of environment 3 repeats its saved row: the worker had come that far
          CHECK_EQ(turn, 1);
          CHECK_EQ(((uint8_t *)column(&x.w.c, "truncated"))[row], ids[row] == 3);
        }
      }
      close_wild(&x);
    }
  }
}

/* The parent keeps the payload of a reset for the next worker. */
TEST(payloads_of_resets_are_not_lost_with_a_worker) {
  int32_t affected[2];
  int64_t size;
  wild x;
  open_wild(&x, 2, 2, 1);
  test_pool_payload(&x.w, 1, 50);
  test_pool_send(&x.w, NULL, 2, 1);
  CHECK_EQ(pp_worker_take(x.workers[0].worker, 0), 2);
  x.board->envs[1].payload = (pp_message){INT64_C(1) << 40, 7};
  x.board->envs[1].command = 99;
  x.board->envs[1].place = 77;
  CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 0, PP_DEATH_REPEAT, affected, NULL), 0);
  CHECK_EQ(pp_worker_take(x.workers[0].worker, 0), 2);
  const pp_turns *turns = pp_worker_turns(x.workers[0].worker);
  CHECK_EQ(turns->env_ids[1], 1);
  CHECK_EQ(turns->command[1], PP_COMMAND_RESET);
  CHECK_EQ(turns->rows[1], 1);
  const void *payload = pp_worker_payload(x.workers[0].worker, 1, &size);
  CHECK(size == 50 && is_filled(payload, size, 1 + 50));
  close_wild(&x);
}

/* Each side has copies of what the head says, and does not read it again. */
TEST(the_head_of_the_board_may_be_overwritten) {
  wild x;
  int32_t affected[2];
  open_wild(&x, 4, 4, 2);
  memset(x.board->head, 0xa5, offsetof(pp_board_head, caller));
  for (int32_t i = 0; i < 3; i++) {
    send_and_work(&x);
    CHECK_EQ(client_try(&x.w.c, 0), 4);
  }
  test_pool_send(&x.w, NULL, 4, 0);
  CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 0, PP_DEATH_REPEAT, affected, NULL), 2);
  CHECK_EQ(pp_pool_worker_died(x.w.c.pool, 1, PP_DEATH_FAIL, affected, NULL), 2);
  CHECK_EQ(client_try(&x.w.c, 0), PP_ERR_ENV);
  close_wild(&x);
}
