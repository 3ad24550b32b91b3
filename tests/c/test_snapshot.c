/* Snapshots: a saved environment goes on as it would have, in whatever pool it is restored, and
 * bytes that are no snapshot change nothing. */
#define _GNU_SOURCE
#include "pool_tests.h"

/* for its static functions: the tests forge snapshots that only the check of each number can
 * refuse. The linker then leaves the engine's own copy out */
#include "native/snapshot.c"

enum { NUM_ENVS = 6, MAX_BYTES = 4096, STEPS = 200 };

/* the snapshots of all environments of a pool */
typedef struct snapshots {
  char bytes[NUM_ENVS][MAX_BYTES];
  const void *starts[NUM_ENVS];
  int64_t sizes[NUM_ENVS];
} snapshots;

static const int32_t everyone[NUM_ENVS] = {0, 1, 2, 3, 4, 5};

static client open_pool(const char *id, int32_t autoreset, int32_t threads, uint32_t seed) {
  client c = make_client(id, NUM_ENVS);
  c.options.num_threads = threads;
  c.options.autoreset = autoreset;
  // so short that many episodes end, and what follows depends on the random generator
  c.options.max_episode_steps = 12;
  c.options.extras = PP_WITH_STEP_TYPE | PP_WITH_DISCOUNT | PP_WITH_PLAYERS | PP_WITH_STATISTICS;
  client_open(&c);
  CHECK_EQ(client_seed(&c, seed), PP_OK);
  return c;
}

/* steps all environments; each game has other actions */
static void play(client *c, int64_t steps, int64_t game) {
  const pp_config *config = pp_pool_config(c->pool);
  for (int64_t t = 0; t < steps; t++) {
    int64_t actions[2 * NUM_ENVS];
    for (int32_t i = 0; i < NUM_ENVS * config->num_players; i++) {
      actions[i] = some_action(i, game * 1000 + t, config->action.n);
    }
    if (!CHECK_EQ(client_step(c, NULL, NUM_ENVS, actions), NUM_ENVS)) break;
  }
}

/* checks that both pools return the same for this many steps */
static void check_twins(client *one, client *other, int64_t steps) {
  for (int64_t t = 0; t < steps; t++) {
    int32_t same = 0;
    play(one, 1, 100 + t);
    play(other, 1, 100 + t);
    for (int32_t i = 0; i < NUM_ENVS; i++) same += sum_row(one, 1, i) == sum_row(other, 1, i);
    if (!CHECK_EQ(same, NUM_ENVS)) break;
  }
}

/* Saves one environment, twice: the second snapshot is the same as the first. Returns its size. */
static int64_t take_snapshot(client *c, int32_t env_id, char *bytes) {
  char again[MAX_BYTES];
  int64_t size = pp_pool_get_state(c->pool, env_id, NULL, 0, &c->error);
  if (!CHECK(size > 0 && size <= MAX_BYTES)) return 0;
  CHECK_EQ(pp_pool_get_state(c->pool, env_id, bytes, size, &c->error), size);
  CHECK_EQ(pp_pool_get_state(c->pool, env_id, again, size, &c->error), size);
  CHECK(memcmp(bytes, again, (size_t)size) == 0);
  return size;
}

static void take_snapshots(client *c, snapshots *all) {
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    all->sizes[i] = take_snapshot(c, i, all->bytes[i]);
    all->starts[i] = all->bytes[i];
  }
}

static int restore(client *c, const snapshots *all) {
  return pp_pool_set_state(c->pool, everyone, NUM_ENVS, all->starts, all->sizes, &c->error);
}

static int restore_one(client *c, int32_t env_id, const void *bytes, int64_t size) {
  return pp_pool_set_state(c->pool, &env_id, 1, &bytes, &size, &c->error);
}

/* ------------------------------------------------------------------------------- restoring -- */

/* Heap has save and load callbacks, the others are plain data; Duel has two players. */
TEST(a_restored_environment_goes_on_as_the_saved_one) {
  static const char *const ids[] = {"CartPole-v1", "Acrobot-v1", "test/Duel-v0", "test/Heap-v0",
                                    "test/Template-v0"};
  for (size_t e = 0; e < sizeof(ids) / sizeof(*ids); e++) {
    for (int32_t mode = PP_NEXT_STEP; mode <= PP_SAME_STEP; mode++) {
      // steps before the snapshot: never reset (-1), at the start of an episode, in the middle, and
      // when some have ended
      static const int32_t moments[] = {-1, 0, 1, 5, 11, 12, 13, 25};
      for (size_t m = 0; m < sizeof(moments) / sizeof(*moments); m++) {
        client saved = open_pool(ids[e], mode, 1, 7), other = open_pool(ids[e], mode, 3, 1000);
        static snapshots taken, back;
        if (moments[m] >= 0) CHECK_EQ(client_reset(&saved), NUM_ENVS);
        play(&saved, moments[m], 1);
        CHECK_EQ(client_reset(&other), NUM_ENVS);
        play(&other, 33, 2);
        take_snapshots(&saved, &taken);
        CHECK_EQ(restore(&other, &taken), PP_OK);
        take_snapshots(&other, &back);
        for (int32_t i = 0; i < NUM_ENVS; i++) {
          CHECK_EQ(back.sizes[i], taken.sizes[i]);
          CHECK(memcmp(back.bytes[i], taken.bytes[i], (size_t)taken.sizes[i]) == 0);
          CHECK_EQ(pp_pool_needs_reset(other.pool, i), pp_pool_needs_reset(saved.pool, i));
        }
        check_twins(&saved, &other, STEPS);
        // and a second time from the same bytes
        CHECK_EQ(restore(&saved, &taken), PP_OK);
        CHECK_EQ(restore(&other, &taken), PP_OK);
        check_twins(&saved, &other, 20);
        client_close(&saved);
        client_close(&other);
      }
    }
  }
}

TEST(some_are_restored_and_others_left_alone) {
  client c = open_pool("test/Duel-v0", PP_NEXT_STEP, 1, 7);
  client twin = open_pool("test/Duel-v0", PP_NEXT_STEP, 1, 7);
  static snapshots before, after, seen;
  const int32_t chosen[] = {4, 1};
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  CHECK_EQ(client_reset(&twin), NUM_ENVS);
  take_snapshots(&c, &before);
  play(&c, 5, 1);
  play(&twin, 5, 1);
  take_snapshots(&c, &after);
  // each of the two gets the other's
  const void *starts[] = {before.bytes[1], before.bytes[4]};
  const int64_t sizes[] = {before.sizes[1], before.sizes[4]};
  CHECK_EQ(pp_pool_set_state(c.pool, chosen, 2, starts, sizes, &c.error), PP_OK);
  CHECK_EQ(pp_pool_set_state(c.pool, chosen, 0, NULL, NULL, &c.error), PP_OK);
  take_snapshots(&c, &seen);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    const char *expected = i == 4 ? before.bytes[1] : i == 1 ? before.bytes[4] : after.bytes[i];
    CHECK(memcmp(seen.bytes[i], expected, (size_t)seen.sizes[i]) == 0);
  }
  play(&c, 1, 2);
  play(&twin, 1, 2);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    CHECK_EQ(sum_row(&c, 1, i) == sum_row(&twin, 1, i), i != 1 && i != 4);
  }
  client_close(&c);
  client_close(&twin);
}

TEST(a_snapshot_grows_with_what_save_writes) {
  client c = open_pool("test/Heap-v0", PP_NEXT_STEP, 1, 7);
  static char empty[MAX_BYTES], full[MAX_BYTES];
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  int64_t least = take_snapshot(&c, 0, empty), size = least;
  for (int32_t t = 1; t <= 8; t++) {
    play(&c, 1, t);
    size = take_snapshot(&c, 0, full);
    CHECK_EQ(size, least + 8 * t);
  }
  // longer to shorter and back
  CHECK_EQ(restore_one(&c, 0, empty, least), PP_OK);
  CHECK_EQ(pp_pool_get_state(c.pool, 0, NULL, 0, &c.error), least);
  CHECK_EQ(restore_one(&c, 0, full, size), PP_OK);
  CHECK_EQ(pp_pool_get_state(c.pool, 0, NULL, 0, &c.error), size);
  client_close(&c);
}

/* --------------------------------------------------------------------------------- refusing -- */

TEST(room_of_another_size_is_refused_and_left_alone) {
  client c = open_pool("CartPole-v1", PP_NEXT_STEP, 1, 7);
  char room[MAX_BYTES], clean[MAX_BYTES];
  memset(room, 0x5a, sizeof(room));
  memset(clean, 0x5a, sizeof(clean));
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  int64_t size = pp_pool_get_state(c.pool, 2, NULL, -1, &c.error);
  REQUIRE(size > 0 && size < MAX_BYTES);
  const int64_t wrong[] = {-1, 0, 1, size - 1, size + 1, INT64_MAX};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
    CHECK_EQ(pp_pool_get_state(c.pool, 2, room, wrong[i], &c.error), PP_ERR_ARGUMENT);
    CHECK(strstr(c.error.text, "room for") != NULL);
    CHECK(memcmp(room, clean, sizeof(room)) == 0);
  }
  client_close(&c);
}

/* a pool whose calls are refused, and a twin that never gets them: both must stay the same */
typedef struct pair {
  client c, twin;
  snapshots taken;
} pair;

static int pair_open(pair *p, const char *id) {
  p->c = open_pool(id, PP_NEXT_STEP, 1, 7);
  p->twin = open_pool(id, PP_NEXT_STEP, 1, 7);
  int is_reset = client_reset(&p->c) == NUM_ENVS && client_reset(&p->twin) == NUM_ENVS;
  take_snapshots(&p->c, &p->taken);
  play(&p->c, 5, 1);
  play(&p->twin, 5, 1);
  return CHECK(is_reset);
}

static void pair_close(pair *p) {
  check_twins(&p->c, &p->twin, 20);
  client_close(&p->c);
  client_close(&p->twin);
}

TEST(unknown_environments_are_refused) {
  static pair p;
  const int32_t outside[] = {-1, NUM_ENVS, INT32_MIN, INT32_MAX};
  char room[MAX_BYTES];
  REQUIRE(pair_open(&p, "CartPole-v1"));
  for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
    const int32_t ids[] = {0, outside[i]};
    CHECK_EQ(pp_pool_get_state(p.c.pool, ids[1], NULL, 0, &p.c.error), PP_ERR_ARGUMENT);
    CHECK_EQ(pp_pool_get_state(p.c.pool, ids[1], room, p.taken.sizes[0], &p.c.error),
             PP_ERR_ARGUMENT);
    CHECK(strstr(p.c.error.text, "choose 0 to 5") != NULL);
    CHECK_EQ(pp_pool_set_state(p.c.pool, ids, 2, p.taken.starts, p.taken.sizes, &p.c.error),
             PP_ERR_ARGUMENT);
    CHECK(strstr(p.c.error.text, "choose 0 to 5") != NULL);
  }
  pair_close(&p);
}

TEST(snapshots_of_other_environments_are_refused) {
  static pair p;
  static char bytes[MAX_BYTES];
  REQUIRE(pair_open(&p, "CartPole-v1"));
  // another id with the same state; other options; another state, of two players
  for (int32_t way = 0; way < 3; way++) {
    static const char *const ids[] = {"CartPole-v0", "CartPole-v1", "test/Duel-v0"};
    client foreign = make_client(ids[way], NUM_ENVS);
    if (way == 1) set_number(&foreign, "sutton_barto_reward", 1);
    REQUIRE(client_open(&foreign));
    CHECK_EQ(client_reset(&foreign), NUM_ENVS);
    int64_t size = take_snapshot(&foreign, 3, bytes);
    CHECK_EQ(restore_one(&foreign, 0, bytes, size), PP_OK);
    CHECK_EQ(restore_one(&p.c, 3, bytes, size), PP_ERR_ARGUMENT);
    CHECK(strstr(p.c.error.text, "environment 3: the snapshot is of another") != NULL);
    CHECK_EQ(restore_one(&foreign, 3, p.taken.bytes[3], p.taken.sizes[3]), PP_ERR_ARGUMENT);
    client_close(&foreign);
  }
  pair_close(&p);
}

TEST(damaged_snapshots_are_refused) {
  static const char *const ids[] = {"CartPole-v1", "test/Heap-v0"};
  for (size_t e = 0; e < 2; e++) {
    static pair p;
    static char bytes[MAX_BYTES + 1];
    REQUIRE(pair_open(&p, ids[e]));
    // a snapshot that load would accept
    int64_t size = take_snapshot(&p.c, 4, bytes);
    for (int64_t i = 0; i < size; i++) {
      for (int32_t bit = 0; bit < 8; bit++) {
        bytes[i] = (char)(bytes[i] ^ 1 << bit);
        CHECK_EQ(restore_one(&p.c, 1, bytes, size), PP_ERR_ARGUMENT);
        bytes[i] = (char)(bytes[i] ^ 1 << bit);
      }
    }
    for (int64_t length = -1; length <= size + 1; length++) {
      if (length != size) CHECK_EQ(restore_one(&p.c, 1, bytes, length), PP_ERR_ARGUMENT);
    }
    // and it is the damage that was refused
    CHECK_EQ(restore_one(&p.c, 1, bytes, size), PP_OK);
    CHECK_EQ(restore_one(&p.twin, 1, bytes, size), PP_OK);
    pair_close(&p);
  }
}

/* repairs the checksum of a forged snapshot */
static void repair(char *bytes, int64_t size) {
  uint64_t sum = checksum(bytes, size);
  memcpy(bytes, &sum, sizeof(sum));
}

/* a forged snapshot with the right checksum is refused for a number that no environment can have */
TEST(numbers_that_no_environment_has_are_refused) {
  static pair p;
  static char bytes[MAX_BYTES];
  REQUIRE(pair_open(&p, "CartPole-v1"));
  int64_t size = p.taken.sizes[0];
  for (int32_t way = 0; way < 15; way++) {
    snapshot_head head;
    memcpy(bytes, p.taken.bytes[0], (size_t)size);
    memcpy(&head, bytes, sizeof(head));
    if (way == 0) head.seed_size = -1;
    if (way == 1) head.seed_size = PP_SEED_WORDS + 1;
    if (way == 2) head.phase = PP_RUNNING - 1;
    if (way == 3) head.phase = PP_FRESH + 1;
    if (way == 4) head.num_players = 2;
    if (way == 5) head.version++;
    if (way == 6) head.magic++;
    if (way == 7) head.identity++;
    // more and less than the environment's state
    int64_t length = way == 8 ? size + 8 : way == 9 ? size - 8 : size;
    if (way == 10) head.rng.inc_low ^= 1;
    if (way == 11) head.rng.has_uint32 = 2;
    if (way == 12) head.elapsed = -1;
    // a generator that was never seeded, without a seed that the next reset takes
    if (way >= 13) head.rng = (pp_rng){0};
    if (way == 14) head.phase = PP_FRESH;
    memcpy(bytes, &head, sizeof(head));
    repair(bytes, length);
    CHECK_EQ(restore_one(&p.c, 1, bytes, length), PP_ERR_ARGUMENT);
  }
  pair_close(&p);
}

/* one draw, and environments that are equal in all else */
static pp_variation vary(const client *c, const pp_draw *draw) {
  static const int32_t set_of[NUM_ENVS];
  return (pp_variation){
      .num_sets = 1, .values = c->values, .set_of = set_of, .draws = draw, .num_draws = 1};
}

/* the same for the generator of drawn values and the limit that it has drawn */
TEST(draws_that_no_environment_has_are_refused) {
  client c = make_client("CartPole-v1", NUM_ENVS);
  static char bytes[MAX_BYTES], good[MAX_BYTES];
  const pp_draw limit = {
      .option = c.def->num_options, .kind = PP_DRAW_INTEGER, .first = 20, .last = 30};
  const pp_variation variation = vary(&c, &limit);
  c.options.variation = &variation;
  REQUIRE(client_open(&c));
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  int64_t size = take_snapshot(&c, 0, good);
  for (int32_t way = 0; way < 6; way++) {
    struct {
      pp_rng rng;
      int64_t i;
      double f;
    } drawn;
    snapshot_head head = head_of(good);
    size_t at = sizeof(head) + sizeof(double);
    memcpy(bytes, good, (size_t)size);
    memcpy(&drawn, good + at, sizeof(drawn));
    if (way == 0) drawn.rng.inc_low ^= 1;
    if (way == 1) drawn.rng = (pp_rng){0};
    if (way == 2) drawn.i = 31;
    if (way == 3) drawn.f += 1;
    if (way == 4) head.elapsed = (int32_t)drawn.i + 1;
    if (way == 5) head.elapsed = (int32_t)drawn.i;
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + at, &drawn, sizeof(drawn));
    repair(bytes, size);
    CHECK_EQ(restore_one(&c, 1, bytes, size), way == 5 ? PP_OK : PP_ERR_ARGUMENT);
  }
  client_close(&c);
}

TEST(several_environments_are_all_restored_or_none) {
  static pair p;
  REQUIRE(pair_open(&p, "test/Heap-v0"));
  for (int32_t bad = 0; bad < NUM_ENVS; bad++) {
    p.taken.bytes[bad][p.taken.sizes[bad] / 2] ^= 1;
    CHECK_EQ(restore(&p.c, &p.taken), PP_ERR_ARGUMENT);
    char words[32];
    snprintf(words, sizeof(words), "environment %d: ", bad);
    CHECK(strstr(p.c.error.text, words) != NULL);
    p.taken.bytes[bad][p.taken.sizes[bad] / 2] ^= 1;
  }
  pair_close(&p);
}

TEST(an_environment_in_flight_is_refused) {
  static pair p;
  const int32_t two[] = {1, 5};
  const int64_t zeros[2] = {0};
  char room[MAX_BYTES];
  REQUIRE(pair_open(&p, "test/Heap-v0"));
  CHECK_EQ(pp_pool_send(p.c.pool, two, 2, zeros, PP_INT64, &p.c.error), PP_OK);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    int is_in_flight = i == 1 || i == 5;
    int64_t seen = pp_pool_get_state(p.c.pool, i, NULL, 0, &p.c.error);
    CHECK(is_in_flight ? seen == PP_ERR_STATE : seen > 0);
    if (!is_in_flight) continue;
    CHECK(strstr(p.c.error.text, "in flight") != NULL);
    seen = pp_pool_get_state(p.c.pool, i, room, p.taken.sizes[i], &p.c.error);
    CHECK_EQ(seen, PP_ERR_STATE);
    CHECK_EQ(restore_one(&p.c, i, p.taken.bytes[i], p.taken.sizes[i]), PP_ERR_STATE);
  }
  CHECK_EQ(restore(&p.c, &p.taken), PP_ERR_STATE);
  CHECK(strstr(p.c.error.text, "environment 1 is in flight") != NULL);
  CHECK_EQ(client_recv(&p.c), 2);
  CHECK_EQ(client_step(&p.twin, two, 2, zeros), 2);
  check_twins(&p.c, &p.twin, 5);
  CHECK_EQ(restore(&p.c, &p.taken), PP_OK);
  CHECK_EQ(restore(&p.twin, &p.taken), PP_OK);
  pair_close(&p);
}

TEST(a_closed_pool_neither_saves_nor_restores) {
  static pair p;
  REQUIRE(pair_open(&p, "CartPole-v1"));
  pp_pool_close(p.c.pool, -1);
  CHECK_EQ(pp_pool_get_state(p.c.pool, 0, NULL, 0, &p.c.error), PP_ERR_CLOSED);
  CHECK_EQ(restore(&p.c, &p.taken), PP_ERR_CLOSED);
  client_close(&p.c);
  client_close(&p.twin);
}

/* ---------------------------------------------------------------------------------- failing -- */

/* an environment that counts its steps, and whose callbacks fail as `failing` says */
static enum { NOTHING, SIZE, SAVE, LOAD, STATE } failing;
static int32_t failing_env;

static int fail(pp_env *env, const char *where) {
  snprintf(env->error->text, sizeof(env->error->text), "made to fail in %s", where);
  return PP_ERR_ENV;
}

static int fussy_reset(pp_env *env, pp_reset *how) {
  (void)how;
  *(int64_t *)env->state = 0;
  return PP_OK;
}

static int fussy_step(pp_env *env, const void *action, pp_result *result) {
  (void)action, (void)result;
  ++*(int64_t *)env->state;
  return PP_OK;
}

static int fussy_observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) memcpy(rows[0], env->state, sizeof(int64_t));
  return PP_OK;
}

static int64_t fussy_save(pp_env *env, void *bytes) {
  if (failing == (bytes ? SAVE : SIZE) && env->id == failing_env) return fail(env, "save");
  if (bytes) memcpy(bytes, env->state, sizeof(int64_t));
  return sizeof(int64_t);
}

/* fails when half of its work is done */
static int fussy_load(pp_env *env, const void *bytes, int64_t size) {
  if (size != sizeof(int64_t)) return fail(env, "size");
  *(int64_t *)env->state = -1;
  if (failing == LOAD && env->id == failing_env) return fail(env, "load");
  memcpy(env->state, bytes, sizeof(int64_t));
  return PP_OK;
}

/* what the last call of check_state has seen */
static struct {
  const pp_env *env;
  const void *state;
  int64_t value, present;
  int32_t elapsed;
  bool has_cache, has_reason;
  int32_t calls;
} seen_state;

static int fussy_check_state(const pp_env *env, const pp_saved *saved) {
  if (saved->size != sizeof(int64_t)) return fail((pp_env *)(uintptr_t)env, "size");
  seen_state.env = env;
  seen_state.state = saved->state;
  memcpy(&seen_state.value, saved->state, sizeof(int64_t));
  memcpy(&seen_state.present, env->state, sizeof(int64_t));
  seen_state.elapsed = *env->elapsed;
  seen_state.has_cache = env->cache != NULL;
  seen_state.calls++;
  if (failing != STATE || env->id != failing_env) return PP_OK;
  if (seen_state.has_reason) snprintf(env->error->text, PP_ERROR_TEXT, "count=-7");
  // any failure is a refusal
  return PP_ERR_ENV;
}

static const pp_field fussy_fields[] = {
    {.name = "obs", .dtype = PP_INT64, .low = 0, .high = 1e9},
};

static const pp_env_def fussy = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Fussy-v0",
    .family = "test",
    .reference = "none",
    .state_size = sizeof(int64_t),
    .num_fields = 1,
    .fields = fussy_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = fussy_reset,
    .step = fussy_step,
    .observe = fussy_observe,
    .save = fussy_save,
    .load = fussy_load,
    .check_state = fussy_check_state,
};

/* the same, but the engine copies the state */
static pp_env_def plain_fussy(void) {
  pp_env_def def = fussy;
  def.save = NULL;
  def.load = NULL;
  return def;
}

static int fussy_open(client *c) {
  *c = make_client("CartPole-v1", NUM_ENVS);
  c->def = &fussy;
  failing = NOTHING;
  failing_env = 3;
  return client_open(c) && CHECK_EQ(client_reset(c), NUM_ENVS);
}

TEST(a_failing_save_is_reported_and_changes_nothing) {
  client c;
  char room[MAX_BYTES];
  REQUIRE(fussy_open(&c));
  play(&c, 4, 1);
  int64_t size = pp_pool_get_state(c.pool, 3, NULL, 0, &c.error);
  for (failing = SIZE; failing <= SAVE; failing++) {
    CHECK_EQ(pp_pool_get_state(c.pool, 3, room, size, &c.error), PP_ERR_ENV);
    CHECK(strstr(c.error.text, "environment 3 can't be saved: made to fail in save") != NULL);
    CHECK_EQ(pp_pool_get_state(c.pool, 2, room, size, &c.error), size);
  }
  failing = NOTHING;
  CHECK_EQ(pp_pool_get_state(c.pool, 3, room, size, &c.error), size);
  play(&c, 1, 2);
  for (int32_t i = 0; i < NUM_ENVS; i++) CHECK_EQ(((int64_t *)column(&c, "obs"))[i], 5);
  client_close(&c);
}

TEST(a_failing_load_begins_a_new_episode_and_the_pool_goes_on) {
  client c;
  static snapshots taken;
  REQUIRE(fussy_open(&c));
  play(&c, 4, 1);
  take_snapshots(&c, &taken);
  play(&c, 5, 2);
  failing = LOAD;
  CHECK_EQ(restore(&c, &taken), PP_ERR_ENV);
  CHECK(strstr(c.error.text, "environment 3 can't be restored: made to fail in load") != NULL);
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    int64_t seen;
    void *const fields[] = {&seen};
    int status = pp_pool_observe(c.pool, i, fields, &c.error);
    // those before it are restored, those after it are as they were
    CHECK_EQ(status, i == 3 ? PP_ERR_STATE : PP_OK);
    if (i != 3) CHECK_EQ(seen, i < 3 ? 4 : 9);
    CHECK_EQ(pp_pool_needs_reset(c.pool, i), i == 3);
  }
  play(&c, 1, 3);
  const int64_t *counts = column(&c, "obs");
  const int32_t *elapsed = column(&c, "elapsed_step");
  for (int32_t i = 0; i < NUM_ENVS; i++) {
    int64_t expected = i < 3 ? 5 : i == 3 ? 0 : 10;
    CHECK_EQ(counts[i], expected);
    CHECK_EQ(elapsed[i], expected);
  }
  // and it can be restored later
  failing = NOTHING;
  CHECK_EQ(restore(&c, &taken), PP_OK);
  play(&c, 1, 4);
  for (int32_t i = 0; i < NUM_ENVS; i++) CHECK_EQ(((int64_t *)column(&c, "obs"))[i], 5);
  client_close(&c);
}

TEST(a_refused_state_changes_no_environment) {
  const pp_env_def plain = plain_fussy();
  for (int32_t is_plain = 0; is_plain < 2; is_plain++) {
    client c = make_client("CartPole-v1", NUM_ENVS);
    static snapshots taken, before, after;
    c.def = is_plain ? &plain : &fussy;
    failing = NOTHING;
    failing_env = 3;
    REQUIRE(client_open(&c) && CHECK_EQ(client_reset(&c), NUM_ENVS));
    play(&c, 4, 1);
    take_snapshots(&c, &taken);
    play(&c, 5, 2);
    take_snapshots(&c, &before);
    failing = STATE;
    for (int32_t has_reason = 0; has_reason < 2; has_reason++) {
      seen_state.has_reason = has_reason;
      CHECK_EQ(restore(&c, &taken), PP_ERR_ARGUMENT);
      CHECK(strstr(c.error.text,
                   has_reason ? "environment 3: the snapshot is damaged, it holds no state of "
                                "test/Fussy-v0 (count=-7): give what get_state returned"
                              : "(no reason given)") != NULL);
      // environments before it are as they were, and none needs a reset
      take_snapshots(&c, &after);
      CHECK(memcmp(before.bytes, after.bytes, sizeof(before.bytes)) == 0);
    }
    failing = NOTHING;
    CHECK_EQ(restore(&c, &taken), PP_OK);
    play(&c, 1, 4);
    for (int32_t i = 0; i < NUM_ENVS; i++) CHECK_EQ(((int64_t *)column(&c, "obs"))[i], 5);
    client_close(&c);
  }
}

TEST(check_state_sees_what_the_snapshot_would_restore) {
  const pp_env_def plain = plain_fussy();
  for (int32_t is_plain = 0; is_plain < 2; is_plain++) {
    client c = make_client("CartPole-v1", NUM_ENVS);
    static snapshots taken;
    c.def = is_plain ? &plain : &fussy;
    failing = NOTHING;
    REQUIRE(client_open(&c) && CHECK_EQ(client_reset(&c), NUM_ENVS));
    play(&c, 4, 1);
    take_snapshots(&c, &taken);
    play(&c, 5, 2);
    seen_state.calls = 0;
    CHECK_EQ(restore_one(&c, 2, taken.bytes[2], taken.sizes[2]), PP_OK);
    CHECK_EQ(seen_state.calls, 1);
    CHECK_EQ(seen_state.value, 4);
    CHECK_EQ(seen_state.present, 9);
    CHECK_EQ(seen_state.elapsed, 4);
    CHECK(!seen_state.has_cache);
    if (is_plain) CHECK_EQ((uintptr_t)seen_state.state % 64, 0);
    client_close(&c);
  }
}

/* the options of the present episode would refuse or let pass states of another one */
static int32_t seen_length;

static int check_drawn(const pp_env *env, const pp_saved *saved) {
  (void)saved;
  seen_length = (int32_t)env->options[0].i;
  return PP_OK;
}

static const pp_option drawn_options[] = {
    {.name = "length", .type = PP_OPT_INT, .number = 5, .low = 1, .high = 1000, .varies = true}};

TEST(check_state_sees_the_drawn_options_of_the_snapshot) {
  const pp_draw draw = {.kind = PP_DRAW_INTEGER, .first = 1, .last = 1000};
  pp_env_def def = plain_fussy();
  client c = make_client("CartPole-v1", NUM_ENVS);
  const pp_variation variation = vary(&c, &draw);
  static char bytes[MAX_BYTES];
  pp_value first[1], second[1];
  int32_t limit;
  def.options = drawn_options;
  def.num_options = 1;
  def.check_state = check_drawn;
  c.def = &def;
  c.options.variation = &variation;
  failing = NOTHING;
  REQUIRE(client_open(&c) && CHECK_EQ(client_reset(&c), NUM_ENVS));
  CHECK_EQ(pp_pool_option_values(c.pool, 1, first, &limit, &c.error), PP_OK);
  int64_t size = take_snapshot(&c, 1, bytes);
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  CHECK_EQ(pp_pool_option_values(c.pool, 1, second, &limit, &c.error), PP_OK);
  CHECK(first->i != second->i);
  CHECK_EQ(restore_one(&c, 1, bytes, size), PP_OK);
  CHECK_EQ(seen_length, first->i);
  client_close(&c);
}
