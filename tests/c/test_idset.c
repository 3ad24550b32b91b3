/* Id sets: what is added in any order comes out once, rising, in runs. */
#include <stdlib.h>

#include "check.h"
#include "include/pp_env.h"
#include "pool/ids.h"
#include "threads/idset.h"

enum { FIRST = 40, COUNT = 300 };

/* Takes all ids out and counts each in has. Returns the number of entries. */
static int32_t take_all(pp_idset *set, int32_t longest, uint8_t *has) {
  pp_entry out[COUNT];
  int32_t taken = pp_idset_take(set, longest, out), last = -1;
  for (int32_t i = 0; i < taken; i++) {
    CHECK(PP_ENTRY_ENV(out[i]) > last);
    CHECK(PP_ENTRY_LENGTH(out[i]) <= longest);
    CHECK_EQ(PP_ENTRY_PLACE(out[i]), 0);
    last = PP_ENTRY_ENV(out[i]) + PP_ENTRY_LENGTH(out[i]) - 1;
    for (int32_t id = PP_ENTRY_ENV(out[i]); id <= last; id++) has[id]++;
  }
  return taken;
}

TEST(what_is_added_comes_out_once) {
  uint32_t random = 1;
  for (int32_t longest = 1; longest <= 64; longest += 7) {
    pp_idset set;
    REQUIRE(pp_idset_init(&set, FIRST, COUNT) == PP_OK);
    for (int32_t round = 0; round < 200; round++) {
      int32_t ids[2 * COUNT], count = 0, own = 0;
      uint8_t wanted[FIRST + 2 * COUNT] = {0}, has[FIRST + 2 * COUNT] = {0};
      // runs here and there, of foreign ids too
      while (count < round) {
        random = random * 1664525 + 1013904223;
        int32_t id = (int32_t)(random >> 8) % (FIRST + COUNT + 20), length = random >> 28;
        for (; length >= 0 && !wanted[id] && count < round; length--, id++) {
          wanted[id] = 1;
          ids[count++] = id;
        }
      }
      for (int32_t id = 0; id < FIRST + 2 * COUNT; id++) {
        if (id < FIRST || id >= FIRST + COUNT) wanted[id] = 0;
        own += wanted[id];
      }
      CHECK_EQ(pp_idset_add(&set, ids, count), own);
      take_all(&set, longest, has);
      CHECK(memcmp(has, wanted, sizeof(has)) == 0);
      // and the set is empty
      CHECK_EQ(take_all(&set, longest, has), 0);
    }
    pp_idset_fini(&set);
  }
}

TEST(neighbours_become_one_run_whatever_their_order) {
  pp_idset set;
  int32_t down[COUNT];
  uint8_t has[FIRST + COUNT] = {0};
  REQUIRE(pp_idset_init(&set, FIRST, COUNT) == PP_OK);
  for (int32_t i = 0; i < COUNT; i++) down[i] = FIRST + COUNT - 1 - i;
  CHECK_EQ(pp_idset_add(&set, down, COUNT), COUNT);
  // four words of 64 ids in runs of 16, and the other 44 ids in three runs
  CHECK_EQ(take_all(&set, 16, has), 4 * 4 + 3);
  for (int32_t id = FIRST; id < FIRST + COUNT; id++) CHECK_EQ(has[id], 1);
  pp_idset_fini(&set);
}

TEST(a_few_ids_of_the_largest_set_are_found) {
  pp_idset set;
  pp_entry out[4];
  const int32_t ids[] = {PP_MAX_ENVS - 1, 0, PP_MAX_ENVS - 2, 70000};
  REQUIRE(pp_idset_init(&set, 0, PP_MAX_ENVS) == PP_OK);
  CHECK_EQ(pp_idset_add(&set, ids, 4), 4);
  CHECK_EQ(pp_idset_take(&set, 16, out), 3);
  CHECK_EQ(out[0], PP_ENTRY(0, 0, 1));
  CHECK_EQ(out[1], PP_ENTRY(0, 70000, 1));
  CHECK_EQ(out[2], PP_ENTRY(0, PP_MAX_ENVS - 2, 2));
  pp_idset_fini(&set);
}

TEST(a_run_ends_where_ids_stop_rising_by_one) {
  int32_t ids[COUNT];
  for (int32_t length = 1; length < COUNT; length++) {
    for (int32_t i = 0; i < COUNT; i++) ids[i] = 5 + i + 3 * (i >= length);
    CHECK_EQ(pp_ids_run(ids, COUNT), length);
    CHECK_EQ(pp_ids_run(ids, length), length);
    ids[length] = 5 + length - 1;
    CHECK_EQ(pp_ids_run(ids, COUNT), length);
  }
  // ids may be anything: they have not been checked yet
  ids[0] = INT32_MAX;
  ids[1] = INT32_MIN;
  ids[2] = -1;
  CHECK_EQ(pp_ids_run(ids, 1), 1);
  CHECK_EQ(pp_ids_run(ids + 2, 1), 1);
}
