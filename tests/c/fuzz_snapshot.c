/* Snapshots of any bytes, with checksums that fit: pp_pool_set_state refuses them, or what it has
 * restored can be stepped, observed and saved. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include <stdlib.h>

#include "fuzz.h"
#include "pool_tests.h"

/* Plain states, save and load, several players. None is so large that it is packed: fuzz_pack.c. */
static const char *const ids[] = {"CartPole-v1",
                                  "Acrobot-v1",
                                  "MountainCar-v0",
                                  "Taxi-v4",
                                  "Blackjack-v1",
                                  "FrozenLake-v1",
                                  "CliffWalking-v1",
                                  "Catch-v0",
                                  "NChain-v0",
                                  "test/Duel-v0",
                                  "test/Heap-v0",
                                  "test/Template-v0",
                                  "classic/connect_four_v3",
                                  "mpe/simple_tag_v3",
                                  "mpe/simple_crypto_v3"};
enum { IDS = sizeof(ids) / sizeof(*ids), STEPS = 3, MAX_PLAYERS = 16 };

static client clients[IDS];

/* The leak sanitizer asks for everything. */
__attribute__((destructor)) static void close_all(void) {
  for (size_t i = 0; i < IDS; i++) {
    if (clients[i].pool) client_close(&clients[i]);
  }
}

static client *client_of(size_t which) {
  client *c = &clients[which];
  if (c->pool) return c;
  *c = make_client(ids[which], 1);
  c->options.extras = PP_WITH_STEP_TYPE | PP_WITH_DISCOUNT | PP_WITH_PLAYERS | PP_WITH_STATISTICS;
  if (!client_open(c) || client_reset(c) != 1) abort();
  return c;
}

/* An environment may fail in a state that nobody has played to, but not the engine. */
static void play(client *c) {
  const pp_config *config = pp_pool_config(c->pool);
  for (int64_t t = 0; t < STEPS; t++) {
    int64_t actions[MAX_PLAYERS];
    for (int32_t i = 0; i < config->num_players && i < MAX_PLAYERS; i++) {
      actions[i] = some_action(i, t, config->action.n);
    }
    const int32_t rows = client_step(c, NULL, 1, actions);
    if (rows != 1 && rows != PP_ERR_ENV) return;
  }
}

static int restore(client *c, const void *bytes, int64_t size) {
  const int32_t env_id = 0;
  return pp_pool_set_state(c->pool, &env_id, 1, &bytes, &size, &c->error);
}

/* Writes the environment's snapshot; returns its size. */
static int64_t save(client *c, uint8_t *bytes) {
  const int64_t room = pp_pool_get_state(c->pool, 0, NULL, 0, &c->error);
  if (room <= 0 || room >= FUZZ_BYTES) abort();
  return pp_pool_get_state(c->pool, 0, bytes, room, &c->error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t honest[FUZZ_BYTES], saved[FUZZ_BYTES];
  if (size < 1 || size > FUZZ_BYTES) return 0;
  client *c = client_of(data[0] % IDS);
  const int64_t bytes = (int64_t)size - 1, kept = save(c, honest);
  // of exactly this size, so that a sanitizer sees a read behind the end
  uint8_t *sealed = malloc(size - 1 + (size == 1));
  if (!sealed) abort();
  memcpy(sealed, data + 1, size - 1);
  // the first byte's upper half: whether the checksum stays wrong
  if (data[0] < 0xf0) pp_snapshot_seal(sealed, bytes);
  if (restore(c, sealed, bytes) == PP_OK) {
    play(c);
    CHECK(save(c, saved) > 0);
  } else {
    // nothing has changed
    CHECK_EQ(save(c, saved), kept);
    CHECK(memcmp(saved, honest, (size_t)kept) == 0);
  }
  free(sealed);
  CHECK_EQ(restore(c, honest, kept), PP_OK);
  if (atomic_load(&check_failed)) abort();
  return 0;
}

size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]) {
  if (number >= IDS) return 0;
  client *c = client_of((size_t)number);
  bytes[0] = (uint8_t)number;
  return 1 + (size_t)save(c, bytes + 1);
}
