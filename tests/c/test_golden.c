/* Golden numbers: a sum over every byte that environments return, the same for every compiler,
 * optimization, machine and C library.
 *
 * The native environments return Gymnasium's bits. These contain the C library's sines and powers,
 * whose last bit depends on the library's version and on the processor. So this program is
 * linked with replacements (--wrap, tests/support/c_programs.py) that use only operations that IEEE
 * 754 rounds in one way.
 * tests/parity tests that the library's own functions give the reference's bits. fmod and fmaf are
 * exact in every library. Atari needs ROMs, and is tested in tests/parity, too.
 *
 * A number that changes without intent is a bug. After an intended change in what an environment
 * returns, copy the new one from the message. */
#define _GNU_SOURCE
#include "base/float_trig.h"
#include "pool_tests.h"

/* ---------------------------------------------------------------------------- replacements -- */

double __wrap_cos(double x);
void __wrap_sincos(double x, double *sine, double *cosine);
float __wrap_sinf(float x);
float __wrap_cosf(float x);
double __wrap_pow(double x, double y);
float __wrap_powf(float x, float y);

/* Taylor's series around the nearest quarter of a turn. Below 0.25 it rounds as any good library
 * does, which CartPole relies on (base/sincos.h); elsewhere it need only be a smooth sine. */
void __wrap_sincos(double x, double *sine, double *cosine) {
  const double half_pi = 1.5707963267948966, high = 0x1.921fb4p+0, low = half_pi - high;
  int64_t quarters = (int64_t)(x / half_pi + (x < 0 ? -0.5 : 0.5));
  double rest = x - (double)quarters * high - (double)quarters * low;
  double square = rest * rest, sine_rest = 0, cosine_rest = 0;
  for (int32_t n = 18; n >= 2; n -= 2) {
    sine_rest = (1 + sine_rest) * (-square / (n * (n + 1)));
    cosine_rest = (1 + cosine_rest) * (-square / (n * (n - 1)));
  }
  double s = rest + rest * sine_rest, c = 1 + cosine_rest;
  const double around[] = {s, c, -s, -c};
  *sine = around[quarters & 3];
  *cosine = around[(quarters + 1) & 3];
}

double __wrap_cos(double x) {
  double sine, cosine;
  __wrap_sincos(x, &sine, &cosine);
  return cosine;
}

/* called on processors without fused multiply-add: gives the same bits without it */
float __wrap_sinf(float x) {
  return pp_float_trig_reduced(x, 0);
}

float __wrap_cosf(float x) {
  return pp_float_trig_reduced(x, 1);
}

/* the environments use it only to square */
double __wrap_pow(double x, double y) {
  CHECK(y == 2);
  return x * x;
}

float __wrap_powf(float x, float y) {
  CHECK(y == 2);
  return x * x;
}

/* ----------------------------------------------------------------------------------- numbers -- */

enum { NUM_ENVS = 70, STEPS = 1000, MOST_PLAYERS = 2 };

static const struct golden {
  const char *id;
  uint64_t sum;
} golden[] = {
    {"Acrobot-v1", 0xbfd29f8b15974f5du},       {"CartPole-v0", 0x5a021fecfbd68ed8u},
    {"CartPole-v1", 0x5a021fecfbd68ed8u},      {"MountainCar-v0", 0x40015d3092dd6747u},
    {"Pendulum-v1", 0xbe35e46efde8fd95u},      {"MountainCarContinuous-v0", 0x66eccf42ad8f4a00u},
    {"test/Duel-v0", 0xea9ff8bec5d853b4u},     {"test/Heap-v0", 0x41eca1219e86c729u},
    {"test/Template-v0", 0xfc77a58744d4b8bau},
};

/* one action for each player of each environment; for a Box, one of 1001 evenly spaced values */
static void fill_actions(const client *c, int64_t step, int64_t *whole, float *real) {
  const pp_config *config = pp_pool_config(c->pool);
  const pp_field *action = &config->action;
  int32_t players = config->num_players;
  for (int32_t i = 0; i < NUM_ENVS * players; i++) {
    int32_t env_id = i / players, player = i % players;
    int64_t n = action->space == PP_DISCRETE ? action->n : 1001;
    whole[i] = some_action(env_id, MOST_PLAYERS * step + player, n);
    real[i] = (float)(action->low + (action->high - action->low) * (double)whole[i] / 1000);
  }
}

/* Returns the sum over all columns, also the final ones, of a reset and the steps after it. */
static uint64_t sum_of(const char *id) {
  client c = make_client(id, NUM_ENVS);
  uint64_t sum = 0xcbf29ce484222325u;
  c.options.autoreset = PP_SAME_STEP;
  c.options.extras = PP_WITH_STEP_TYPE | PP_WITH_DISCOUNT | PP_WITH_PLAYERS | PP_WITH_STATISTICS;
  if (!client_open(&c)) return 0;
  CHECK_EQ(client_reset(&c), NUM_ENVS);
  int32_t dtype = pp_pool_config(c.pool)->action.dtype;
  for (int32_t t = 0; t <= STEPS; t++) {
    int64_t whole[NUM_ENVS * MOST_PLAYERS];
    float real[NUM_ENVS * MOST_PLAYERS];
    for (int32_t i = 0; i < NUM_ENVS; i++) sum = sum_row(&c, sum, i);
    fill_actions(&c, t, whole, real);
    const void *actions = dtype == PP_FLOAT32 ? (void *)real : whole;
    CHECK_EQ(pp_pool_send(c.pool, NULL, NUM_ENVS, actions, dtype, &c.error), PP_OK);
    if (!CHECK_EQ(client_recv(&c), NUM_ENVS)) break;
  }
  client_close(&c);
  return sum;
}

TEST(what_environments_return_sums_up_to_golden_numbers) {
  for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
    char seen[80], expected[80];
    snprintf(seen, sizeof(seen), "%s 0x%016llx", golden[i].id,
             (unsigned long long)sum_of(golden[i].id));
    snprintf(expected, sizeof(expected), "%s 0x%016llx", golden[i].id,
             (unsigned long long)golden[i].sum);
    CHECK_TEXT(seen, expected);
  }
}
