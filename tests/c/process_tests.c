/* What tests of pools with worker processes share: workers that are forked children with a small
 * loop over pp_worker.h, and a caller that knows what every row must be. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include "process_tests.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* kills a test that hangs, and with it the workers, which wait for its pool */
__attribute__((constructor)) static void limit_time(void) {
  alarm(240);
}

/* ----------------------------------------------------------------------- what rows show -- */

static int64_t reward_of(int64_t action, int64_t turn) {
  return action % 1000 + turn;
}

static int is_end(int64_t turn) {
  return turn % 7 == 0;
}

/* steps of some actions fail */
static int is_bad(const test_pool *w, int64_t action, int32_t is_reset) {
  return w->fails && !is_reset && action % 5 == 0;
}

/* size of the reply to a turn in bytes, 0: none */
static int64_t reply_size(int64_t action) {
  return action % 3 ? 0 : 1 + action % MAX_REPLY;
}

void fill(uint8_t *bytes, int64_t size, int64_t key) {
  for (int64_t i = 0; i < size; i++) bytes[i] = (uint8_t)(key + i * 7);
}

int is_filled(const uint8_t *bytes, int64_t size, int64_t key) {
  for (int64_t i = 0; i < size; i++) {
    if (bytes[i] != (uint8_t)(key + i * 7)) return 0;
  }
  return 1;
}

/* -------------------------------------------------------------------------------- workers -- */

static void *field_at(const test_worker *h, int32_t turn, int32_t field) {
  const pp_turns *turns = pp_worker_turns(h->worker);
  const pp_column *column = &h->pool->c.columns[field];
  if (turns->blocks[turn] == PP_STAGED) {
    return (char *)pp_worker_staged(h->worker, field, 0) + column->row_bytes * turns->rows[turn];
  }
  return (char *)pp_worker_block(h->worker, turns->blocks[turn]) + column->offset +
         column->row_bytes * turns->rows[turn];
}

/* replies to a payload with its own bytes; without one, to some actions with bytes */
static void reply(test_worker *h, int32_t turn, int64_t action) {
  uint8_t bytes[MAX_REPLY];
  int64_t size;
  const void *payload = pp_worker_payload(h->worker, turn, &size);
  if (!payload) {
    size = reply_size(action);
    fill(bytes, size, action);
    payload = bytes;
  }
  if (size && pp_worker_reply(h->worker, turn, payload, size, NULL) < 0) _exit(4);
}

/* answers a PP_COMMAND_RESTART: the environment died with another worker, and begins anew */
static void report_restart(test_worker *h, int32_t turn, int32_t i) {
  pp_turns *turns = pp_worker_turns(h->worker);
  pp_worker_repeat_last(h->worker, turn, 0);
  turns->truncated[turn] = 1;
  turns->rewards[turn] = 0;
  h->is_ended[i] = 1;
}

void take_turn(test_worker *h, int32_t turn) {
  pp_turns *turns = pp_worker_turns(h->worker);
  int32_t env_id = turns->env_ids[turn], i = env_id - pp_worker_first_env(h->worker);
  int64_t bytes, action, *obs;
  memcpy(&action, (char *)pp_worker_actions(h->worker, &bytes) + 8 * i, sizeof(action));
  *pp_worker_current_env(h->worker) = env_id;
  if (turns->command[turn] == PP_COMMAND_RESTART) {
    report_restart(h, turn, i);
    return;
  }
  h->turns[i]++;
  reply(h, turn, action);
  obs = field_at(h, turn, 0);
  obs[0] = env_id;
  obs[1] = *(int64_t *)field_at(h, turn, 1) = h->turns[i];
  obs[2] = action;
  obs[3] = h->number;
  turns->failed[turn] = (uint8_t)is_bad(h->pool, action, turns->command[turn] == PP_COMMAND_RESET);
  turns->kinds[turn] =
      h->is_ended[i] || turns->command[turn] == PP_COMMAND_RESET ? PP_TURN_RESET : PP_TURN_STEP;
  turns->rewards[turn] = (double)reward_of(action, h->turns[i]);
  turns->terminated[turn] = (uint8_t)is_end(h->turns[i]);
  h->is_ended[i] = turns->failed[turn] || turns->terminated[turn];
}

void answer(test_worker *h) {
  int64_t size;
  const void *bytes = pp_worker_request(h->worker, &size);
  if (bytes && pp_worker_answer(h->worker, bytes, size, NULL) < 0) _exit(4);
}

void work(const test_pool *w, pp_worker *worker, int64_t number) {
  test_worker h = {.pool = w, .worker = worker, .number = number};
  int32_t count;
  for (int32_t i = 0; i < MAX_ENVS; i++) h.is_ended[i] = 1;
  while ((count = pp_worker_take(worker, SECOND)) >= 0) {
    if (!count) answer(&h);
    for (int32_t first = 0; first < count; first += w->chunk) {
      int32_t some = count - first < w->chunk ? count - first : w->chunk;
      for (int32_t i = first; i < first + some; i++) take_turn(&h, i);
      *pp_worker_current_env(worker) = -1;
      pp_worker_deliver(worker, first, some);
    }
  }
}

static void work_as_child(const test_pool *w, int32_t lane) {
  const pp_pool *pool = w->c.pool;
  pp_worker *worker;
  if (pp_worker_open(pp_pool_memory_fd(pool), pp_pool_reserve(pool), pp_pool_reply_fd(pool, lane),
                     lane, &worker, NULL) < 0) {
    _exit(3);
  }
  work(w, worker, w->started[lane]);
  pp_worker_close(worker);
  _exit(0);
}

/* --------------------------------------------------------------------------- the caller -- */

static int32_t lane_of(const test_pool *w, int32_t env_id) {
  return pp_pool_lane_of(w->c.pool, env_id);
}

test_pool test_pool_open(int32_t num_envs, int32_t batch_size, int32_t num_lanes,
                         int32_t autoreset) {
  test_pool w = {.num_lanes = num_lanes, .chunk = MAX_ENVS};
  client *c = &w.c;
  pp_config config = {.num_players = 1, .num_fields = 2};
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_INT64, .ndim = 1, .shape = {4}};
  config.fields[1] = (pp_field){.name = "mark", .dtype = PP_INT64};
  config.action = (pp_field){.name = "action", .dtype = PP_UINT8, .ndim = 1, .shape = {8}};
  c->options = (pp_pool_options){.num_envs = num_envs,
                                 .batch_size = batch_size,
                                 .thread_affinity_offset = -1,
                                 .autoreset = autoreset,
                                 .max_episode_steps = -1,
                                 .reward_dtype = PP_FLOAT64};
  CHECK_EQ(pp_pool_create_processes(&config, &c->options, num_lanes, 1, NULL, &c->pool, &c->error),
           PP_OK);
  c->columns = pp_pool_columns(c->pool, &c->num_columns);
  c->size = pp_batch_size(c->pool);
  c->capacity = pp_pool_batches(c->pool);
  for (int32_t i = 0; i < c->capacity; i++) {
    c->given[i] = pp_batch_alloc(c->pool);
    CHECK_EQ(pp_pool_offer(c->pool, c->given[i], &c->error), PP_OK);
  }
  c->fresh = pp_batch_alloc(c->pool);
  for (int32_t i = 0; i < num_envs; i++) w.envs[i] = (record){.lost = NOT_LOST, .is_ended = 1};
  return w;
}

/* expects the environment's next turn to be the first one of a new worker */
static void begin(test_pool *w, int32_t env_id) {
  record *r = &w->envs[env_id];
  r->turns = 0;
  r->is_ended = 1;
  r->number = w->started[lane_of(w, env_id)];
  r->is_late = 0;
}

void test_pool_expect(test_pool *w, int32_t lane) {
  int32_t first, count;
  w->started[lane]++;
  pp_pool_lane_envs(w->c.pool, lane, &first, &count);
  for (int32_t i = first; i < first + count; i++) {
    if (!w->envs[i].is_late) begin(w, i);
  }
}

void test_pool_start(test_pool *w, int32_t lane, void (*in_child)(void)) {
  test_pool_expect(w, lane);
  w->pids[lane] = fork();
  if (w->pids[lane] == 0) {
    // it must not outlive the test, whose output it holds open
    alarm(240);
    if (in_child) in_child();
    work_as_child(w, lane);
  }
  CHECK(w->pids[lane] > 0);
}

void test_pool_start_all(test_pool *w) {
  for (int32_t i = 0; i < w->num_lanes; i++) test_pool_start(w, i, NULL);
}

void test_pool_stop(test_pool *w, int32_t lane) {
  int status = 0;
  kill(w->pids[lane], SIGSTOP);
  CHECK_EQ(waitpid(w->pids[lane], &status, WUNTRACED), w->pids[lane]);
  CHECK(WIFSTOPPED(status));
}

void test_pool_close(test_pool *w) {
  pp_stats stats;
  pp_pool_stats(w->c.pool, &stats);
  CHECK_EQ(stats.env_steps, w->rows);
  pp_pool_close(w->c.pool, -1);
  for (int32_t i = 0; i < w->num_lanes; i++) {
    int how = -1;
    if (!w->pids[i]) continue;
    CHECK_EQ(waitpid(w->pids[i], &how, 0), w->pids[i]);
    CHECK_EQ(how, 0);
  }
  client_close(&w->c);
}

/* the next action of an environment */
static int64_t next_action(test_pool *w, int32_t env_id) {
  record *r = &w->envs[env_id];
  return r->action = 1 + some_action(env_id, r->sends++, INT64_C(1) << 40);
}

void test_pool_payload(test_pool *w, int32_t env_id, int64_t size) {
  uint8_t bytes[MAX_REPLY];
  fill(bytes, size, env_id + size);
  CHECK_EQ(pp_pool_set_payload(w->c.pool, env_id, bytes, size, &w->c.error), PP_OK);
  w->envs[env_id].payload_size = size;
}

int32_t test_pool_send(test_pool *w, const int32_t *ids, int32_t count, int32_t is_reset) {
  int64_t actions[MAX_ENVS] = {0};
  int status;
  if (is_reset) {
    status = pp_pool_send_reset(w->c.pool, ids, count, NULL, NULL, NULL, &w->c.error);
  } else {
    for (int32_t i = 0; i < count; i++) actions[i] = next_action(w, ids ? ids[i] : i);
    status = pp_pool_send(w->c.pool, ids, count, actions, PP_UINT8, &w->c.error);
  }
  CHECK_EQ(status, PP_OK);
  for (int32_t i = 0; i < count; i++) {
    record *r = &w->envs[ids ? ids[i] : i];
    r->is_in_flight = 1;
    r->lost = NOT_LOST;
    r->is_reset = is_reset;
    r->is_ended |= is_reset;
  }
  return status;
}

/* checks a row that no worker has written */
static void check_lost(test_pool *w, int32_t row, int32_t env_id, int32_t has_failed) {
  record *r = &w->envs[env_id];
  const int64_t *obs = (int64_t *)column(&w->c, "obs") + 4 * row;
  const int64_t *mark = (int64_t *)column(&w->c, "mark") + row, zeros[4] = {0};
  int64_t size;
  CHECK_EQ(has_failed, r->lost == PP_DEATH_FAIL || r->lost == PP_DEATH_REPLACE);
  CHECK_EQ(((uint8_t *)column(&w->c, "truncated"))[row], !has_failed);
  CHECK_EQ(((uint8_t *)column(&w->c, "terminated"))[row], 0);
  CHECK(((double *)column(&w->c, "reward"))[row] == 0);
  if (has_failed) {
    CHECK(memcmp(obs, zeros, sizeof(zeros)) == 0);
  } else if (memcmp(obs, r->shown, sizeof(r->shown)) != 0) {
    // the worker may have died after it saved the row that it was about to write
    CHECK_EQ(obs[0], env_id);
    CHECK_EQ(obs[2], r->action);
  }
  CHECK_EQ(*mark, obs[1]);
  pp_pool_reply(w->c.pool, env_id, &size);
  CHECK_EQ(size, r->lost == PP_DEATH_REQUEUE ? 0 : -1);
  r->payload_size = 0;
  r->elapsed = ((int32_t *)column(&w->c, "elapsed_step"))[row];
  r->is_ended = 1;
  if (!has_failed) memcpy(r->shown, obs, sizeof(r->shown));
}

/* checks that the reply is the payload, or without one what the action asks for */
static void check_reply(test_pool *w, int32_t env_id) {
  record *r = &w->envs[env_id];
  int64_t size, key = r->payload_size ? env_id + r->payload_size : r->action;
  const void *bytes = pp_pool_reply(w->c.pool, env_id, &size);
  CHECK_EQ(size, r->payload_size ? r->payload_size : reply_size(r->action));
  if (size > 0) CHECK(is_filled(bytes, size, key));
  r->payload_size = 0;
}

/* checks a row that a worker has written */
static void check_shown(test_pool *w, int32_t row, int32_t env_id) {
  record *r = &w->envs[env_id];
  const int64_t *obs = (int64_t *)column(&w->c, "obs") + 4 * row;
  const int64_t expected[4] = {env_id, r->turns, r->action, r->number};
  CHECK(memcmp(obs, expected, sizeof(expected)) == 0);
  CHECK_EQ(((int64_t *)column(&w->c, "mark"))[row], r->turns);
  CHECK(((double *)column(&w->c, "reward"))[row] == (double)reward_of(r->action, r->turns));
  CHECK_EQ(((uint8_t *)column(&w->c, "terminated"))[row], is_end(r->turns));
  CHECK_EQ(((uint8_t *)column(&w->c, "truncated"))[row], 0);
  CHECK_EQ(((int32_t *)column(&w->c, "elapsed_step"))[row], r->elapsed);
  memcpy(r->shown, obs, sizeof(r->shown));
}

/* A reset that was in flight when its worker died may have been done by that worker or by its
 * successor: the row's number says by which. */
static void find_author(test_pool *w, int32_t env_id, int64_t number) {
  record *r = &w->envs[env_id];
  int64_t latest = w->started[lane_of(w, env_id)];
  if (number == r->number) return;
  CHECK(number > r->number && number <= latest);
  r->turns = 0;
  r->number = number;
  r->is_late = number < latest;
}

static void check_row(test_pool *w, int32_t row, int32_t env_id, int32_t has_failed) {
  record *r = &w->envs[env_id];
  const int64_t *obs = (int64_t *)column(&w->c, "obs") + 4 * row;
  if (r->is_late && r->is_reset) find_author(w, env_id, obs[3]);
  r->turns++;
  r->elapsed = has_failed ? r->elapsed : r->is_ended ? 0 : r->elapsed + 1;
  r->is_ended = has_failed || is_end(r->turns);
  check_reply(w, env_id);
  CHECK_EQ(has_failed, is_bad(w, r->action, r->is_reset));
  if (has_failed) {
    CHECK_EQ(obs[1], 0);
  } else {
    check_shown(w, row, env_id);
  }
  if (r->is_late) begin(w, env_id);
}

int32_t test_pool_try(test_pool *w, int32_t *ids, int64_t timeout) {
  int32_t rows = client_try(&w->c, timeout), count = 0, failures[MAX_ENVS] = {0};
  if (rows == 0) return 0;
  if (rows == PP_ERR_ENV) {
    const int32_t *failed = pp_pool_failed(w->c.pool, &count, &rows);
    CHECK(count > 0);
    for (int32_t i = 0; i < count; i++) failures[failed[i]]++;
  }
  if (!CHECK(rows > 0 && rows <= w->c.options.batch_size)) {
    printf("%s\n", w->c.error.text);
    return rows;
  }
  CHECK(rows >= w->c.min_rows);
  if (w->c.min_rows) check_cleared(&w->c, rows);
  w->rows += rows;
  memcpy(ids, column(&w->c, "env_id"), sizeof(*ids) * (size_t)rows);
  for (int32_t row = 0; row < rows; row++) {
    record *r = &w->envs[ids[row]];
    CHECK(r->is_in_flight);
    r->is_in_flight = 0;
    count -= failures[ids[row]];
    if (r->lost == NOT_LOST) {
      check_row(w, row, ids[row], failures[ids[row]]);
    } else {
      check_lost(w, row, ids[row], failures[ids[row]]);
    }
    r->lost = NOT_LOST;
  }
  // each environment that failed is in this batch once
  CHECK_EQ(count, 0);
  return rows;
}

int32_t test_pool_recv(test_pool *w, int32_t *ids) {
  int32_t rows;
  do rows = test_pool_try(w, ids, -1);
  while (rows == 0);
  return rows;
}

int32_t test_pool_after_death(test_pool *w, int32_t lane, int32_t how) {
  int32_t affected[MAX_ENVS], count, first, num_envs;
  int end = 0;
  CHECK_EQ(waitpid(w->pids[lane], &end, 0), w->pids[lane]);
  CHECK(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL);
  w->pids[lane] = 0;
  count = pp_pool_worker_died(w->c.pool, lane, how, affected, &w->c.error);
  CHECK(count >= 0);
  pp_pool_lane_envs(w->c.pool, lane, &first, &num_envs);
  for (int32_t i = first; i < first + num_envs; i++) {
    w->envs[i].is_late = w->envs[i].is_in_flight && w->envs[i].lost == NOT_LOST;
  }
  for (int32_t i = 0; i < count; i++) {
    CHECK(w->envs[affected[i]].is_in_flight);
    w->envs[affected[i]].lost = how;
    w->envs[affected[i]].is_late = 0;
  }
  return count;
}
