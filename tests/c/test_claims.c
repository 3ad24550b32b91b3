/* The ring, and how threads claim its rows: every row is claimed once, and a block is complete when
 * its last row is written. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "include/pp_env.h"
#include "threads/claims.h"

static char blocks[64];

/* puts a block into the ring, as a pool does */
static pp_ring_slot *offer(pp_ring *ring, pp_claims *claims, void *memory) {
  pp_ring_slot *slot = pp_ring_offer_locked(ring, memory);
  pp_claims_prepare_locked(claims, slot);
  return slot;
}

/* takes the block that is received next, which is complete */
static pp_ring_slot *take(pp_ring *ring, pp_claims *claims, void *fresh) {
  pp_ring_slot *slot = pp_ring_take_locked(ring, fresh);
  pp_claims_prepare_locked(claims, slot);
  return slot;
}

static int open_ring(pp_ring *ring, pp_claims *claims, int32_t num_envs, int32_t batch_size) {
  if (!CHECK_EQ(pp_ring_init(ring, NULL, num_envs, batch_size), PP_OK)) return 0;
  if (!CHECK_EQ(pp_claims_init(claims, ring), PP_OK)) return 0;
  for (int32_t i = 0; i < ring->capacity; i++) offer(ring, claims, &blocks[i]);
  return 1;
}

static void close_ring(pp_ring *ring, pp_claims *claims) {
  pp_claims_fini(claims);
  pp_ring_fini(ring);
}

TEST(claims_fill_one_block_after_the_other) {
  pp_ring ring;
  pp_claims claims;
  int32_t next = 0, row;
  REQUIRE(open_ring(&ring, &claims, 10, 4));
  CHECK_EQ(ring.capacity, 3);
  // runs of three do not fit into blocks of four: the rest of a run is claimed again
  while (next < 10) {
    int32_t count = 10 - next < 3 ? 10 - next : 3, wanted = count;
    int32_t place = pp_claims_take(&claims, &count);
    CHECK_EQ(place, next);
    CHECK_EQ(count, wanted < 4 - next % 4 ? wanted : 4 - next % 4);
    CHECK(pp_ring_at(&ring, place, &row)->memory == &blocks[next / 4]);
    CHECK_EQ(row, next % 4);
    next += count;
  }
  close_ring(&ring, &claims);
}

TEST(an_unordered_block_is_complete_with_its_last_row) {
  pp_ring ring;
  pp_claims claims;
  REQUIRE(open_ring(&ring, &claims, 10, 4));
  for (int32_t round = 0; round < 50; round++) {
    pp_ring_slot *slot = pp_ring_close_locked(&ring);
    CHECK(slot == &ring.slots[round % 4]);
    for (int32_t i = 0; i < 4; i++) {
      int32_t one = 1, row;
      CHECK(!pp_claims_are_complete(&claims, slot));
      CHECK(pp_ring_at(&ring, pp_claims_take(&claims, &one), &row) == slot);
      CHECK_EQ(pp_claims_finish(&claims, slot, 1), i == 3);
    }
    CHECK(pp_claims_are_complete(&claims, slot));
    slot = take(&ring, &claims, &blocks[10 + round % 3]);
    CHECK(!pp_claims_are_complete(&claims, slot));
    CHECK(slot->memory == &blocks[10 + round % 3]);
  }
  close_ring(&ring, &claims);
}

/* claims one row and writes it; returns its block */
static pp_ring_slot *finish_one(pp_claims *claims) {
  int32_t one = 1, row;
  pp_ring_slot *slot = pp_ring_at(claims->ring, pp_claims_take(claims, &one), &row);
  pp_claims_finish(claims, slot, 1);
  return slot;
}

TEST(a_block_is_cut_after_its_rows_if_all_of_them_are_written) {
  pp_ring ring;
  pp_claims claims;
  REQUIRE(open_ring(&ring, &claims, 8, 4));
  CHECK_EQ(ring.capacity, 2);
  for (int32_t rows = 1; rows < 4; rows++) {
    pp_ring_slot *slot = pp_ring_close_locked(&ring), *offered;
    int32_t one = 1, row;
    for (int32_t i = 1; i < rows; i++) CHECK(finish_one(&claims) == slot);
    CHECK(pp_ring_at(&ring, pp_claims_take(&claims, &one), &row) == slot);
    offered = offer(&ring, &claims, &blocks[20 + rows]);
    // one row is claimed and not written
    CHECK(!pp_claims_cut_locked(&claims, rows - 1));
    pp_ring_withdraw_locked(&ring);
    pp_claims_finish(&claims, slot, 1);
    CHECK_EQ(pp_claims_written(&claims, slot), rows);
    CHECK(offer(&ring, &claims, &blocks[20 + rows]) == offered);
    CHECK(pp_claims_cut_locked(&claims, rows));
    CHECK(!pp_claims_cut_locked(&claims, rows));
    // before it is taken, all other environments have room in other blocks
    for (int32_t i = rows; i < 8; i++) {
      pp_ring_slot *next = finish_one(&claims);
      CHECK(next != slot);
      if (i >= rows + 4) CHECK(next == offered && next->memory == &blocks[20 + rows]);
    }
    pp_ring_remove_locked(&ring);
    CHECK(pp_claims_are_complete(&claims, pp_ring_close_locked(&ring)));
    close_ring(&ring, &claims);
    REQUIRE(open_ring(&ring, &claims, 8, 4));
  }
  close_ring(&ring, &claims);
}

/* The caller waits for some rows of a block: it is woken once they are written, and by each later
 * row. */
TEST(a_lower_target_is_reached_earlier) {
  pp_ring ring;
  pp_claims claims;
  pp_ring_slot *slot;
  int32_t three = 3, one = 1, row;
  REQUIRE(open_ring(&ring, &claims, 10, 8));
  slot = pp_ring_at(&ring, pp_claims_take(&claims, &one), &row);
  pp_claims_take(&claims, &three);
  pp_claims_take(&claims, &one);
  pp_ring_slot_set_target(slot, 2);
  CHECK_EQ(pp_claims_finish(&claims, slot, 1), 0);
  CHECK_EQ(pp_claims_finish(&claims, slot, 3), 1);
  CHECK_EQ(pp_claims_finish(&claims, slot, 1), 1);
  close_ring(&ring, &claims);
}

TEST(an_ordered_block_is_closed_by_the_receive) {
  pp_ring ring;
  pp_claims claims;
  int32_t row;
  REQUIRE(open_ring(&ring, &claims, 6, 6));
  CHECK_EQ(ring.capacity, 2);
  for (int32_t round = 0; round < 20; round++) {
    int32_t first = pp_ring_append_locked(&ring, 2), second = pp_ring_append_locked(&ring, 3);
    pp_ring_slot *slot = pp_ring_at(&ring, first, &row);
    CHECK_EQ(row, 0);
    CHECK_EQ(second, first + 2);
    // rows may be finished before the receive sets how many there are
    CHECK_EQ(pp_claims_finish(&claims, slot, 2), 0);
    if (round % 2) CHECK_EQ(pp_claims_finish(&claims, slot, 3), 0);
    CHECK(!pp_claims_are_complete(&claims, slot));
    CHECK(pp_ring_close_locked(&ring) == slot);
    CHECK_EQ(pp_claims_are_complete(&claims, slot), round % 2);
    // rows sent from now on go to the next block, and closing again adds nothing to this one
    CHECK_EQ(pp_ring_append_locked(&ring, 1), (round + 1) % 2 * 6);
    CHECK(pp_ring_close_locked(&ring) == slot);
    if (round % 2 == 0) CHECK_EQ(pp_claims_finish(&claims, slot, 3), 1);
    CHECK(pp_claims_are_complete(&claims, slot));
    take(&ring, &claims, &blocks[round % 2]);
    ring.filled_rows = 0;
  }
  close_ring(&ring, &claims);
}

enum { THREADS = 4, CLAIMS = 4000, BATCH = 64 };

static _Atomic int32_t times[THREADS * CLAIMS], completed;

static void *claim_rows(void *arg) {
  pp_claims *claims = arg;
  for (int32_t done = 0; done < CLAIMS;) {
    int32_t count = 1 + done % 7, row;
    if (count > CLAIMS - done) count = CLAIMS - done;
    int32_t place = pp_claims_take(claims, &count);
    pp_ring_slot *slot = pp_ring_at(claims->ring, place, &row);
    for (int32_t i = 0; i < count; i++) atomic_fetch_add(&times[place + i], 1);
    if (done % 5 == 0) pp_claims_fail(claims, slot, place);
    atomic_fetch_add(&completed, pp_claims_finish(claims, slot, count));
    done += count;
  }
  return NULL;
}

TEST(four_threads_claim_every_row_once_and_one_of_them_completes_a_block) {
  static char many[THREADS * CLAIMS / BATCH];
  pthread_t threads[THREADS];
  pp_ring ring;
  pp_claims claims;
  REQUIRE(pp_ring_init(&ring, NULL, THREADS * CLAIMS, BATCH) == PP_OK);
  REQUIRE(pp_claims_init(&claims, &ring) == PP_OK);
  for (int32_t i = 0; i < ring.capacity; i++) offer(&ring, &claims, &many[i]);
  for (int32_t i = 0; i < THREADS; i++) {
    REQUIRE(pthread_create(&threads[i], NULL, claim_rows, &claims) == 0);
  }
  for (int32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int32_t i = 0; i < THREADS * CLAIMS; i++) CHECK_EQ(atomic_load(&times[i]), 1);
  CHECK_EQ(atomic_load(&completed), THREADS * CLAIMS / BATCH);
  for (int32_t i = 0; i < ring.capacity; i++)
    CHECK(pp_claims_are_complete(&claims, &ring.slots[i]));
  close_ring(&ring, &claims);
}
