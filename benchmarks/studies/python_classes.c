/* The environments of python_classes.py in plain C, as somebody writes them who follows the
 * template: step, observe, and a step_many that calls them.
 *
 * After each stands what no C can leave out of it if its bits are to be the same (least/...): sine
 * and cosine of each angle, a copy of each board, a division for each price of a window, and the
 * bytes of the observation. staged/CartPole-v0 does each operation for a block of environments, so
 * that the compiler uses vector instructions for all but sine and cosine. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "base/run.h"
#include "pp_env.h"

/* --------------------------------------------------------------------------------- cart-pole -- */

typedef struct cart {
  double x, x_dot, theta, theta_dot;
} cart;

static const double GRAVITY = 9.8, FORCE = 10.0, MASS_POLE = 0.1, LENGTH = 0.5, TAU = 0.02;
static const double TOTAL = 0.1 + 1.0, POLE_LENGTH = 0.1 * 0.5;
static const double MOST_THETA = 12 * 2 * 3.141592653589793 / 360;

static double draw(pp_rng *rng) {
  return pp_rng_uniform(rng, -0.05, 0.05);
}

static int cart_reset(pp_env *env, pp_reset *how) {
  cart *it = env->state;
  (void)how;
  it->x = draw(env->rng);
  it->x_dot = draw(env->rng);
  it->theta = draw(env->rng);
  it->theta_dot = draw(env->rng);
  return PP_OK;
}

static double cart_advance(cart *it, int64_t action, uint8_t *terminated) {
  double force = action == 1 ? FORCE : -FORCE, cosine = cos(it->theta), sine = sin(it->theta);
  double swing = POLE_LENGTH * (it->theta_dot * it->theta_dot) * sine;
  double temp = (force + swing) / TOTAL;
  double theta_acc = (GRAVITY * sine - cosine * temp) /
                     (LENGTH * (4.0 / 3.0 - MASS_POLE * (cosine * cosine) / TOTAL));
  double x_acc = temp - POLE_LENGTH * theta_acc * cosine / TOTAL;
  it->x += TAU * it->x_dot;
  it->x_dot += TAU * x_acc;
  it->theta += TAU * it->theta_dot;
  it->theta_dot += TAU * theta_acc;
  *terminated = fabs(it->x) > 2.4 || fabs(it->theta) > MOST_THETA;
  return 1;
}

static int cart_step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = cart_advance(env->state, *(const int64_t *)action, &result->terminated);
  return PP_OK;
}

static void cart_show(const cart *it, float *obs) {
  obs[0] = (float)it->x;
  obs[1] = (float)it->x_dot;
  obs[2] = (float)it->theta;
  obs[3] = (float)it->theta_dot;
}

static int cart_observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) cart_show(env->state, rows[0]);
  return PP_OK;
}

static int cart_step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  float *obs = run->fields[0];
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    cart *it = pp_run_state(run, i);
    run->reward[i] = cart_advance(it, actions[i], &run->terminated[i]);
    if (obs) cart_show(it, obs + 4 * i);
  }
  return PP_OK;
}

static const double cart_low[] = {-4.800000190734863, -INFINITY, -0.41887903213500977, -INFINITY};
static const double cart_high[] = {4.800000190734863, INFINITY, 0.41887903213500977, INFINITY};
static const pp_field cart_fields[] = {{.name = "obs",
                                        .dtype = PP_FLOAT32,
                                        .ndim = 1,
                                        .shape = {4},
                                        .lows = cart_low,
                                        .highs = cart_high}};

const pp_env_def pp_env_plain_cart = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "plain/CartPole-v0",
    .family = "plain",
    .reference = "none",
    .max_episode_steps = 500,
    .state_size = sizeof(cart),
    .num_fields = 1,
    .fields = cart_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = cart_reset,
    .step = cart_step,
    .observe = cart_observe,
    .step_many = cart_step_many,
};

static void least_cart_advance(cart *it) {
  sincos(it->theta, &it->x, &it->x_dot);
}

static int least_cart_step(pp_env *env, const void *action, pp_result *result) {
  (void)action;
  least_cart_advance(env->state);
  result->reward[0] = 1;
  return PP_OK;
}

static int least_cart_step_many(void *shared, const pp_run *run) {
  float *obs = run->fields[0];
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    cart *it = pp_run_state(run, i);
    least_cart_advance(it);
    run->reward[i] = 1;
    if (obs) cart_show(it, obs + 4 * i);
  }
  return PP_OK;
}

enum { BLOCK = 64 };

/* numbers of a block's environments */
typedef struct block {
  double x[BLOCK], x_dot[BLOCK], theta[BLOCK], theta_dot[BLOCK];
  double sine[BLOCK], cosine[BLOCK], force[BLOCK];
} block;

static void advance(block *b, int count, uint8_t *terminated) {
  for (int i = 0; i < count; i++) sincos(b->theta[i], &b->sine[i], &b->cosine[i]);
  for (int i = 0; i < count; i++) {
    double sine = b->sine[i], cosine = b->cosine[i];
    double swing = POLE_LENGTH * (b->theta_dot[i] * b->theta_dot[i]) * sine;
    double temp = (b->force[i] + swing) / TOTAL;
    double theta_acc = (GRAVITY * sine - cosine * temp) /
                       (LENGTH * (4.0 / 3.0 - MASS_POLE * (cosine * cosine) / TOTAL));
    double x_acc = temp - POLE_LENGTH * theta_acc * cosine / TOTAL;
    b->x[i] += TAU * b->x_dot[i];
    b->x_dot[i] += TAU * x_acc;
    b->theta[i] += TAU * b->theta_dot[i];
    b->theta_dot[i] += TAU * theta_acc;
  }
  for (int i = 0; i < count; i++) {
    terminated[i] = (fabs(b->x[i]) > 2.4) | (fabs(b->theta[i]) > MOST_THETA);
  }
}

static void load(block *b, int i, const cart *it, int64_t action) {
  b->x[i] = it->x;
  b->x_dot[i] = it->x_dot;
  b->theta[i] = it->theta;
  b->theta_dot[i] = it->theta_dot;
  b->force[i] = action == 1 ? FORCE : -FORCE;
}

static void store(const block *b, int i, cart *it) {
  *it = (cart){b->x[i], b->x_dot[i], b->theta[i], b->theta_dot[i]};
}

static int staged_cart_step(pp_env *env, const void *action, pp_result *result) {
  block b;
  load(&b, 0, env->state, *(const int64_t *)action);
  advance(&b, 1, &result->terminated);
  store(&b, 0, env->state);
  result->reward[0] = 1;
  return PP_OK;
}

static int staged_cart_step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  float *obs = run->fields[0];
  (void)shared;
  for (int32_t first = 0; first < run->count; first += BLOCK) {
    int count = run->count - first < BLOCK ? run->count - first : BLOCK;
    block b;
    for (int i = 0; i < count; i++) {
      load(&b, i, pp_run_state(run, first + i), actions[first + i]);
    }
    advance(&b, count, run->terminated + first);
    for (int i = 0; i < count; i++) {
      cart *it = pp_run_state(run, first + i);
      store(&b, i, it);
      run->reward[first + i] = 1;
      if (obs) cart_show(it, obs + 4 * (first + i));
    }
  }
  return PP_OK;
}

const pp_env_def pp_env_least_cart = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "least/CartPole-v0",
    .family = "least",
    .reference = "none",
    .max_episode_steps = 500,
    .state_size = sizeof(cart),
    .num_fields = 1,
    .fields = cart_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = cart_reset,
    .step = least_cart_step,
    .observe = cart_observe,
    .step_many = least_cart_step_many,
};

const pp_env_def pp_env_staged_cart = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "staged/CartPole-v0",
    .family = "staged",
    .reference = "none",
    .max_episode_steps = 500,
    .state_size = sizeof(cart),
    .num_fields = 1,
    .fields = cart_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = cart_reset,
    .step = staged_cart_step,
    .observe = cart_observe,
    .step_many = staged_cart_step_many,
};

/* -------------------------------------------------------------------------------- grid world -- */

enum { SIZE = 10, EMPTY = 0, WALL = 1, FOOD = 2, AGENT = 3, WALLS = 12, FOODS = 5 };

typedef struct board {
  uint8_t grid[SIZE][SIZE];
  int64_t row, col, eaten;
} board;

static void place(board *it, pp_rng *rng, uint8_t what, int64_t *row, int64_t *col) {
  do {
    *row = pp_rng_integers(rng, 0, SIZE);
    *col = pp_rng_integers(rng, 0, SIZE);
  } while (it->grid[*row][*col] != EMPTY);
  it->grid[*row][*col] = what;
}

static int board_reset(pp_env *env, pp_reset *how) {
  board *it = env->state;
  int64_t row, col;
  (void)how;
  memset(it->grid, EMPTY, sizeof(it->grid));
  for (int i = 0; i < WALLS; i++) place(it, env->rng, WALL, &row, &col);
  for (int i = 0; i < FOODS; i++) place(it, env->rng, FOOD, &row, &col);
  place(it, env->rng, AGENT, &it->row, &it->col);
  it->eaten = 0;
  return PP_OK;
}

static double board_advance(board *it, int64_t action, uint8_t *terminated) {
  int64_t row = it->row, col = it->col;
  double reward = -0.01;
  if (action == 0) {
    row--;
  } else if (action == 1) {
    row++;
  } else if (action == 2) {
    col--;
  } else {
    col++;
  }
  if (row < 0 || row >= SIZE || col < 0 || col >= SIZE || it->grid[row][col] == WALL) return -0.1;
  if (it->grid[row][col] == FOOD) {
    reward = 1;
    it->eaten++;
  }
  it->grid[it->row][it->col] = EMPTY;
  it->grid[row][col] = AGENT;
  it->row = row;
  it->col = col;
  *terminated = it->eaten == FOODS;
  return reward;
}

static int board_step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = board_advance(env->state, *(const int64_t *)action, &result->terminated);
  return PP_OK;
}

static int board_observe(pp_env *env, void *const *rows, bool is_reset) {
  const board *it = env->state;
  (void)is_reset;
  if (rows[0]) memcpy(rows[0], it->grid, sizeof(it->grid));
  if (rows[1]) *(int64_t *)rows[1] = it->eaten;
  return PP_OK;
}

static int board_step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  char *obs = run->fields[0];
  int64_t *eaten = run->fields[1];
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    board *it = pp_run_state(run, i);
    run->reward[i] = board_advance(it, actions[i], &run->terminated[i]);
    if (obs) memcpy(obs + (size_t)i * sizeof(it->grid), it->grid, sizeof(it->grid));
    if (eaten) eaten[i] = it->eaten;
  }
  return PP_OK;
}

static const pp_field board_fields[] = {
    {.name = "obs", .dtype = PP_UINT8, .ndim = 2, .shape = {SIZE, SIZE}, .low = 0, .high = 3},
    {.name = "eaten", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
};

const pp_env_def pp_env_plain_board = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "plain/GridWorld-v0",
    .family = "plain",
    .reference = "none",
    .state_size = sizeof(board),
    .num_fields = 2,
    .fields = board_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 4},
    .reset = board_reset,
    .step = board_step,
    .observe = board_observe,
    .step_many = board_step_many,
};

static int least_board_step(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action;
  result->reward[0] = -0.1;
  return PP_OK;
}

static int least_board_step_many(void *shared, const pp_run *run) {
  char *obs = run->fields[0];
  int64_t *eaten = run->fields[1];
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    const board *it = pp_run_state(run, i);
    run->reward[i] = -0.1;
    if (obs) memcpy(obs + (size_t)i * sizeof(it->grid), it->grid, sizeof(it->grid));
    if (eaten) eaten[i] = it->eaten;
  }
  return PP_OK;
}

const pp_env_def pp_env_least_board = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "least/GridWorld-v0",
    .family = "least",
    .reference = "none",
    .state_size = sizeof(board),
    .num_fields = 2,
    .fields = board_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 4},
    .reset = board_reset,
    .step = least_board_step,
    .observe = board_observe,
    .step_many = least_board_step_many,
};

/* ----------------------------------------------------------------------------------- trading -- */

enum { WINDOW = 32, SHOWN = WINDOW + 2, DAYS = 256 };
static const double FEE = 1e-4;

typedef struct account {
  int64_t t, end, position;
  double equity;
} account;

typedef struct market {
  int64_t count;
  double price[];
} market;

static const pp_option market_options[] = {
    {.name = "prices", .type = PP_OPT_STRING, .text = "", .doc = "a file of float64"}};

static int market_configure(pp_config *config) {
  enum { MOST = 1 << 20 };
  FILE *file = fopen(config->options[0].s, "rb");
  market *it = malloc(sizeof(*it) + MOST * sizeof(double));
  if (it) it->count = file ? (int64_t)fread(it->price, sizeof(double), MOST, file) : 0;
  if (file) fclose(file);
  config->shared = it;
  return it ? PP_OK : PP_ERR_MEMORY;
}

static int account_reset(pp_env *env, pp_reset *how) {
  account *it = env->state;
  const market *shared = env->shared;
  (void)how;
  if (shared->count <= DAYS + 1 + WINDOW) return pp_fail(env->error, PP_ERR_ENV, "no prices");
  it->t = pp_rng_integers(env->rng, WINDOW, shared->count - DAYS - 1);
  it->end = it->t + DAYS;
  it->position = 0;
  it->equity = 1;
  return PP_OK;
}

static double account_advance(const market *shared, account *it, int64_t action,
                              uint8_t *terminated, uint8_t *truncated) {
  int64_t wanted = action - 1;
  double cost = FEE * (double)llabs(wanted - it->position);
  it->position = wanted;
  double growth = shared->price[it->t + 1] / shared->price[it->t] - 1.0;
  double gain = (double)it->position * growth - cost;
  it->t++;
  it->equity *= 1.0 + gain;
  *terminated = it->equity < 0.5;
  *truncated = it->t >= it->end;
  return log(1.0 + gain);
}

static void account_show(const market *shared, const account *it, float *obs) {
  const double *window = shared->price + it->t - WINDOW + 1, last = shared->price[it->t];
  for (int i = 0; i < WINDOW; i++) obs[i] = (float)(window[i] / last - 1.0);
  obs[WINDOW] = (float)it->position;
  obs[WINDOW + 1] = (float)it->equity;
}

static int account_step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] = account_advance(env->shared, env->state, *(const int64_t *)action,
                                      &result->terminated, &result->truncated);
  return PP_OK;
}

static int account_observe(pp_env *env, void *const *rows, bool is_reset) {
  const account *it = env->state;
  (void)is_reset;
  if (rows[0]) account_show(env->shared, it, rows[0]);
  if (rows[1]) *(double *)rows[1] = it->equity;
  return PP_OK;
}

static int account_step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  float *obs = run->fields[0];
  double *equity = run->fields[1];
  for (int32_t i = 0; i < run->count; i++) {
    account *it = pp_run_state(run, i);
    if (run->ended[i]) continue;
    run->reward[i] =
        account_advance(shared, it, actions[i], &run->terminated[i], &run->truncated[i]);
    if (obs) account_show(shared, it, obs + SHOWN * i);
    if (equity) equity[i] = it->equity;
  }
  return PP_OK;
}

static const pp_field account_fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {SHOWN},
     .low = -INFINITY,
     .high = INFINITY},
    {.name = "equity",
     .is_info = true,
     .when = PP_ALWAYS,
     .dtype = PP_FLOAT64,
     .low = -INFINITY,
     .high = INFINITY},
};

const pp_env_def pp_env_plain_account = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "plain/Trading-v0",
    .family = "plain",
    .reference = "none",
    .options = market_options,
    .num_options = 1,
    .state_size = sizeof(account),
    .num_fields = 2,
    .fields = account_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .configure = market_configure,
    .release = free,
    .reset = account_reset,
    .step = account_step,
    .observe = account_observe,
    .step_many = account_step_many,
};

static int least_account_step(pp_env *env, const void *action, pp_result *result) {
  account *it = env->state;
  (void)action;
  result->truncated = ++it->t >= it->end;
  return PP_OK;
}

static int least_account_step_many(void *shared, const pp_run *run) {
  float *obs = run->fields[0];
  double *equity = run->fields[1];
  for (int32_t i = 0; i < run->count; i++) {
    account *it = pp_run_state(run, i);
    if (run->ended[i]) continue;
    run->truncated[i] = ++it->t >= it->end;
    run->reward[i] = 0;
    if (obs) account_show(shared, it, obs + SHOWN * i);
    if (equity) equity[i] = it->equity;
  }
  return PP_OK;
}

const pp_env_def pp_env_least_account = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "least/Trading-v0",
    .family = "least",
    .reference = "none",
    .options = market_options,
    .num_options = 1,
    .state_size = sizeof(account),
    .num_fields = 2,
    .fields = account_fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 3},
    .configure = market_configure,
    .release = free,
    .reset = account_reset,
    .step = least_account_step,
    .observe = account_observe,
    .step_many = least_account_step_many,
};
