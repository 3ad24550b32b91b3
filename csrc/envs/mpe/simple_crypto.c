/* mpe/simple_crypto_v3: Alice sends Bob a message and they share a key; Eve listens. */
#include "world.h"

enum { EVE, BOB, ALICE, NUM_AGENTS, NUM_LANDMARKS = 2, CHANNELS = 4 };

/* state->goals: the landmark whose colour is the message, and the one whose colour is the key */
enum { MESSAGE, KEY };

static int make(mpe_shared *shared, const pp_value *options, pp_error *error) {
  static const char *const names[NUM_AGENTS] = {"eve", "bob", "alice"};
  int status = mpe_populate(shared, NUM_AGENTS, NUM_LANDMARKS, error);
  (void)options;
  shared->num_channels = CHANNELS;
  shared->keeps_messages = true;
  shared->benchmark_size = 2 * CHANNELS;
  for (int32_t i = 0; i < NUM_AGENTS; i++) {
    mpe_name(shared, i, names[i], 0);
    shared->entities[i].is_movable = false;
    shared->entities[i].is_silent = false;
    shared->observation_sizes[i] = i == EVE ? CHANNELS : 2 * CHANNELS;
  }
  return status;
}

static void reset(const mpe_world *world, pp_rng *rng) {
  world->state->goals[MESSAGE] = (int32_t)pp_rng_integers(rng, 0, NUM_LANDMARKS);
  world->state->goals[KEY] = (int32_t)pp_rng_integers(rng, 0, NUM_LANDMARKS);
  mpe_scatter(world, rng, 1, 1);
}

/* Returns numpy.sum(numpy.square(said - message)), or 0 if an agent said nothing. */
static double error_of(const mpe_world *world, int32_t agent) {
  const double *said = world->message + CHANNELS * agent;
  double sum = 0;
  bool is_silent = true;
  for (int32_t i = 0; i < CHANNELS; i++) {
    double difference = said[i] - (i == world->state->goals[MESSAGE]);
    sum += difference * difference;
    is_silent &= said[i] == 0;
  }
  return is_silent ? 0 : sum;
}

static void reward(const mpe_world *world, double *reward) {
  double eve = error_of(world, EVE), bob = error_of(world, BOB);
  reward[EVE] = 0 - eve;
  reward[BOB] = reward[ALICE] = eve + (0 - bob);
}

static float *put_colour(float *out, int32_t landmark) {
  for (int32_t i = 0; i < CHANNELS; i++) *out++ = (float)(i == landmark);
  return out;
}

static float *observe(const mpe_world *world, int32_t agent, float *out) {
  const int32_t *goals = world->state->goals;
  if (agent == ALICE) return put_colour(put_colour(out, goals[MESSAGE]), goals[KEY]);
  if (agent == BOB) out = put_colour(out, goals[KEY]);
  return mpe_put_message(world, ALICE, out);
}

/* what an agent said, and the message */
static void benchmark(const mpe_world *world, int32_t agent, double *out) {
  for (int32_t i = 0; i < CHANNELS; i++) {
    out[i] = world->message[CHANNELS * agent + i];
    out[CHANNELS + i] = i == world->state->goals[MESSAGE];
  }
}

static const mpe_scenario scenario = {
    .make = make, .reset = reset, .reward = reward, .observe = observe, .benchmark = benchmark};

static const pp_option options[] = {MPE_COMMON_OPTIONS};

const pp_env_def pp_env_mpe_simple_crypto_v3 = {
    MPE_DEFINITION("simple_crypto_v3", options, MPE_NUM_COMMON, scenario)};
