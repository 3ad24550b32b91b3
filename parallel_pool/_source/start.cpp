// mine/MyEnv-v0: a cart on a track must stop at the mark. A start for an environment of your own:
// change it from top to bottom.
//
//     python -m parallel_pool check my_env.cpp     compiles it and finds mistakes
//     parallel_pool.load_source("my_env.cpp")      compiles it and returns its ids
#include <algorithm>
#include <cmath>

#include "base/random.h"  // NumPy's generator
#include "pp_env.h"       // explains each member of the definition below

namespace {

// Everything that an environment knows. It starts zeroed, and the engine copies its bytes for
// snapshots, so it holds no pointers: no std::vector, no std::string, nothing virtual.
struct Cart {
  static constexpr double end = 2, top_speed = 1;

  double position;  // the mark is at 0, the ends of the track are at -end and end
  double speed;

  void reset(pp_rng *rng) {
    position = pp_rng_uniform(rng, -1, 1);
    speed = 0;
  }

  void step(int64_t direction, double push, pp_result *result) {
    speed = std::clamp(speed + static_cast<double>(direction) * push, -top_speed, top_speed);
    position = std::clamp(position + 0.2 * speed, -end, end);

    bool has_stopped = std::abs(position) < 0.1 && std::abs(speed) < 0.15;
    bool has_crashed = std::abs(position) == end;
    result->reward[0] = has_stopped ? 10 : has_crashed ? -10 : -std::abs(position);
    result->terminated = has_stopped || has_crashed;
  }
};

Cart &cart_of(pp_env *env) {
  return *static_cast<Cart *>(env->state);
}

// ------------------------------------------------------ what the environment shows and takes --

const double lows[] = {-Cart::end, -Cart::top_speed}, highs[] = {Cart::end, Cart::top_speed};

// Observations first, then infos. A single observation is named "obs".
const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .lows = lows, .highs = highs},
    {.name = "distance", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64},
};

// Keyword arguments of the constructor; Python checks types and ranges.
enum { PUSH, NUM_OPTIONS };

const pp_option options[NUM_OPTIONS] = {
    {.name = "push",
     .type = PP_OPT_FLOAT,
     .number = 0.1,
     .low = 0.01,
     .high = 1,
     .doc = "how much one action changes the speed"},
};

// ------------------------------------------------------------------------------- callbacks --
// An exception must not leave a callback: catch it, and return pp_fail(env->error, PP_ERR_ENV, "%s",
// exception.what()), with base/fail.h.

// Starts an episode. All random numbers come from env->rng, which the engine seeds.
int reset(pp_env *env, pp_reset *) {
  cart_of(env).reset(env->rng);
  return PP_OK;
}

// Advances by one action. The engine has checked the action, zeroed the result, and applies the
// time limit.
int step(pp_env *env, const void *action, pp_result *result) {
  int64_t direction = *static_cast<const int64_t *>(action) - 1;  // 0: left, 1: coast, 2: right
  cart_of(env).step(direction, env->options[PUSH].f, result);
  return PP_OK;
}

// Writes one row: each field whose pointer is not null. It must not change the state.
int observe(pp_env *env, void *const *rows, bool) {
  const Cart &cart = cart_of(env);
  auto *obs = static_cast<float *>(rows[0]);
  auto *distance = static_cast<double *>(rows[1]);
  if (obs) {
    obs[0] = static_cast<float>(cart.position);
    obs[1] = static_cast<float>(cart.speed);
  }
  if (distance) *distance = std::abs(cart.position);
  return PP_OK;
}

}  // namespace

// parallel_pool finds this line. Members keep their order in C++; those that are left out are zero.
extern "C" const pp_env_def pp_env_my_env = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "mine/MyEnv-v0",
    .has_reward_threshold = true,
    .reward_threshold = 5,
    .max_episode_steps = 100,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(Cart),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .reset = reset,
    .step = step,
    .observe = observe,
};
