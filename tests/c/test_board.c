/* The board: its tables, mailboxes, claims of rows and counts of them, with threads in the place
 * of worker processes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "os/os.h"
#include "processes/board.h"

enum { MAX_ENVS = 32, MAX_LANES = 4, MAX_SLOTS = 40, MANY = INT32_MAX };

static const int64_t SECOND = 1000000000;

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 1500 };
#else
enum { ROUNDS = 12000 };
#endif

/* what should end and does not is killed */
__attribute__((constructor)) static void limit_time(void) {
  alarm(120);
}

/* ------------------------------------------------------------------------------ a small pool -- */

/* a board with its blocks, in memory of this process alone */
typedef struct office {
  pp_board board;
  pp_board_shape shape;
  pp_layout layout;
  char *memory;
  int64_t blocks;  /* offset of the first block */
  int64_t claimed; /* unordered: sequence of the block received next */
} office;

static void make_layout(pp_layout *layout, int32_t rows) {
  pp_config config = {.num_players = 1, .num_fields = 2};
  pp_pool_options options = {.reward_dtype = PP_FLOAT64, .autoreset = PP_SAME_STEP};
  config.fields[0] = (pp_field){.name = "obs", .dtype = PP_INT64, .ndim = 1, .shape = {2}};
  config.fields[1] = (pp_field){.name = "pixel", .dtype = PP_UINT8};
  CHECK_EQ(pp_layout_init(layout, &config, &options, rows, NULL), PP_OK);
}

/* capacity 0: what a ring of these environments has */
static office open_office(int32_t envs, int32_t lanes, int32_t batch_size, int32_t capacity) {
  office o = {.shape = {.num_envs = envs,
                        .num_lanes = lanes,
                        .batch_size = batch_size,
                        .capacity = capacity,
                        .is_ordered = batch_size == envs,
                        .cores = 1,
                        .action_bytes = 24,
                        .reply_reserve = 1 << 20,
                        .saves_rows = 1}};
  if (!capacity) o.shape.capacity = (envs - 1) / batch_size + 1 + o.shape.is_ordered;
  make_layout(&o.layout, batch_size);
  o.blocks = (pp_board_size(&o.shape, &o.layout) + 63) / 64 * 64;
  int64_t size = o.blocks + o.shape.capacity * o.layout.size;
  o.memory = aligned_alloc(64, (size_t)size);
  memset(o.memory, 0, (size_t)size);
  pp_board_init(&o.board, o.memory, &o.shape, &o.layout);
  return o;
}

static void close_office(office *o) {
  free(o->memory);
}

static void prepare(office *o, int64_t sequence) {
  pp_board_prepare_slot(&o->board, sequence,
                        o->blocks + sequence % o->shape.capacity * o->layout.size);
}

/* the ring as it is when all blocks before a sequence were received, and all their rows claimed */
static void begin_at(office *o, int64_t sequence) {
  o->claimed = sequence;
  for (int32_t i = 0; i < o->shape.capacity; i++) prepare(o, sequence + i);
  atomic_store(&o->board.head->first_free, sequence * o->shape.batch_size);
}

/* the block that a place is in, and which of its rows it is */
static void *block_of(const office *o, int32_t place, int32_t *row) {
  int32_t slot = place / o->shape.batch_size;
  *row = place % o->shape.batch_size;
  return o->memory + o->board.slots[slot].memory;
}

static int64_t *row_at(office *o, int32_t place) {
  int32_t row;
  void *memory = block_of(o, place, &row);
  return pp_layout_at(&o->layout, memory, 0, row);
}

static int32_t state_of(const office *o, int32_t env_id) {
  return atomic_load(&o->board.envs[env_id].state);
}

/* -------------------------------------------------------------------------------- tables -- */

/* a table: where it begins and its bytes */
typedef struct table {
  const void *start;
  int64_t bytes;
} table;

enum { NUM_TABLES = 9 };

static void list_tables(const office *o, table *tables) {
  const pp_board *b = &o->board;
  int64_t envs = o->shape.num_envs, lanes = o->shape.num_lanes, slots = o->shape.capacity;
  int64_t rows = o->shape.is_ordered ? 0 : slots * o->shape.batch_size;
  const table all[NUM_TABLES] = {{b->head, (int64_t)sizeof(*b->head)},
                                 {b->mailboxes, lanes * (int64_t)sizeof(pp_mailbox)},
                                 {b->entries, lanes * (int64_t)(b->mailbox_size * 8)},
                                 {b->envs, envs * (int64_t)sizeof(pp_board_env)},
                                 {b->slots, slots * (int64_t)sizeof(pp_slot)},
                                 {b->rows_done, slots * lanes * 4},
                                 {b->rows, rows * 8},
                                 {b->actions, envs * o->shape.action_bytes},
                                 {b->saved, envs * 2 * b->saved_bytes}};
  memcpy(tables, all, sizeof(all));
}

static void check_tables(int32_t envs, int32_t lanes, int32_t batch_size) {
  office o = open_office(envs, lanes, batch_size, 0);
  table tables[NUM_TABLES];
  int64_t end = 0;
  list_tables(&o, tables);
  for (int i = 0; i < NUM_TABLES; i++) {
    int64_t start = (const char *)tables[i].start - o.memory;
    CHECK_EQ(start % 64, 0);
    CHECK(start >= end);
    end = start + tables[i].bytes;
  }
  CHECK(o.board.head->size >= end);
  CHECK_EQ(o.board.head->size, pp_board_size(&o.shape, &o.layout));
  // room for all environments of a lane, and not for those of others
  uint64_t most = (uint64_t)((envs + lanes - 1) / lanes), box = o.board.mailbox_size;
  CHECK(box >= most && (box & (box - 1)) == 0 && (box == 16 || box < 2 * most));
  CHECK(o.board.saved_bytes >= 2 * 8 + 1);
  close_office(&o);
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
  office o = open_office(5, 2, 3, 0);
  pp_board other = {0};
  CHECK_EQ(pp_board_attach(&other, o.memory, o.blocks), PP_OK);
  CHECK(memcmp(&other, &o.board, sizeof(other)) == 0);
  close_office(&o);
}

/* What it can't lay out as its parent did, it does not touch. */
TEST(a_worker_of_another_build_finds_no_board) {
  office o = open_office(5, 2, 3, 0);
  pp_board other = {0};
  pp_board_head *head = o.board.head, right = *head;
  CHECK_EQ(pp_board_attach(&other, o.memory, 8), PP_ERR_ABI);
  CHECK_EQ(pp_board_attach(&other, o.memory, right.size - 1), PP_ERR_ABI);
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
    CHECK_EQ(pp_board_attach(&other, o.memory, o.blocks), PP_ERR_ABI);
    memcpy(head, &right, sizeof(right));
  }
  CHECK_EQ(pp_board_attach(&other, o.memory, o.blocks), PP_OK);
  close_office(&o);
}

TEST(lanes_share_environments_out_evenly) {
  for (int32_t envs = 1; envs <= 20; envs++) {
    for (int32_t lanes = 1; lanes <= envs; lanes++) {
      office o = open_office(envs, lanes, envs, 0);
      int32_t next = 0, first, count;
      for (int32_t i = 0; i < lanes; i++) {
        pp_board_lane_envs(&o.board, i, &first, &count);
        CHECK_EQ(first, next);
        CHECK(count == envs / lanes || count == envs / lanes + 1);
        next += count;
      }
      CHECK_EQ(next, envs);
      close_office(&o);
    }
  }
}

/* ------------------------------------------------------------------------------ mailboxes -- */

static void push_one(office *o, int32_t lane, int32_t env_id, int32_t place) {
  pp_entry entry = PP_ENTRY(place, env_id, 1);
  pp_board_push(&o->board, lane, &entry, 1);
}

TEST(entries_are_taken_in_their_order_across_the_end_of_the_box) {
  office o = open_office(7, 1, 7, 0);
  pp_entry taken[7];
  int32_t pushed = 0, seen = 0;
  // 16 fit, so that 5 at a time come across the end in every way
  CHECK_EQ(o.board.mailbox_size, 16);
  for (int32_t round = 0; round < 64; round++) {
    for (int32_t i = 0; i < 5; i++, pushed++) push_one(&o, 0, pushed % 7, pushed % 14);
    CHECK_EQ(state_of(&o, (pushed - 1) % 7), PP_ENV_QUEUED);
    for (int32_t left = 5; left > 0;) {
      int32_t room = 1 + round % 3, count = pp_board_take(&o.board, 0, taken, room);
      CHECK_EQ(count, left < room ? left : room);
      for (int32_t i = 0; i < count; i++, seen++) {
        CHECK_EQ(PP_ENTRY_ENV(taken[i]), seen % 7);
        CHECK_EQ(PP_ENTRY_PLACE(taken[i]), seen % 14);
        CHECK_EQ(state_of(&o, seen % 7), PP_ENV_RUNNING);
      }
      left -= count;
    }
    CHECK_EQ(pp_board_take(&o.board, 0, taken, 7), 0);
  }
  close_office(&o);
}

TEST(a_push_says_where_the_row_is_and_forgets_the_reply) {
  office o = open_office(4, 2, 4, 0);
  o.board.envs[3].reply = (pp_message){64, 10};
  push_one(&o, 1, 3, 6);
  CHECK_EQ(o.board.envs[3].place, 6);
  CHECK_EQ(o.board.envs[3].reply.size, 0);
  close_office(&o);
}

TEST(clearing_a_box_leaves_nothing_of_its_worker) {
  office o = open_office(4, 2, 4, 0);
  pp_mailbox *mailbox = &o.board.mailboxes[1];
  pp_entry taken[4];
  push_one(&o, 1, 2, 0);
  push_one(&o, 1, 3, 1);
  CHECK_EQ(pp_board_take(&o.board, 1, taken, 1), 1);
  atomic_store(&mailbox->current_env, 2);
  atomic_store(&mailbox->request, 5);
  atomic_store(&mailbox->answered, 4);
  mailbox->reply = (pp_message){64, 10};
  pp_gate_enter(&mailbox->gate);
  pp_board_clear_mailbox(&o.board, 1);
  CHECK_EQ(pp_board_take(&o.board, 1, taken, 4), 0);
  CHECK_EQ(atomic_load(&mailbox->current_env), -1);
  CHECK_EQ(atomic_load(&mailbox->answered), 5);
  CHECK_EQ(atomic_load(&mailbox->gate.sleepers), 0);
  // it may have been half written
  CHECK(mailbox->reply.size < 0);
  // an answer that was complete stays
  mailbox->reply = (pp_message){64, 10};
  pp_board_clear_mailbox(&o.board, 1);
  CHECK_EQ(mailbox->reply.size, 10);
  close_office(&o);
}

/* ------------------------------------------------------------------------------ ordered rows -- */

TEST(an_ordered_block_is_complete_once_it_is_closed) {
  office o = open_office(6, 3, 6, 0);
  for (int64_t sequence = 0; sequence < 5; sequence++) {
    int32_t slot = (int32_t)(sequence % o.shape.capacity);
    prepare(&o, sequence);
    CHECK_EQ(atomic_load(&o.board.slots[slot].target), MANY);
    CHECK_EQ(pp_board_rows_done(&o.board, slot), 0);
    for (int32_t lane = 0; lane < 3; lane++) pp_board_add_rows_done(&o.board, lane, slot, 1 + lane);
    CHECK_EQ(pp_board_rows_done(&o.board, slot), 6);
    CHECK_EQ(pp_board_lane_rows_done(&o.board, slot, 2), 3);
    pp_board_close_slot(&o.board, slot, 6);
    CHECK_EQ(atomic_load(&o.board.slots[slot].target), 6);
  }
  close_office(&o);
}

TEST(a_recount_takes_the_place_of_a_lanes_counts_alone) {
  office o = open_office(6, 3, 6, 0);
  prepare(&o, 0);
  pp_board_add_rows_done(&o.board, 0, 0, 2);
  pp_board_add_rows_done(&o.board, 1, 0, 1);
  pp_board_set_rows_done(&o.board, 1, 0, 2);
  CHECK_EQ(pp_board_rows_done(&o.board, 0), 4);
  // its successor goes on from there
  pp_board_add_rows_done(&o.board, 1, 0, 1);
  CHECK_EQ(pp_board_rows_done(&o.board, 0), 5);
  CHECK_EQ(pp_board_rows_done(&o.board, 1), 0);
  close_office(&o);
}

/* ----------------------------------------------------------------------------- the last shown --
 */

static void fill_row(office *o, int32_t place, int64_t value) {
  int32_t row;
  void *memory = block_of(o, place, &row);
  int64_t *obs = pp_layout_at(&o->layout, memory, 0, row);
  obs[0] = value;
  obs[1] = -value;
  *(uint8_t *)pp_layout_at(&o->layout, memory, 1, row) = (uint8_t)value;
}

/* whether a row shows a value, is_final: among what ended episodes showed */
static void check_row(office *o, int32_t place, int64_t value, int32_t is_final) {
  int32_t row, first = is_final ? o->layout.final_fields : 0;
  void *memory = block_of(o, place, &row);
  int64_t *obs = pp_layout_at(&o->layout, memory, first, row);
  CHECK_EQ(obs[0], value);
  CHECK_EQ(obs[1], -value);
  CHECK_EQ(*(uint8_t *)pp_layout_at(&o->layout, memory, first + 1, row), (uint8_t)value);
}

TEST(what_was_shown_last_is_kept_for_each_environment) {
  office o = open_office(4, 2, 4, 0);
  int32_t row;
  prepare(&o, 0);
  prepare(&o, 1);
  for (int64_t turn = 1; turn < 4; turn++) {
    for (int32_t i = 0; i < 4; i++) {
      fill_row(&o, i, 10 * turn + i);
      pp_board_save_row(&o.board, block_of(&o, i, &row), i, i, 5 * turn + i);
    }
    for (int32_t i = 0; i < 4; i++) {
      // into a row of the other block
      void *memory = block_of(&o, 7 - i, &row);
      pp_board_repeat_row(&o.board, memory, row, i, 0);
      check_row(&o, 7 - i, 10 * turn + i, 0);
      CHECK_EQ(pp_board_elapsed(&o.board, i), 5 * turn + i);
      pp_board_repeat_row(&o.board, memory, row, 3 - i, 1);
      check_row(&o, 7 - i, 10 * turn + 3 - i, 1);
      check_row(&o, 7 - i, 10 * turn + i, 0);
    }
  }
  close_office(&o);
}

/* ------------------------------------------------------------------------------- idleness -- */

static int32_t take_all(office *o, int32_t lane) {
  pp_entry taken[MAX_ENVS];
  return pp_board_take(&o->board, lane, taken, MAX_ENVS);
}

TEST(a_worker_is_idle_when_it_says_so_after_it_was_asked) {
  office o = open_office(4, 2, 4, 0);
  CHECK_EQ(take_all(&o, 0), 0);
  pp_board_probe(&o.board, 0, 1, 1);
  pp_board_probe(&o.board, 1, 1, 1);
  CHECK(!pp_board_is_idle(&o.board, 0, 1));
  push_one(&o, 0, 1, 1);
  CHECK_EQ(take_all(&o, 0), 1);
  CHECK(!pp_board_is_idle(&o.board, 0, 1));
  CHECK_EQ(take_all(&o, 0), 0);
  CHECK(pp_board_is_idle(&o.board, 0, 1));
  CHECK(!pp_board_is_idle(&o.board, 1, 1));
  pp_board_probe(&o.board, 0, 2, 1);
  CHECK(!pp_board_is_idle(&o.board, 0, 2));
  // who is asked to answer something has that left to do
  atomic_fetch_add(&o.board.mailboxes[0].request, 1);
  CHECK_EQ(take_all(&o, 0), 0);
  CHECK(!pp_board_is_idle(&o.board, 0, 2));
  atomic_fetch_add(&o.board.mailboxes[0].answered, 1);
  CHECK_EQ(take_all(&o, 0), 0);
  CHECK(pp_board_is_idle(&o.board, 0, 2));
  close_office(&o);
}

static void *sleep_at_gate(void *arg) {
  pp_gate *gate = arg;
  uint32_t epoch = pp_gate_enter(gate);
  pp_gate_sleep(gate, epoch, -1);
  return NULL;
}

/* That somebody sleeps may have been written over. */
TEST(a_question_wakes_whoever_sleeps) {
  office o = open_office(1, 1, 1, 0);
  pp_gate *gate = &o.board.mailboxes[0].gate;
  pthread_t thread;
  struct timespec limit;
  pp_os_thread_start(&thread, sleep_at_gate, gate, "sleeper");
  while (atomic_load(&gate->waits) < 1) sched_yield();
  atomic_store(&gate->sleepers, 0);
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 20;
  pp_board_probe(&o.board, 0, 1, 1);
  CHECK_EQ(pthread_timedjoin_np(thread, NULL, &limit), 0);
  close_office(&o);
}

/* ------------------------------------------------------------------------------------- claims --
 */

/* claims all rows of some blocks one by one, and prepares them anew */
static void claim_blocks(office *o, int64_t blocks) {
  int32_t rows = o->shape.batch_size, places = rows * o->shape.capacity;
  for (int64_t end = o->claimed + blocks; o->claimed < end; o->claimed++) {
    for (int32_t row = 0; row < rows; row++) {
      int64_t ticket = o->claimed * rows + row;
      int32_t env_id = (int32_t)(ticket % o->shape.num_envs);
      CHECK_EQ(pp_board_claim(&o->board, 0, env_id), ticket % places);
      CHECK_EQ(o->board.envs[env_id].place, ticket % places);
      CHECK_EQ(atomic_load(&o->board.head->first_free), ticket + 1);
    }
    prepare(o, o->claimed + o->shape.capacity);
  }
}

TEST(rows_are_claimed_in_the_order_of_the_ring) {
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int32_t batch_size = 1; batch_size <= 7; batch_size++) {
      office o = open_office(batch_size * capacity + 1, 1, batch_size, capacity);
      begin_at(&o, 0);
      claim_blocks(&o, 50);
      close_office(&o);
    }
  }
}

TEST(claims_go_on_where_the_words_of_rows_start_anew) {
  const int64_t starts[] = {INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(3) << 32};
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int i = 0; i < 3; i++) {
      office o = open_office(3 * capacity + 1, 1, 3, capacity);
      begin_at(&o, starts[i] - 9);
      claim_blocks(&o, 20);
      close_office(&o);
    }
  }
}

/* A worker that dies between its claim and the raising of the hint leaves it behind. */
TEST(a_hint_that_was_left_behind_finds_the_first_free_row) {
  for (int32_t capacity = 1; capacity <= 4; capacity++) {
    for (int32_t back = 1; back <= 20; back++) {
      office o = open_office(2 * capacity + 1, 1, 2, capacity);
      begin_at(&o, 40);
      claim_blocks(&o, 3);
      atomic_fetch_sub(&o.board.head->first_free, back);
      claim_blocks(&o, 2);
      close_office(&o);
    }
  }
}

TEST(a_claim_that_was_not_noted_is_found) {
  office o = open_office(5, 2, 2, 0);
  begin_at(&o, 7);
  for (int32_t i = 0; i < 5; i++) push_one(&o, i >= 2, i, -1);
  for (int32_t i = 0; i < 5; i++) CHECK_EQ(pp_board_find_claim(&o.board, i), -1);
  for (int32_t i = 0; i < 5; i++) {
    int32_t place = pp_board_claim(&o.board, 0, i), places = o.shape.capacity * o.shape.batch_size;
    const int32_t notes[] = {-1, (place + 1) % places, places, INT32_MAX, INT32_MIN};
    CHECK_EQ(pp_board_find_claim(&o.board, i), place);
    // as if it had died before, or somebody had written over it
    atomic_store(&o.board.envs[i].state, PP_ENV_RUNNING);
    for (int n = 0; n < 5; n++) {
      o.board.envs[i].place = notes[n];
      CHECK_EQ(pp_board_find_claim(&o.board, i), place);
    }
  }
  close_office(&o);
}

/* The parent claims for the dead, and does not wait for what will never be. */
TEST(a_row_is_seized_where_one_is_free) {
  office o = open_office(5, 2, 2, 0);
  begin_at(&o, 7);
  CHECK_EQ(o.shape.capacity, 3);
  CHECK_EQ(pp_board_claim(&o.board, 0, 0), 2);
  CHECK_EQ(pp_board_claim_for_dead(&o.board, 1, 7), 3);
  CHECK_EQ(pp_board_row_owner(&o.board, 7, 0), 0);
  CHECK_EQ(pp_board_row_owner(&o.board, 7, 1), 1);
  CHECK(pp_board_row_owner(&o.board, 8, 0) < 0);
  CHECK(pp_board_row_owner(&o.board, 10, 0) < 0);
  CHECK_EQ(pp_board_find_claim(&o.board, 1), 3);
  // who comes after it finds the next one
  CHECK_EQ(pp_board_claim(&o.board, 0, 2), 4);
  for (int32_t i = 0; i < 6; i++) atomic_store(&o.board.rows[i], UINT64_MAX - (uint64_t)i);
  CHECK_EQ(pp_board_claim_for_dead(&o.board, 3, 7), -1);
  close_office(&o);
}

/* ---------------------------------------------------------------------------- many at once -- */

typedef struct clerk {
  office *office;
  int32_t lane;
  pthread_t thread;
  int64_t last_sequence; /* of what it claimed: never less than before */
} clerk;

/* takes, claims if need be, writes a plain row and counts it, until the pool is closed */
static void *serve(void *arg) {
  clerk *self = arg;
  office *o = self->office;
  pp_mailbox *mailbox = &o->board.mailboxes[self->lane];
  pp_entry taken[MAX_ENVS];
  while (!atomic_load(&mailbox->is_closing)) {
    int32_t count = pp_board_take(&o->board, self->lane, taken, 1 + self->lane);
    if (!count) sched_yield();
    for (int32_t i = 0; i < count; i++) {
      int32_t env_id = PP_ENTRY_ENV(taken[i]), place = PP_ENTRY_PLACE(taken[i]);
      if (!o->shape.is_ordered) place = pp_board_claim(&o->board, self->lane, env_id);
      int64_t *row = row_at(o, place);
      row[0]++;
      row[1] = env_id;
      atomic_store_explicit(&o->board.envs[env_id].state, PP_ENV_DONE, memory_order_release);
      pp_board_add_rows_done(&o->board, self->lane, place / o->shape.batch_size, 1);
    }
  }
  return NULL;
}

static int32_t lane_of(const office *o, int32_t env_id) {
  for (int32_t lane = 0, first, count;; lane++) {
    pp_board_lane_envs(&o->board, lane, &first, &count);
    if (env_id < first + count) return lane;
  }
}

/* sleeps until a slot has so many rows; 0: it takes too long */
static int wait_rows(office *o, int32_t slot, int32_t rows) {
  int64_t end = pp_os_now() + 30 * SECOND;
  while (pp_board_rows_done(&o->board, slot) != rows) {
    pp_gate *gate = &o->board.head->caller;
    uint32_t epoch = pp_gate_enter(gate);
    // without a limit worth speaking of: a lost wake would be seen
    if (pp_board_rows_done(&o->board, slot) != rows) pp_gate_sleep(gate, epoch, 20 * SECOND);
    pp_gate_leave(gate);
    if (pp_os_now() > end) return 0;
  }
  return 1;
}

/* reads a complete block: every row once, each environment once; lists the environments */
static void read_block(office *o, int64_t sequence, int32_t *env_ids) {
  int32_t rows = o->shape.batch_size, slot = (int32_t)(sequence % o->shape.capacity);
  char seen[MAX_ENVS] = {0};
  for (int32_t i = 0; i < rows; i++) {
    int64_t *row = row_at(o, slot * rows + i);
    if (!CHECK_EQ(row[0], 1)) return;
    row[0] = 0;
    env_ids[i] = (int32_t)row[1];
    CHECK(!seen[env_ids[i]]++);
    if (o->shape.is_ordered) continue;
    uint64_t word = atomic_load(&o->board.rows[slot * rows + i]);
    CHECK_EQ(word, (uint64_t)(uint32_t)sequence << 32 | (uint64_t)(env_ids[i] + 1));
  }
}

static void send_all(office *o, const int32_t *env_ids, int32_t count, int64_t sequence) {
  int32_t first = (int32_t)(sequence % o->shape.capacity) * o->shape.batch_size;
  for (int32_t i = 0; i < count; i++) push_one(o, lane_of(o, env_ids[i]), env_ids[i], first + i);
}

static void run_office(int32_t envs, int32_t lanes, int32_t batch_size, int64_t start) {
  office o = open_office(envs, lanes, batch_size, 0);
  clerk clerks[MAX_LANES];
  int32_t env_ids[MAX_ENVS];
  begin_at(&o, start);
  for (int32_t i = 0; i < lanes; i++) {
    clerks[i] = (clerk){.office = &o, .lane = i};
    pp_os_thread_start(&clerks[i].thread, serve, &clerks[i], "clerk");
  }
  for (int32_t i = 0; i < envs; i++) env_ids[i] = i;
  send_all(&o, env_ids, envs, start);
  for (int64_t sequence = start; sequence < start + ROUNDS / batch_size; sequence++) {
    int32_t slot = (int32_t)(sequence % o.shape.capacity);
    if (o.shape.is_ordered) pp_board_close_slot(&o.board, slot, batch_size);
    if (!CHECK(wait_rows(&o, slot, batch_size))) break;
    read_block(&o, sequence, env_ids);
    prepare(&o, sequence + o.shape.capacity);
    send_all(&o, env_ids, batch_size, sequence + 1);
  }
  for (int32_t i = 0; i < lanes; i++) atomic_store(&o.board.mailboxes[i].is_closing, 1);
  for (int32_t i = 0; i < lanes; i++) pthread_join(clerks[i].thread, NULL);
  close_office(&o);
}

TEST(many_claim_each_row_once) {
  for (int32_t batch_size = 1; batch_size <= 7; batch_size++) {
    // rings of 2 to 4 blocks and of many
    run_office(4 * batch_size, 1 + batch_size % MAX_LANES, batch_size, 0);
    run_office(2 * batch_size, 2, batch_size, 0);
  }
  run_office(8, 3, 7, 0);
  run_office(MAX_ENVS, 4, 1, 0);
}

TEST(many_claim_across_the_end_of_the_words) {
  run_office(9, 3, 2, (INT64_C(1) << 32) - 100);
  run_office(5, 4, 4, (INT64_C(1) << 31) - 100);
}

TEST(many_fill_ordered_blocks) {
  run_office(7, 3, 7, 0);
  run_office(MAX_ENVS, 4, MAX_ENVS, 0);
}

/* ------------------------------------------------------------------------ waking the caller -- */

static void *sleep_once(void *arg) {
  office *o = arg;
  pp_gate *gate = &o->board.head->caller;
  uint32_t epoch = pp_gate_enter(gate);
  if (!pp_board_rows_done(&o->board, 0)) pp_gate_sleep(gate, epoch, -1);
  pp_gate_leave(gate);
  return NULL;
}

/* One thread waits for a batch, another for an answer, and they sleep in one gate. */
TEST(a_count_wakes_all_threads_of_the_caller) {
  office o = open_office(2, 1, 1, 0);
  pthread_t threads[2];
  struct timespec limit;
  begin_at(&o, 0);
  for (int i = 0; i < 2; i++) pp_os_thread_start(&threads[i], sleep_once, &o, "sleeper");
  while (atomic_load(&o.board.head->caller.sleepers) < 2 ||
         atomic_load(&o.board.head->caller.waits) < 2) {
    sched_yield();
  }
  // from there to sleep it is not far
  usleep(30000);
  pp_board_claim(&o.board, 0, 0);
  pp_board_add_rows_done(&o.board, 0, 0, 1);
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 5;
  for (int i = 0; i < 2; i++) {
    if (CHECK_EQ(pthread_timedjoin_np(threads[i], NULL, &limit), 0)) continue;
    pp_gate_wake(&o.board.head->caller, INT32_MAX);
    pthread_join(threads[i], NULL);
  }
  close_office(&o);
}
