/* Worker wait: which worker may spin, and how a wait ends. There are no worker processes here: this
 * thread waits in the place of one, and the board says what the others do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "processes/worker_wait.c"

enum { LANES = 3 };

static const int64_t SECOND = 1000000000;

/* kills a test that hangs */
__attribute__((constructor)) static void limit_time(void) {
  alarm(240);
}

/* Binds this thread to the core that it is on. Returns the number of the core. */
static int32_t stay(void) {
  int32_t here = pp_os_current_cpu();
  CHECK_EQ(pp_os_thread_bind(&here, 1), PP_OK);
  return here;
}

/* three lanes of one environment each, this many cores, no worker awake */
static pp_board make_board(int32_t cores) {
  pp_board_shape shape = {.num_envs = LANES,
                          .num_lanes = LANES,
                          .batch_size = LANES,
                          .capacity = 2,
                          .is_ordered = 1,
                          .cores = cores,
                          .reply_reserve = 1 << 20};
  pp_config config = {.num_players = 1, .num_fields = 1};
  pp_pool_options options = {.reward_dtype = PP_FLOAT64};
  pp_layout layout;
  pp_board board;
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_INT64};
  CHECK_EQ(pp_layout_init(&layout, &config, &options, LANES, NULL), PP_OK);
  size_t size = (size_t)(pp_board_size(&shape, &layout) + 63) / 64 * 64;
  void *memory = aligned_alloc(64, size);
  memset(memory, 0, size);
  pp_board_init(&board, memory, &shape, &layout);
  return board;
}

static void push(pp_board *board, int32_t lane) {
  pp_entry entry = PP_ENTRY(lane, lane, 1);
  pp_board_push(board, lane, &entry, 1);
}

static void take(pp_board *board, int32_t lane) {
  pp_entry entry;
  CHECK_EQ(pp_board_take(board, lane, &entry, 1), 1);
}

/* Returns whether a worker may spin while this many are awake. is_callers: the caller has sent from
 * this core. */
static int spins(int32_t cores, int32_t awake, int32_t is_callers, int32_t long_waits) {
  pp_board board = make_board(cores);
  pp_wait_history history = {.long_waits = long_waits};
  int is_allowed;
  for (int32_t i = 0; i < awake; i++) board.mailboxes[i].is_awake = 1;
  board.head->sent_from = is_callers ? stay() : stay() + 1;
  is_allowed = may_spin(&(waiter){&history, &board, 0});
  free(board.base);
  return is_allowed;
}

TEST(a_spinning_worker_takes_no_core_from_others) {
  for (int32_t long_waits = 0; long_waits <= MAX_LONG_WAITS; long_waits++) {
    for (int32_t is_callers = 0; is_callers < 2; is_callers++) {
      // a core is left, wherever the system puts the caller
      CHECK(spins(3, 1, is_callers, long_waits));
      CHECK(spins(4, 2, is_callers, long_waits));
      // more are awake than there are cores
      CHECK(!spins(1, 2, is_callers, long_waits));
      CHECK(!spins(2, 3, is_callers, long_waits));
    }
    // the caller has a core if it does not continue on this one, or if another worker gives one up
    for (int32_t awake = 1; awake < 3; awake++) {
      CHECK_EQ(spins(2, awake, 0, long_waits), long_waits < MAX_LONG_WAITS);
      CHECK(!spins(2, awake, 1, long_waits));
    }
    CHECK_EQ(spins(3, 3, 0, long_waits), long_waits < MAX_LONG_WAITS);
    CHECK(!spins(3, 3, 1, long_waits));
  }
}

TEST(turns_of_other_workers_are_seen_until_they_are_taken) {
  pp_board board = make_board(2);
  CHECK(!others_have_turns(&board, 0));
  push(&board, 0);
  CHECK(!others_have_turns(&board, 0));
  CHECK(others_have_turns(&board, 1));
  push(&board, 2);
  take(&board, 0);
  CHECK(others_have_turns(&board, 1));
  CHECK(!others_have_turns(&board, 2));
  free(board.base);
}

TEST(a_wait_ends_when_there_is_a_reason_or_time_is_up) {
  pp_board board = make_board(1);
  pp_wait_history history = {0};
  int64_t start = pp_os_now();
  pp_worker_wait(&history, &board, 0, 3000000);
  CHECK(pp_os_now() - start >= 3000000);
  CHECK(!pp_mailbox_has_any(&board.mailboxes[0]));
  push(&board, 0);
  pp_worker_wait(&history, &board, 0, 100 * SECOND);
  take(&board, 0);
  board.mailboxes[0].request = 1;
  pp_worker_wait(&history, &board, 0, 100 * SECOND);
  CHECK(pp_mailbox_has_request(&board.mailboxes[0]) && !pp_mailbox_is_closing(&board.mailboxes[0]));
  board.mailboxes[0].answered = 1;
  board.mailboxes[0].is_closing = 1;
  pp_worker_wait(&history, &board, 0, 100 * SECOND);
  CHECK(pp_mailbox_is_closing(&board.mailboxes[0]) && !pp_mailbox_has_turns(&board.mailboxes[0]));
  // none of these was a wait for a send
  CHECK_EQ(history.long_waits, 0);
  CHECK_EQ(pp_mailbox_has_any(&board.mailboxes[1]), 0);
  free(board.base);
}

/* sends to lane 0 once its worker sleeps; sent_at replaces the time of the send, unless it is 0 */
typedef struct sender {
  pp_board *board;
  int64_t sent_at;
} sender;

static void *send_to_sleeper(void *arg) {
  sender *self = arg;
  while (!self->board->mailboxes[0].gate.waits) pp_os_yield();
  pp_board_note_send(self->board);
  CHECK(self->board->head->sent_at <= pp_os_now());
  if (self->sent_at) self->board->head->sent_at = self->sent_at;
  push(self->board, 0);
  pp_board_wake(self->board, 0);
  return NULL;
}

/* waits on one core, where no worker spins, until a send at this time, 0: now */
static void wait_for_send(pp_board *board, pp_wait_history *history, int64_t sent_at) {
  sender self = {board, sent_at};
  pthread_t thread;
  board->mailboxes[0].gate.waits = 0;
  CHECK_EQ(pthread_create(&thread, NULL, send_to_sleeper, &self), 0);
  pp_worker_wait(history, board, 0, 50 * SECOND);
  pthread_join(thread, NULL);
  take(board, 0);
}

TEST(waits_longer_than_a_spin_are_counted_up_to_two) {
  pp_board board = make_board(1);
  pp_wait_history history = {0};
  for (int i = 1; i < 5; i++) {
    wait_for_send(&board, &history, pp_os_now() + 100 * SECOND);
    CHECK_EQ(history.long_waits, i < MAX_LONG_WAITS ? i : MAX_LONG_WAITS);
  }
  wait_for_send(&board, &history, 1);
  CHECK_EQ(history.long_waits, 0);
  // any time may be on the board
  wait_for_send(&board, &history, INT64_MIN);
  wait_for_send(&board, &history, INT64_MAX);
  wait_for_send(&board, &history, 0);
  CHECK_EQ(board.mailboxes[0].gate.waits, 1);
  free(board.base);
}

/* a thread that sleeps at the caller's gate */
static void *sleep_as_caller(void *arg) {
  pp_gate *gate = arg;
  uint32_t epoch = pp_gate_enter(gate);
  pp_gate_sleep(gate, epoch, 50 * SECOND);
  pp_gate_leave(gate);
  return NULL;
}

/* Returns whether a worker wakes the caller when it goes to sleep, while two workers are awake on
 * two cores. is_callers: it is on the caller's core. */
static int wakes_caller(int32_t is_callers) {
  pp_board board = make_board(2);
  int64_t wakes;
  pthread_t thread;
  board.mailboxes[0].is_awake = board.mailboxes[1].is_awake = 1;
  board.head->sent_from = is_callers ? stay() : stay() + 1;
  CHECK_EQ(pthread_create(&thread, NULL, sleep_as_caller, &board.head->caller), 0);
  while (!board.head->caller.waits) pp_os_yield();
  sleep_until_work(&board, 0, 1);
  wakes = board.head->caller.wakes;
  pp_board_wake_caller(&board);
  pthread_join(thread, NULL);
  free(board.base);
  return wakes > 0;
}

TEST(a_worker_that_gives_up_the_callers_core_wakes_the_caller) {
  CHECK(wakes_caller(1));
  CHECK(!wakes_caller(0));
}
