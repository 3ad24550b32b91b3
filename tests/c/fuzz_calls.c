/* Any sequence of calls with any arguments, in pools of any options: each call returns, with a
 * negative status for what is wrong, and touches only the memory that it was given. The input
 * chooses the environment, the pool's options, the calls and their arguments. */
#define _GNU_SOURCE
#define CHECK_NO_MAIN
#include <math.h>
#include <stdlib.h>

#include "fuzz_choices.h"
#include "pool_tests.h"

enum { EXAMPLE_BYTES = 1 << 14, MOST_CALLS = 200, MOST_ENVS = 6, ROOM = 1 << 16 };

static const char *const ids[] = {"CartPole-v1",    "Pendulum-v1",      "Taxi-v4",
                                  "Blackjack-v1",   "FrozenLake-v1",    "test/Duel-v0",
                                  "test/Heap-v0",   "test/Template-v0", "classic/connect_four_v3",
                                  "classic/rps_v2", "mpe/simple_tag_v3"};

/* what a call may be given: memory of ROOM bytes, or null */
typedef struct arguments {
  int32_t env_ids[MOST_ENVS + 2];
  int32_t count;
  uint8_t *bytes; /* of actions, seeds, snapshots and results */
  int32_t *sizes; /* of seeds */
  int32_t dtype;
} arguments;

static uint8_t choose(choices *from) {
  uint8_t byte = 0;
  choose_into(from, &byte, 1);
  return byte;
}

/* numbers at which checks of ranges go wrong, and small ones */
static int32_t number(choices *from) {
  const int32_t numbers[] = {0,  1,         2,        3, -1, -2, MOST_ENVS, MOST_ENVS + 1,
                             64, INT32_MAX, INT32_MIN};
  const uint8_t which = choose(from);
  return which < 200 ? which % (MOST_ENVS + 1) : numbers[which % (sizeof(numbers) / 4)];
}

static int64_t long_number(choices *from) {
  const int64_t numbers[] = {0, 1, 8, -1, ROOM, INT64_MAX, INT64_MIN};
  return numbers[choose(from) % 7];
}

static void *or_null(choices *from, void *memory) {
  return choose(from) % 16 ? memory : NULL;
}

/* ---------------------------------------------------------------------------------- options -- */

static pp_value some_value(choices *from) {
  static const char *const texts[] = {"", "4x4", "8x8", "random", "human", "rgb_array", "\xff"};
  const double numbers[] = {0, 1, -1, 0.5, 1e300, -1e300, NAN, INFINITY};
  pp_value v = {.given = choose(from) % 4 == 0};
  v.i = number(from);
  v.f = numbers[choose(from) % 8];
  v.s = texts[choose(from) % 7];
  v.size = (int64_t)strlen(v.s);
  return v;
}

static pp_pool_options some_options(choices *from) {
  const int32_t envs = number(from);
  pp_pool_options o = {.num_envs = envs > MOST_ENVS ? -1 : envs};
  o.batch_size = choose(from) % 2 ? o.num_envs : number(from);
  o.num_threads = choose(from) % 3;
  if (choose(from) % 16 == 0) o.num_threads = -1;
  o.thread_affinity_offset = choose(from) % 4 ? -1 : number(from);
  o.autoreset = choose(from) % 4;
  o.max_episode_steps = choose(from) % 2 ? -1 : number(from);
  o.reward_dtype = choose(from) % 8 ? PP_FLOAT64 : number(from);
  o.extras = choose(from) % 32;
  return o;
}

/* Makes a pool with its batches; returns whether it was made. */
static bool open_pool(client *c, choices *from) {
  *c = (client){.def = find_env(ids[choose(from) % (sizeof(ids) / sizeof(*ids))])};
  if (!c->def || c->def->num_options > MAX_OPTIONS) abort();
  for (int32_t i = 0; i < c->def->num_options; i++) {
    c->values[i] = some_value(from);
    // most pools should be made, so most have no options
    if (choose(from) % 4) c->values[i].given = false;
  }
  c->options = some_options(from);
  if (pp_pool_create(c->def, c->values, &c->options, &c->pool, &c->error) < 0) {
    CHECK(c->pool == NULL);
    return false;
  }
  c->columns = pp_pool_columns(c->pool, &c->num_columns);
  c->size = pp_batch_size(c->pool);
  c->capacity = pp_pool_batches(c->pool);
  CHECK(c->capacity <= MAX_BATCHES);
  for (int32_t i = 0; i < c->capacity; i++) {
    c->given[i] = pp_batch_alloc(c->pool);
    // a pool that lacks batches must refuse to send
    if (choose(from) % 64) pp_pool_offer(c->pool, c->given[i], &c->error);
  }
  c->fresh = pp_batch_alloc(c->pool);
  return true;
}

/* ------------------------------------------------------------------------------------ calls -- */

static void choose_arguments(arguments *a, choices *from) {
  a->count = choose(from) % (MOST_ENVS + 2);
  if (choose(from) % 32 == 0) a->count = choose(from) % 2 ? -1 : INT32_MIN;
  for (int32_t i = 0; i < MOST_ENVS + 2; i++) {
    a->env_ids[i] = choose(from) % 8 ? i : number(from);
    a->sizes[i] = choose(from) % 4;
    if (choose(from) % 64 == 0) a->sizes[i] = number(from);
  }
  a->dtype = choose(from) % 2 ? PP_INT64 : number(from);
  for (int i = 0; i < 32; i++) a->bytes[i] = choose(from) % 2 ? choose(from) : 0;
}

static void send(client *c, const arguments *a, choices *from) {
  const int32_t *env_ids = choose(from) % 2 ? a->env_ids : NULL;
  // without ids the count is that of all environments, as the contract says
  const int32_t count = env_ids ? a->count : c->options.num_envs;
  const void *actions = or_null(from, a->bytes);
  switch (choose(from) % 3) {
    case 0: pp_pool_send(c->pool, env_ids, count, actions, a->dtype, &c->error); return;
    case 1:
      client_took(c, pp_pool_step(c->pool, env_ids, count, actions, a->dtype,
                                  or_null(from, c->fresh), &c->error));
      return;
    default:
      pp_pool_send_reset(c->pool, env_ids, count,
                         choose(from) % 2 ? NULL : (const uint32_t *)a->bytes,
                         choose(from) % 2 ? NULL : a->sizes, NULL, &c->error);
  }
}

static void receive(client *c, choices *from) {
  const int64_t timeout = choose(from) % 4 ? 0 : -1;
  void *fresh = or_null(from, c->fresh);
  int32_t count, rows;
  c->min_rows = choose(from) % 4 ? 0 : number(from);
  client_took(c, c->min_rows ? pp_pool_recv_some(c->pool, fresh, c->min_rows, timeout, &c->error)
                             : pp_pool_recv(c->pool, fresh, timeout, &c->error));
  pp_pool_failed(c->pool, &count, &rows);
  pp_pool_last_result(c->pool, fresh);
}

static void use_states(client *c, const arguments *a, choices *from) {
  const void *snapshots[MOST_ENVS + 2];
  int64_t sizes[MOST_ENVS + 2];
  const int64_t room = pp_pool_get_state(c->pool, a->env_ids[0], NULL, 0, &c->error);
  int64_t written = -1;
  if (room > 0 && room <= ROOM) {
    written = pp_pool_get_state(c->pool, a->env_ids[0], a->bytes,
                                choose(from) % 8 ? room : room - 1, &c->error);
  }
  for (int32_t i = 0; i < MOST_ENVS + 2; i++) {
    snapshots[i] = or_null(from, a->bytes);
    sizes[i] = choose(from) % 8 && written > 0 ? written : choose(from);
  }
  if (choose(from) % 8 == 0) sizes[0] = -1;
  pp_pool_set_state(c->pool, or_null(from, (void *)a->env_ids), a->count,
                    or_null(from, (void *)snapshots), or_null(from, sizes), &c->error);
}

static void look(client *c, const arguments *a, choices *from) {
  const int32_t env_id = a->env_ids[1];
  pp_value values[MAX_OPTIONS];
  pp_stats stats;
  pp_span spans[4];
  int64_t lost;
  int32_t limit;
  void *fields[PP_MAX_FIELDS] = {0};
  pp_image image = {0};
  switch (choose(from) % 10) {
    case 0: pp_pool_option_values(c->pool, env_id, values, &limit, &c->error); return;
    case 1: pp_pool_observe(c->pool, env_id, fields, &c->error); return;
    case 2: pp_pool_render(c->pool, env_id, &image, &c->error); return;
    case 3: pp_pool_env_error(c->pool, env_id); return;
    case 4: pp_pool_needs_reset(c->pool, env_id); return;
    case 5: pp_pool_stats(c->pool, or_null(from, &stats)); return;
    case 6: pp_pool_trace_start(c->pool, &c->error); return;
    case 7: pp_pool_trace_stop(c->pool); return;
    case 8: pp_pool_trace_read(c->pool, number(from), spans, choose(from) % 5, &lost, NULL); return;
    default: pp_pool_seed(c->pool, or_null(from, a->bytes), or_null(from, a->sizes), &c->error);
  }
}

/* what only pools with worker processes have */
static void use_processes(client *c, const arguments *a, choices *from) {
  const int32_t env_id = a->env_ids[2], lane = number(from);
  const void *bytes;
  int64_t size = long_number(from);
  int32_t affected[MOST_ENVS + 2], count;
  switch (choose(from) % 12) {
    case 0: CHECK(pp_pool_memory_fd(c->pool) < 0); return;
    case 1: CHECK(pp_pool_reply_fd(c->pool, lane) < 0); return;
    case 2: CHECK(pp_pool_reserve(c->pool) < 0); return;
    case 3: pp_pool_lane_of(c->pool, env_id); return;
    case 4: CHECK(pp_pool_set_payload(c->pool, env_id, "x", 1, &c->error) < 0); return;
    case 5: CHECK(!pp_pool_reply(c->pool, env_id, &size)); return;
    case 6: pp_pool_replied(c->pool, &count); return;
    case 7: CHECK(pp_pool_request(c->pool, lane, "x", 1, &c->error) < 0); return;
    case 8: CHECK(pp_pool_answer(c->pool, lane, 0, &bytes, &size, &c->error) < 0); return;
    case 9: pp_pool_current_env(c->pool, lane); return;
    case 10: pp_pool_waiting_turns(c->pool, lane); return;
    default: CHECK(pp_pool_worker_died(c->pool, lane, number(from), affected, &c->error) < 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  choices from = {.bytes = data, .size = size};
  arguments a = {.bytes = calloc(1, ROOM), .sizes = calloc(MOST_ENVS + 2, sizeof(int32_t))};
  client c;
  if (!a.bytes || !a.sizes) abort();
  if (open_pool(&c, &from)) {
    for (int call = 0; call < MOST_CALLS && from.read < size; call++) {
      choose_arguments(&a, &from);
      switch (choose(&from) % 8) {
        case 0:
        case 1: send(&c, &a, &from); break;
        case 2:
        case 3: receive(&c, &from); break;
        case 4: use_states(&c, &a, &from); break;
        case 5: use_processes(&c, &a, &from); break;
        default: look(&c, &a, &from);
      }
      CHECK(pp_pool_in_flight(c.pool) >= 0);
      CHECK(pp_pool_in_flight(c.pool) <= c.options.num_envs);
      if (choose(&from) == 255) pp_pool_close(c.pool, -1);
    }
    client_close(&c);
  }
  free(a.bytes);
  free(a.sizes);
  if (atomic_load(&check_failed)) abort();
  return 0;
}

size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]) {
  return random_example(number, bytes, EXAMPLE_BYTES);
}
