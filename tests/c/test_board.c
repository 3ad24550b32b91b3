/* The board: its tables, its mailboxes, and how rows are claimed and counted. Threads take the
 * place of worker processes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "os/os.h"
#include "processes/mailbox.h"
#include "processes/rows.h"
#include "processes/worker_death.h"

enum { MAX_ENVS = 32, MAX_LANES = 4, MAX_SLOTS = 40, MANY = INT32_MAX };

static const int64_t SECOND = 1000000000;

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 1500 };
#else
enum { ROUNDS = 12000 };
#endif

/* kills a test that hangs */
__attribute__((constructor)) static void limit_time(void) {
  alarm(240);
}

/* ------------------------------------------------------------------------------ a small pool -- */

/* a board with its blocks, in memory of this process alone */
typedef struct test_board {
  pp_board board;
  pp_board_shape shape;
  pp_layout layout;
  char *memory;
  int64_t blocks;  /* offset of the first block */
  int64_t claimed; /* unordered: sequence of the block received next */
} test_board;

static void make_layout(pp_layout *layout, int32_t rows) {
  pp_config config = {.num_players = 1, .num_fields = 2};
  pp_pool_options options = {.reward_dtype = PP_FLOAT64, .autoreset = PP_SAME_STEP};
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_INT64, .ndim = 1, .shape = {2}};
  config.fields[1] = (pp_field){.name = "pixel", .dtype = PP_UINT8};
  CHECK_EQ(pp_layout_init(layout, &config, &options, rows, NULL), PP_OK);
}

/* capacity 0: that of the ring of a pool with these environments */
static test_board open_board(int32_t envs, int32_t lanes, int32_t batch_size, int32_t capacity) {
  test_board t = {.shape = {.num_envs = envs,
                            .num_lanes = lanes,
                            .batch_size = batch_size,
                            .capacity = capacity,
                            .is_ordered = batch_size == envs,
                            .cores = 1,
                            .action_bytes = 24,
                            .reply_reserve = 1 << 20,
                            .saves_rows = 1}};
  if (!capacity) t.shape.capacity = (envs - 1) / batch_size + 1 + t.shape.is_ordered;
  make_layout(&t.layout, batch_size);
  t.blocks = (pp_board_size(&t.shape, &t.layout) + 63) / 64 * 64;
  int64_t size = t.blocks + t.shape.capacity * t.layout.size;
  t.memory = aligned_alloc(64, (size_t)size);
  memset(t.memory, 0, (size_t)size);
  pp_board_init(&t.board, t.memory, &t.shape, &t.layout);
  return t;
}

static void close_board(test_board *t) {
  free(t->memory);
}

static void prepare(test_board *t, int64_t sequence) {
  pp_board_prepare_slot(&t->board, sequence,
                        t->blocks + sequence % t->shape.capacity * t->layout.size);
}

/* makes the ring as if all blocks before a sequence had been filled and received */
static void begin_at(test_board *t, int64_t sequence) {
  t->claimed = sequence;
  for (int32_t i = 0; i < t->shape.capacity; i++) prepare(t, sequence + i);
  atomic_store(&t->board.head->first_free, sequence * t->shape.batch_size);
}

/* returns the block of a place, and its row in that block */
static void *block_of(const test_board *t, int32_t place, int32_t *row) {
  int32_t slot = place / t->shape.batch_size;
  *row = place % t->shape.batch_size;
  return t->memory + t->board.slots[slot].memory;
}

static int64_t *row_at(test_board *t, int32_t place) {
  int32_t row;
  void *memory = block_of(t, place, &row);
  return pp_layout_at(&t->layout, memory, 0, row);
}

static int32_t state_of(const test_board *t, int32_t env_id) {
  return atomic_load(&t->board.envs[env_id].state);
}

/* -------------------------------------------------------------------------------- tables -- */

/* a table: where it begins and its bytes */
typedef struct table {
  const void *start;
  int64_t bytes;
} table;

enum { NUM_TABLES = 9 };

static void list_tables(const test_board *t, table *tables) {
  const pp_board *b = &t->board;
  int64_t envs = t->shape.num_envs, lanes = t->shape.num_lanes, slots = t->shape.capacity;
  int64_t rows = t->shape.is_ordered ? 0 : slots * t->shape.batch_size;
  const table all[NUM_TABLES] = {{b->head, (int64_t)sizeof(*b->head)},
                                 {b->mailboxes, lanes * (int64_t)sizeof(pp_mailbox)},
                                 {b->entries, lanes * (int64_t)(b->mailbox_size * 8)},
                                 {b->envs, envs * (int64_t)sizeof(pp_board_env)},
                                 {b->slots, slots * (int64_t)sizeof(pp_board_slot)},
                                 {b->rows_done, slots * lanes * 4},
                                 {b->rows, rows * 8},
                                 {b->actions, envs * t->shape.action_bytes},
                                 {b->saved, envs * 2 * b->saved_bytes}};
  memcpy(tables, all, sizeof(all));
}

static void check_tables(int32_t envs, int32_t lanes, int32_t batch_size) {
  test_board t = open_board(envs, lanes, batch_size, 0);
  table tables[NUM_TABLES];
  int64_t end = 0;
  list_tables(&t, tables);
  for (int i = 0; i < NUM_TABLES; i++) {
    int64_t start = (const char *)tables[i].start - t.memory;
    CHECK_EQ(start % 64, 0);
    CHECK(start >= end);
    end = start + tables[i].bytes;
  }
  CHECK(t.board.head->size >= end);
  CHECK_EQ(t.board.head->size, pp_board_size(&t.shape, &t.layout));
  // room for all environments of a lane, and not for many more
  uint64_t most = (uint64_t)((envs + lanes - 1) / lanes), box = t.board.mailbox_size;
  CHECK(box >= most && (box & (box - 1)) == 0 && (box == 16 || box < 2 * most));
  CHECK(t.board.saved_bytes >= 2 * 8 + 1);
  close_board(&t);
}

TEST(tables_lie_apart_and_on_lines_of_their_own) {
  check_tables(1, 1, 1);
  check_tables(17, 4, 17);
  check_tables(17, 3, 5);
  check_tables(100, 7, 1);
  check_tables(100, 3, 100);
  check_tables(1000, 1000, 1000);
  CHECK_EQ(sizeof(pp_board_env), 64);
}

TEST(a_worker_finds_the_same_tables) {
  test_board t = open_board(5, 2, 3, 0);
  pp_board other = {0};
  CHECK_EQ(pp_board_attach(&other, t.memory, t.blocks), PP_OK);
  CHECK(memcmp(&other, &t.board, sizeof(other)) == 0);
  close_board(&t);
}

/* A worker refuses a board that it would lay out in another way than its parent. */
TEST(a_worker_of_another_build_finds_no_board) {
  test_board t = open_board(5, 2, 3, 0);
  pp_board other = {0};
  pp_board_head *head = t.board.head, right = *head;
  CHECK_EQ(pp_board_attach(&other, t.memory, 8), PP_ERR_ABI);
  CHECK_EQ(pp_board_attach(&other, t.memory, right.size - 1), PP_ERR_ABI);
  for (int i = 0; i < 10; i++) {
    head->magic += i == 0;
    head->size += i == 1 ? 64 : 0;
    if (i == 2) head->shape.num_envs = 6;
    if (i == 3) head->shape.num_lanes = 0;
    if (i == 4) head->shape.batch_size = 0;
    if (i == 5) head->layout.num_fields = -1;
    if (i == 6) head->layout.count = PP_MAX_COLUMNS + 1;
    if (i == 7) head->shape.num_envs = INT32_MAX;
    if (i == 8) head->shape.reply_reserve = 0;
    if (i == 9) head->shape.reply_reserve = INT64_MAX;
    CHECK_EQ(pp_board_attach(&other, t.memory, t.blocks), PP_ERR_ABI);
    memcpy(head, &right, sizeof(right));
  }
  CHECK_EQ(pp_board_attach(&other, t.memory, t.blocks), PP_OK);
  close_board(&t);
}

TEST(lanes_share_environments_out_evenly) {
  for (int32_t envs = 1; envs <= 20; envs++) {
    for (int32_t lanes = 1; lanes <= envs; lanes++) {
      test_board t = open_board(envs, lanes, envs, 0);
      int32_t next = 0, first, count;
      for (int32_t i = 0; i < lanes; i++) {
        pp_board_lane_envs(&t.board, i, &first, &count);
        CHECK_EQ(first, next);
        CHECK(count == envs / lanes || count == envs / lanes + 1);
        next += count;
      }
      CHECK_EQ(next, envs);
      close_board(&t);
    }
  }
}

/* ------------------------------------------------------------------------------ mailboxes -- */

static void push_one(test_board *t, int32_t lane, int32_t env_id, int32_t place) {
  pp_entry entry = PP_ENTRY(place, env_id, 1);
  pp_board_push(&t->board, lane, &entry, 1);
}

TEST(entries_are_taken_in_order_across_the_end_of_the_mailbox) {
  test_board t = open_board(7, 1, 7, 0);
  pp_entry taken[7];
  int32_t pushed = 0, seen = 0;
  // 16 fit, so that pushes of 5 cross the end at every position
  CHECK_EQ(t.board.mailbox_size, 16);
  for (int32_t round = 0; round < 64; round++) {
    for (int32_t i = 0; i < 5; i++, pushed++) push_one(&t, 0, pushed % 7, pushed % 14);
    CHECK_EQ(state_of(&t, (pushed - 1) % 7), PP_ENV_QUEUED);
    for (int32_t left = 5; left > 0;) {
      int32_t room = 1 + round % 3, count = pp_board_take(&t.board, 0, taken, room);
      CHECK_EQ(count, left < room ? left : room);
      for (int32_t i = 0; i < count; i++, seen++) {
        CHECK_EQ(PP_ENTRY_ENV(taken[i]), seen % 7);
        CHECK_EQ(PP_ENTRY_PLACE(taken[i]), seen % 14);
        CHECK_EQ(state_of(&t, seen % 7), PP_ENV_RUNNING);
      }
      left -= count;
    }
    CHECK_EQ(pp_board_take(&t.board, 0, taken, 7), 0);
  }
  close_board(&t);
}

TEST(a_push_records_the_place_and_clears_the_reply) {
  test_board t = open_board(4, 2, 4, 0);
  t.board.envs[3].reply = (pp_message){64, 10};
  push_one(&t, 1, 3, 6);
  CHECK_EQ(t.board.envs[3].place, 6);
  CHECK_EQ(t.board.envs[3].reply.size, 0);
  close_board(&t);
}

TEST(clearing_a_mailbox_leaves_nothing_of_its_worker) {
  test_board t = open_board(4, 2, 4, 0);
  pp_mailbox *mailbox = &t.board.mailboxes[1];
  pp_entry taken[4];
  push_one(&t, 1, 2, 0);
  push_one(&t, 1, 3, 1);
  CHECK_EQ(pp_board_take(&t.board, 1, taken, 1), 1);
  atomic_store(&mailbox->current_env, 2);
  atomic_store(&mailbox->request, 5);
  atomic_store(&mailbox->answered, 4);
  mailbox->reply = (pp_message){64, 10};
  pp_gate_enter(&mailbox->gate);
  pp_board_clear_mailbox(&t.board, 1);
  CHECK_EQ(pp_board_take(&t.board, 1, taken, 4), 0);
  CHECK_EQ(atomic_load(&mailbox->current_env), -1);
  CHECK_EQ(atomic_load(&mailbox->answered), 5);
  CHECK_EQ(atomic_load(&mailbox->gate.sleepers), 0);
  // the reply may have been half written
  CHECK(mailbox->reply.size < 0);
  // an answer that was complete stays
  mailbox->reply = (pp_message){64, 10};
  pp_board_clear_mailbox(&t.board, 1);
  CHECK_EQ(mailbox->reply.size, 10);
  close_board(&t);
}

/* ------------------------------------------------------------------------------ ordered rows -- */

TEST(an_ordered_block_is_complete_once_it_is_closed) {
  test_board t = open_board(6, 3, 6, 0);
  for (int64_t sequence = 0; sequence < 5; sequence++) {
    int32_t slot = (int32_t)(sequence % t.shape.capacity);
    prepare(&t, sequence);
    CHECK_EQ(atomic_load(&t.board.slots[slot].target), MANY);
    CHECK_EQ(pp_board_rows_done(&t.board, slot), 0);
    for (int32_t lane = 0; lane < 3; lane++) pp_board_add_rows_done(&t.board, lane, slot, 1 + lane);
    CHECK_EQ(pp_board_rows_done(&t.board, slot), 6);
    CHECK_EQ(pp_board_lane_rows_done(&t.board, slot, 2), 3);
    pp_board_set_target(&t.board, slot, 6);
    CHECK_EQ(atomic_load(&t.board.slots[slot].target), 6);
  }
  close_board(&t);
}

TEST(a_recount_replaces_the_counts_of_one_lane_only) {
  test_board t = open_board(6, 3, 6, 0);
  prepare(&t, 0);
  pp_board_add_rows_done(&t.board, 0, 0, 2);
  pp_board_add_rows_done(&t.board, 1, 0, 1);
  pp_board_set_rows_done(&t.board, 1, 0, 2);
  CHECK_EQ(pp_board_rows_done(&t.board, 0), 4);
  // its successor goes on from there
  pp_board_add_rows_done(&t.board, 1, 0, 1);
  CHECK_EQ(pp_board_rows_done(&t.board, 0), 5);
  CHECK_EQ(pp_board_rows_done(&t.board, 1), 0);
  close_board(&t);
}

/* -------------------------------------------------------------------------------- saved rows -- */

static void fill_row(test_board *t, int32_t place, int64_t value) {
  int32_t row;
  void *memory = block_of(t, place, &row);
  int64_t *obs = pp_layout_at(&t->layout, memory, 0, row);
  obs[0] = value;
  obs[1] = -value;
  *(uint8_t *)pp_layout_at(&t->layout, memory, 1, row) = (uint8_t)value;
}

/* checks that a row has this value; is_final: in its final columns */
static void check_row(test_board *t, int32_t place, int64_t value, int32_t is_final) {
  int32_t row, first = is_final ? t->layout.final_fields : 0;
  void *memory = block_of(t, place, &row);
  int64_t *obs = pp_layout_at(&t->layout, memory, first, row);
  CHECK_EQ(obs[0], value);
  CHECK_EQ(obs[1], -value);
  CHECK_EQ(*(uint8_t *)pp_layout_at(&t->layout, memory, first + 1, row), (uint8_t)value);
}

TEST(the_last_row_of_each_environment_is_saved) {
  test_board t = open_board(4, 2, 4, 0);
  int32_t row;
  prepare(&t, 0);
  prepare(&t, 1);
  for (int64_t turn = 1; turn < 4; turn++) {
    for (int32_t i = 0; i < 4; i++) {
      fill_row(&t, i, 10 * turn + i);
      pp_board_save_row(&t.board, block_of(&t, i, &row), i, i, 5 * turn + i);
    }
    for (int32_t i = 0; i < 4; i++) {
      // into a row of the other block
      void *memory = block_of(&t, 7 - i, &row);
      pp_board_repeat_row(&t.board, &t.board.layout, memory, row, i, 0);
      check_row(&t, 7 - i, 10 * turn + i, 0);
      CHECK_EQ(pp_board_elapsed(&t.board, i), 5 * turn + i);
      pp_board_repeat_row(&t.board, &t.board.layout, memory, row, 3 - i, 1);
      check_row(&t, 7 - i, 10 * turn + 3 - i, 1);
      check_row(&t, 7 - i, 10 * turn + i, 0);
    }
  }
  close_board(&t);
}

/* ------------------------------------------------------------------------------- idleness -- */

static int32_t take_all(test_board *t, int32_t lane) {
  pp_entry taken[MAX_ENVS];
  return pp_board_take(&t->board, lane, taken, MAX_ENVS);
}

TEST(a_worker_is_idle_if_it_finds_nothing_to_do_after_a_probe) {
  test_board t = open_board(4, 2, 4, 0);
  CHECK_EQ(take_all(&t, 0), 0);
  pp_board_probe(&t.board, 0, 1, 1);
  pp_board_probe(&t.board, 1, 1, 1);
  CHECK(!pp_board_is_idle(&t.board, 0, 1));
  push_one(&t, 0, 1, 1);
  CHECK_EQ(take_all(&t, 0), 1);
  CHECK(!pp_board_is_idle(&t.board, 0, 1));
  CHECK_EQ(take_all(&t, 0), 0);
  CHECK(pp_board_is_idle(&t.board, 0, 1));
  CHECK(!pp_board_is_idle(&t.board, 1, 1));
  pp_board_probe(&t.board, 0, 2, 1);
  CHECK(!pp_board_is_idle(&t.board, 0, 2));
  // a worker that has a request to answer is not idle
  atomic_fetch_add(&t.board.mailboxes[0].request, 1);
  CHECK_EQ(take_all(&t, 0), 0);
  CHECK(!pp_board_is_idle(&t.board, 0, 2));
  atomic_fetch_add(&t.board.mailboxes[0].answered, 1);
  CHECK_EQ(take_all(&t, 0), 0);
  CHECK(pp_board_is_idle(&t.board, 0, 2));
  close_board(&t);
}

static void *sleep_at_gate(void *arg) {
  pp_gate *gate = arg;
  uint32_t epoch = pp_gate_enter(gate);
  pp_gate_sleep(gate, epoch, -1);
  return NULL;
}

/* The count of sleepers may have been overwritten. */
TEST(a_probe_wakes_a_sleeper_whose_count_was_overwritten) {
  test_board t = open_board(1, 1, 1, 0);
  pp_gate *gate = &t.board.mailboxes[0].gate;
  pthread_t thread;
  struct timespec limit;
  pp_os_thread_start(&thread, sleep_at_gate, gate, "sleeper");
  while (atomic_load(&gate->waits) < 1) sched_yield();
  atomic_store(&gate->sleepers, 0);
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 20;
  pp_board_probe(&t.board, 0, 1, 1);
  CHECK_EQ(pthread_timedjoin_np(thread, NULL, &limit), 0);
  close_board(&t);
}

/* ---------------------------------------------------------------------------------- claims -- */

/* claims all rows of some blocks one by one, and prepares the slots for the next blocks */
static void claim_blocks(test_board *t, int64_t blocks) {
  int32_t rows = t->shape.batch_size, places = rows * t->shape.capacity;
  for (int64_t end = t->claimed + blocks; t->claimed < end; t->claimed++) {
    for (int32_t row = 0; row < rows; row++) {
      int64_t ticket = t->claimed * rows + row;
      int32_t env_id = (int32_t)(ticket % t->shape.num_envs);
      CHECK_EQ(pp_board_claim(&t->board, 0, env_id), ticket % places);
      CHECK_EQ(t->board.envs[env_id].place, ticket % places);
      CHECK_EQ(atomic_load(&t->board.head->first_free), ticket + 1);
    }
    prepare(t, t->claimed + t->shape.capacity);
  }
}

TEST(rows_are_claimed_in_the_order_of_the_ring) {
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int32_t batch_size = 1; batch_size <= 7; batch_size++) {
      test_board t = open_board(batch_size * capacity + 1, 1, batch_size, capacity);
      begin_at(&t, 0);
      claim_blocks(&t, 50);
      close_board(&t);
    }
  }
}

TEST(claims_go_on_when_the_sequence_in_row_words_wraps) {
  const int64_t starts[] = {INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(3) << 32};
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int i = 0; i < 3; i++) {
      test_board t = open_board(3 * capacity + 1, 1, 3, capacity);
      begin_at(&t, starts[i] - 9);
      claim_blocks(&t, 20);
      close_board(&t);
    }
  }
}

/* A worker that dies between its claim and raising the hint (first_free) leaves a stale hint. */
TEST(a_stale_hint_leads_to_the_first_free_row) {
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int32_t back = 1; back <= 20; back++) {
      test_board t = open_board(2 * capacity + 1, 1, 2, capacity);
      begin_at(&t, 40);
      claim_blocks(&t, 3);
      atomic_fetch_sub(&t.board.head->first_free, back);
      claim_blocks(&t, 2);
      close_board(&t);
    }
  }
}

TEST(a_claim_is_found_without_the_note_of_its_place) {
  test_board t = open_board(5, 2, 2, 4);
  begin_at(&t, 7);
  for (int32_t i = 0; i < 5; i++) push_one(&t, i >= 2, i, -1);
  for (int32_t i = 0; i < 5; i++) CHECK_EQ(pp_board_find_claim(&t.board, i, 7), -1);
  for (int32_t i = 0; i < 5; i++) {
    int32_t place = pp_board_claim(&t.board, 0, i), places = t.shape.capacity * t.shape.batch_size;
    const int32_t notes[] = {-1, (place + 1) % places, places, INT32_MAX, INT32_MIN};
    CHECK_EQ(pp_board_find_claim(&t.board, i, 7), place);
    // as if the worker had died before it noted the place, or the note had been overwritten
    atomic_store(&t.board.envs[i].state, PP_ENV_RUNNING);
    for (int n = 0; n < 5; n++) {
      t.board.envs[i].place = notes[n];
      CHECK_EQ(pp_board_find_claim(&t.board, i, 7), place);
    }
  }
  close_board(&t);
}

/* The slot of the block that was received last is not prepared before another block is offered. */
TEST(claims_of_the_received_block_are_not_found) {
  test_board t = open_board(5, 2, 2, 4);
  begin_at(&t, 7);
  for (int32_t i = 0; i < 4; i++) pp_board_claim(&t.board, 0, i);
  for (int32_t i = 0; i < 4; i++) {
    CHECK(pp_board_find_claim(&t.board, i, 7) >= 0);
    CHECK_EQ(pp_board_find_claim(&t.board, i, 8) >= 0, i >= 2);
    // nor without a note
    t.board.envs[i].place = -1;
    CHECK_EQ(pp_board_find_claim(&t.board, i, 8) >= 0, i >= 2);
  }
  close_board(&t);
}

/* The caller waits for fewer rows than the block has: it is woken for these, and for each count
 * after that. */
TEST(counts_wake_a_caller_that_waits_for_some_rows) {
  test_board t = open_board(12, 2, 8, 0);
  const int32_t rows[] = {1, 4, 1}, wakes[] = {0, 1, 2};
  begin_at(&t, 0);
  pp_board_set_target(&t.board, 0, 3);
  pp_gate_enter(&t.board.head->caller);
  for (int i = 0; i < 3; i++) {
    pp_board_add_rows_done(&t.board, i % 2, 0, rows[i]);
    CHECK_EQ(atomic_load(&t.board.head->caller.wakes), wakes[i]);
  }
  pp_gate_leave(&t.board.head->caller);
  close_board(&t);
}

TEST(claims_go_on_after_a_cut_block) {
  for (int32_t rows = 1; rows < 4; rows++) {
    test_board t = open_board(12, 2, 4, 0);
    int64_t before;
    begin_at(&t, 7);
    for (int32_t i = 0; i < rows; i++) CHECK_EQ(pp_board_claim(&t.board, 0, i) % 4, i);
    before = atomic_load(&t.board.head->first_free);
    // fewer rows than are claimed
    CHECK(!pp_board_cut(&t.board, 7, rows - 1));
    CHECK(pp_board_cut(&t.board, 7, rows));
    CHECK(!pp_board_cut(&t.board, 7, rows));
    CHECK(pp_board_row_owner(&t.board, 7, rows) < 0);
    for (int32_t i = rows; i < 8; i++) {
      CHECK_EQ(pp_board_claim(&t.board, 0, i),
               (8 + (i - rows) / 4) % t.shape.capacity * 4 + (i - rows) % 4);
      // as if another worker had read the hint before the cut
      if (i % 2) atomic_store(&t.board.head->first_free, before);
    }
    close_board(&t);
  }
}

/* The parent claims a row for an environment whose worker is dead; it waits for no row to become
 * free. */
TEST(a_row_is_claimed_for_the_dead_if_one_is_free) {
  test_board t = open_board(5, 2, 2, 0);
  begin_at(&t, 7);
  CHECK_EQ(t.shape.capacity, 3);
  CHECK_EQ(pp_board_claim(&t.board, 0, 0), 2);
  CHECK_EQ(pp_board_claim_for_dead(&t.board, 1, 7), 3);
  CHECK_EQ(pp_board_row_owner(&t.board, 7, 0), 0);
  CHECK_EQ(pp_board_row_owner(&t.board, 7, 1), 1);
  CHECK(pp_board_row_owner(&t.board, 8, 0) < 0);
  CHECK(pp_board_row_owner(&t.board, 10, 0) < 0);
  CHECK_EQ(pp_board_find_claim(&t.board, 1, 7), 3);
  // the next claim finds the row after it
  CHECK_EQ(pp_board_claim(&t.board, 0, 2), 4);
  for (int32_t i = 0; i < 6; i++) atomic_store(&t.board.rows[i], UINT64_MAX - (uint64_t)i);
  CHECK_EQ(pp_board_claim_for_dead(&t.board, 3, 7), -1);
  close_board(&t);
}

/* ---------------------------------------------------------------------------- many at once -- */

typedef struct test_worker {
  test_board *pool;
  int32_t lane;
  pthread_t thread;
} test_worker;

/* takes entries, claims rows in an unordered pool, writes and counts them, until it is closed. The
 * rows are not atomic, so that ThreadSanitizer sees whether the counts hand them over */
static void *serve(void *arg) {
  test_worker *self = arg;
  test_board *t = self->pool;
  pp_mailbox *mailbox = &t->board.mailboxes[self->lane];
  pp_entry taken[MAX_ENVS];
  while (!atomic_load(&mailbox->is_closing)) {
    int32_t count = pp_board_take(&t->board, self->lane, taken, 1 + self->lane);
    if (!count) sched_yield();
    for (int32_t i = 0; i < count; i++) {
      int32_t env_id = PP_ENTRY_ENV(taken[i]), place = PP_ENTRY_PLACE(taken[i]);
      if (!t->shape.is_ordered) place = pp_board_claim(&t->board, self->lane, env_id);
      int64_t *row = row_at(t, place);
      row[0]++;
      row[1] = env_id;
      atomic_store_explicit(&t->board.envs[env_id].state, PP_ENV_DONE, memory_order_release);
      pp_board_add_rows_done(&t->board, self->lane, place / t->shape.batch_size, 1);
    }
  }
  return NULL;
}

static int32_t lane_of(const test_board *t, int32_t env_id) {
  for (int32_t lane = 0, first, count;; lane++) {
    pp_board_lane_envs(&t->board, lane, &first, &count);
    if (env_id < first + count) return lane;
  }
}

/* Sleeps until a slot has this many rows. Returns 0 if it takes too long. */
static int wait_rows(test_board *t, int32_t slot, int32_t rows) {
  int64_t end = pp_os_now() + 30 * SECOND;
  while (pp_board_rows_done(&t->board, slot) != rows) {
    pp_gate *gate = &t->board.head->caller;
    uint32_t epoch = pp_gate_enter(gate);
    // so long a timeout that a lost wake fails the test
    if (pp_board_rows_done(&t->board, slot) != rows) pp_gate_sleep(gate, epoch, 20 * SECOND);
    pp_gate_leave(gate);
    if (pp_os_now() > end) return 0;
  }
  return 1;
}

/* reads a complete block: every row once, each environment once; lists the environments */
static void read_block(test_board *t, int64_t sequence, int32_t *env_ids) {
  int32_t rows = t->shape.batch_size, slot = (int32_t)(sequence % t->shape.capacity);
  char seen[MAX_ENVS] = {0};
  for (int32_t i = 0; i < rows; i++) {
    int64_t *row = row_at(t, slot * rows + i);
    if (!CHECK_EQ(row[0], 1)) return;
    row[0] = 0;
    env_ids[i] = (int32_t)row[1];
    CHECK(!seen[env_ids[i]]++);
    if (t->shape.is_ordered) continue;
    uint64_t word = atomic_load(&t->board.rows[slot * rows + i]);
    CHECK_EQ(word, (uint64_t)(uint32_t)sequence << 32 | (uint64_t)(env_ids[i] + 1));
  }
}

static void send_all(test_board *t, const int32_t *env_ids, int32_t count, int64_t sequence) {
  int32_t first = (int32_t)(sequence % t->shape.capacity) * t->shape.batch_size;
  for (int32_t i = 0; i < count; i++) push_one(t, lane_of(t, env_ids[i]), env_ids[i], first + i);
}

static void run_workers(int32_t envs, int32_t lanes, int32_t batch_size, int64_t start) {
  test_board t = open_board(envs, lanes, batch_size, 0);
  test_worker workers[MAX_LANES];
  int32_t env_ids[MAX_ENVS];
  begin_at(&t, start);
  for (int32_t i = 0; i < lanes; i++) {
    workers[i] = (test_worker){.pool = &t, .lane = i};
    pp_os_thread_start(&workers[i].thread, serve, &workers[i], "worker");
  }
  for (int32_t i = 0; i < envs; i++) env_ids[i] = i;
  send_all(&t, env_ids, envs, start);
  for (int64_t sequence = start; sequence < start + ROUNDS / batch_size; sequence++) {
    int32_t slot = (int32_t)(sequence % t.shape.capacity);
    if (t.shape.is_ordered) pp_board_set_target(&t.board, slot, batch_size);
    if (!CHECK(wait_rows(&t, slot, batch_size))) break;
    read_block(&t, sequence, env_ids);
    prepare(&t, sequence + t.shape.capacity);
    send_all(&t, env_ids, batch_size, sequence + 1);
  }
  for (int32_t i = 0; i < lanes; i++) atomic_store(&t.board.mailboxes[i].is_closing, 1);
  for (int32_t i = 0; i < lanes; i++) pthread_join(workers[i].thread, NULL);
  close_board(&t);
}

TEST(many_workers_claim_each_row_once) {
  for (int32_t batch_size = 1; batch_size <= 7; batch_size++) {
    // rings of 2 to 4 blocks and of many
    run_workers(4 * batch_size, 1 + batch_size % MAX_LANES, batch_size, 0);
    run_workers(2 * batch_size, 2, batch_size, 0);
  }
  run_workers(8, 3, 7, 0);
  run_workers(MAX_ENVS, 4, 1, 0);
}

TEST(many_workers_claim_while_the_sequence_wraps) {
  run_workers(9, 3, 2, (INT64_C(1) << 32) - 100);
  run_workers(5, 4, 4, (INT64_C(1) << 31) - 100);
}

TEST(many_workers_fill_ordered_blocks) {
  run_workers(7, 3, 7, 0);
  run_workers(MAX_ENVS, 4, MAX_ENVS, 0);
}

/* ------------------------------------------------------------------------ waking the caller -- */

static void *sleep_once(void *arg) {
  test_board *t = arg;
  pp_gate *gate = &t->board.head->caller;
  uint32_t epoch = pp_gate_enter(gate);
  if (!pp_board_rows_done(&t->board, 0)) pp_gate_sleep(gate, epoch, -1);
  pp_gate_leave(gate);
  return NULL;
}

/* One thread waits for a batch, another for an answer, and they sleep in one gate. */
TEST(a_count_wakes_all_threads_of_the_caller) {
  test_board t = open_board(2, 1, 1, 0);
  pthread_t threads[2];
  struct timespec limit;
  begin_at(&t, 0);
  for (int i = 0; i < 2; i++) pp_os_thread_start(&threads[i], sleep_once, &t, "sleeper");
  while (atomic_load(&t.board.head->caller.sleepers) < 2 ||
         atomic_load(&t.board.head->caller.waits) < 2) {
    sched_yield();
  }
  // they count their wait shortly before they sleep
  usleep(30000);
  pp_board_claim(&t.board, 0, 0);
  pp_board_add_rows_done(&t.board, 0, 0, 1);
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 60;
  for (int i = 0; i < 2; i++) {
    if (CHECK_EQ(pthread_timedjoin_np(threads[i], NULL, &limit), 0)) continue;
    pp_gate_wake(&t.board.head->caller, INT32_MAX);
    pthread_join(threads[i], NULL);
  }
  close_board(&t);
}
