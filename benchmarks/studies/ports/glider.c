/* port/Glider-v0: equals glider.py bit for bit. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "pp_env.h"

typedef struct glider {
  float height, speed, tilt, distance;
  int64_t left;
  int64_t score;
  int32_t steps;
} glider;

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {4},
     .low = -INFINITY,
     .high = INFINITY},
    {.name = "left", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
    {.name = "score", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
    {.name = "distance", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT32},
};

enum { WIND, FUEL };

static const pp_option options[] = {
    [WIND] = {.name = "wind", .type = PP_OPT_FLOAT, .number = 0.2, .low = 0, .high = 10},
    [FUEL] = {.name = "fuel", .type = PP_OPT_INT, .number = 30, .low = 0, .high = 1000},
};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  glider *it = env->state;
  it->height = (float)pp_rng_uniform(env->rng, 1.0, 2.0);
  it->speed = 0;
  it->tilt = 0;
  it->distance = 0;
  it->left = env->options[FUEL].i;
  it->steps = 0;
  it->score = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  glider *it = env->state;
  const float *thrust = action;
  float lift = it->left > 0 ? thrust[0] : 0;
  if (lift > 0) it->left--;
  float gust = (float)(pp_rng_double(env->rng) - 0.5) * (float)env->options[WIND].f;
  float speed = it->speed + lift * 0.05f - 0.01f + gust * 0.1f;
  it->speed = speed < -0.3f ? -0.3f : speed > 0.3f ? 0.3f : speed;
  it->height = it->height + it->speed;
  it->tilt = it->tilt * -0.5f + thrust[1] * 0.25f;
  it->distance = it->distance + fabsf(it->speed);
  it->steps++;
  it->score += 50 * it->steps;
  result->terminated = it->height <= 0 || it->height > 4;
  result->truncated = !result->terminated && it->steps >= 40;
  result->reward[0] = (double)it->speed - (result->terminated ? 5.0 : 0.0);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const glider *it = env->state;
  float *obs = rows[0];
  if (obs) {
    obs[0] = it->height;
    obs[1] = it->speed;
    obs[2] = it->tilt * -1.0f;
    obs[3] = it->distance;
  }
  if (rows[1]) *(int64_t *)rows[1] = it->left;
  if (rows[2]) *(int64_t *)rows[2] = it->score;
  if (rows[3]) *(float *)rows[3] = it->distance;
  return PP_OK;
}

static int render(pp_env *env, pp_image *image) {
  image->width = image->height = 8;
  if (!image->pixels) return PP_OK;
  const glider *it = env->state;
  memset(image->pixels, 0, 8 * 8 * 3);
  for (int at = 0; at < 8 * 8; at++) image->pixels[3 * at] = it->speed < 0 ? 200 : 100;
  double clipped = it->height < 0 ? 0 : it->height > 3.5f ? 3.5 : it->height;
  int line = 7 - (int)(clipped * 2);
  memset(image->pixels + 8 * 3 * line, 255, 3 * (1 + (size_t)(it->left % 8)));
  return PP_OK;
}

const pp_env_def pp_env_glider = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "port/Glider-v0",
    .family = "port",
    .options = options,
    .num_options = 2,
    .state_size = sizeof(glider),
    .num_fields = 4,
    .fields = fields,
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .space = PP_BOX,
               .ndim = 1,
               .shape = {2},
               .low = -1,
               .high = 1},
    .reset = reset,
    .step = step,
    .observe = observe,
    .render = render,
};
