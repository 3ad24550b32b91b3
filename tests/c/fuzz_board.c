/* The memory that a pool shares with its workers, with anything written over it: the parent's calls
 * return, and read nothing outside. The input chooses what is written where, and which calls are
 * made. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include <stdlib.h>

#include "fuzz_choices.h"
#include "wild_tests.h"

enum { EXAMPLE_BYTES = 4096 };

/* Returns the next number that the input chooses, below 2^32; 0 once it has ended. */
static uint64_t draw(choices *from) {
  uint32_t number = 0;
  choose_into(from, &number, sizeof(number));
  return number;
}

/* numbers that are likely to be wrong somewhere */
static uint32_t some_word(choices *from) {
  const uint32_t words[] = {0, 1, 2, 4, 5, 6, UINT32_MAX, 1u << 31, INT32_MAX, 1u << 20};
  return draw(from) % 3 ? words[draw(from) % 10] : (uint32_t)draw(from);
}

/* overwrites parts of the board, and ids in the blocks that are being filled */
static void spoil(wild *x, choices *from) {
  const pp_pool *pool = x->w.c.pool;
  int64_t words = pp_board_size(&x->board->shape, &pool->layout) / 4;
  for (uint64_t i = 1 << draw(from) % 12; i > 0; i--) {
    ((uint32_t *)x->board->base)[(int64_t)draw(from) % words] = some_word(from);
  }
  for (int32_t slot = 0; slot < pool->ring.capacity; slot++) {
    int32_t filled = (int32_t)((pool->ring.received + slot) % pool->ring.num_slots);
    if (draw(from) % 2) ids_of(x, filled)[0] = (int32_t)some_word(from);
  }
  // records of environments are a small part of the board, so some are overwritten on purpose
  for (int i = 0; i < 8; i++) {
    pp_board_env *env = &x->board->envs[draw(from) % (uint64_t)x->board->shape.num_envs];
    ((uint32_t *)env)[draw(from) % (sizeof(*env) / 4)] = some_word(from);
  }
}

/* makes random calls to such a pool, and reads every reply to its end */
static void use(wild *x, choices *from) {
  pp_pool *pool = x->w.c.pool;
  int32_t n = x->w.c.options.num_envs, affected[MAX_ENVS], ids[MAX_ENVS];
  int64_t actions[MAX_ENVS] = {0}, size;
  const void *bytes;
  pp_stats stats;
  static volatile uint8_t sum;
  for (int i = 0; i < 12; i++) {
    int32_t lane = (int32_t)(draw(from) % (uint64_t)x->w.num_lanes), count = 0;
    switch (draw(from) % 6) {
      case 0:
        // whole batches, and in unordered pools some rows
        x->w.c.min_rows = !pool->ring.is_ordered && draw(from) % 4 == 0;
        client_try(&x->w.c, 0);
        break;
      case 1: pp_pool_worker_died(pool, lane, (int32_t)(draw(from) % 3), affected, NULL); break;
      case 2: pp_pool_request(pool, lane, "what", 4, NULL); break;
      case 3: pp_pool_answer(pool, lane, 0, &bytes, &size, NULL); break;
      case 4: pp_pool_stats(pool, &stats); break;
      default:
        for (int32_t e = 0; e < n; e++) {
          if (pp_pool_needs_reset(pool, e) != PP_ERR_STATE) ids[count++] = e;
          if (draw(from) % 2) pp_pool_set_payload(pool, e, "order", 5, NULL);
        }
        if (draw(from) % 2) {
          pp_pool_send_reset(pool, ids, count, NULL, NULL, NULL, NULL);
        } else {
          pp_pool_send(pool, ids, count, actions, PP_UINT8, NULL);
        }
    }
    for (int32_t e = 0; e < n; e++) {
      const uint8_t *reply = pp_pool_reply(pool, e, &size);
      for (int64_t b = 0; reply && b < size; b++) sum += reply[b];
    }
    CHECK(pp_pool_current_env(pool, lane) < n);
    CHECK(pp_pool_in_flight(pool) >= 0 && pp_pool_in_flight(pool) <= n);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int32_t sizes[][2] = {{4, 4}, {6, 3}, {5, 1}};
  choices from = {.bytes = data, .size = size};
  const uint64_t shape = draw(&from) % 6;
  wild x;
  open_wild(&x, sizes[shape % 3][0], sizes[shape % 3][1], 2);
  send_and_work(&x);
  if (shape >= 3) {
    client_try(&x.w.c, 0);
    use(&x, &from);
  }
  do {
    spoil(&x, &from);
    use(&x, &from);
  } while (from.read < size);
  close_wild(&x);
  if (atomic_load(&check_failed)) abort();
  return 0;
}

size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]) {
  return random_example(number, bytes, EXAMPLE_BYTES);
}
