/* Catch-v0: move a paddle under a falling ball.
 *
 * Equals EnvPool 1.2.5 bit for bit, its generator included. (EnvPool writes outside of its memory
 * with a height of 1.) Model: V. Mnih et al., "Recurrent Models of Visual Attention", 2014.
 */
#include <math.h>
#include <string.h>

#include "base/mt19937.h"
#include "pp_env.h"

enum { HEIGHT, WIDTH, NUM_OPTIONS };
enum { LEFT, STAY, RIGHT, NUM_ACTIONS };
enum { MAX_SIDE = 4096 };

typedef struct catch_state {
  pp_mt19937 random;
  int32_t ball_row;
  int32_t ball_column;
  int32_t paddle;
} catch_state;

/* configure sets the shape */
static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_FLOAT32, .ndim = 2, .shape = {10, 5}, .low = 0, .high = 1},
};

static const pp_option options[NUM_OPTIONS] = {
    [HEIGHT] = {.name = "height",
                .type = PP_OPT_INT,
                .number = 10,
                .low = 2,
                .high = MAX_SIDE,
                .doc = "rows of the board"},
    [WIDTH] = {.name = "width",
               .type = PP_OPT_INT,
               .number = 5,
               .low = 1,
               .high = MAX_SIDE,
               .doc = "columns of the board"},
};

static int configure(pp_config *config) {
  config->fields[0].shape[0] = config->options[HEIGHT].i;
  config->fields[0].shape[1] = config->options[WIDTH].i;
  return PP_OK;
}

static int seed(pp_env *env, const pp_seed *given) {
  catch_state *it = env->state;
  pp_mt19937_seed(&it->random, given->words[0]);
  return PP_OK;
}

static int reset(pp_env *env, const pp_reset *how, pp_result *result) {
  (void)how, (void)result;
  catch_state *it = env->state;
  uint32_t width = (uint32_t)env->options[WIDTH].i;
  it->ball_row = 0;
  it->ball_column = (int32_t)pp_mt19937_below(&it->random, width);
  it->paddle = (int32_t)(width / 2);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  catch_state *it = env->state;
  int32_t height = (int32_t)env->options[HEIGHT].i, width = (int32_t)env->options[WIDTH].i;
  int32_t paddle = it->paddle + (int32_t)(*(const int64_t *)action - STAY);
  it->paddle = paddle < 0 ? 0 : paddle > width - 1 ? width - 1 : paddle;
  it->ball_row++;
  if (it->ball_row < height - 1) return PP_OK;
  result->terminated = 1;
  result->reward[0] = it->ball_column == it->paddle ? 1 : -1;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, int32_t is_reset) {
  (void)is_reset;
  const catch_state *it = env->state;
  int64_t height = env->options[HEIGHT].i, width = env->options[WIDTH].i;
  float *obs = rows[0];
  if (!obs) return PP_OK;
  memset(obs, 0, (size_t)(height * width) * sizeof(*obs));
  obs[it->ball_row * width + it->ball_column] = 1;
  obs[(height - 1) * width + it->paddle] = 1;
  return PP_OK;
}

const pp_env_def pp_env_catch_v0 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Catch-v0",
    .family = "envpool_toy_text",
    .reference = "envpool 1.2.5 Catch-v0",
    .reward_threshold = NAN,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(catch_state),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},
    .configure = configure,
    .seed = seed,
    .reset = reset,
    .step = step,
    .observe = observe,
};
