/* LunarLander-v3 and LunarLanderContinuous-v3: land softly between two flags, with engines whose
 * thrust is a little random.
 *
 * Equals gymnasium 1.4.0 (envs/box2d/lunar_lander.py) bit for bit: the same calls of the same Box2D
 * in the same order. Python computes in float64, and each call of Box2D rounds to float32.
 *
 * An episode begins in a new world. So its random generator and its actions determine it, and they
 * are what a snapshot holds: Box2D's objects can't be copied. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "base/record.h"
#include "base/sincos.h"
#include "base/state_check.h"
#include "joints.h"
#include "library.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

#define SCALE 30.0
#define WIDTH (600 / SCALE)
#define HEIGHT (400 / SCALE)
#define HELIPAD_Y (HEIGHT / 4)

#define MAIN_ENGINE_POWER 13.0
#define SIDE_ENGINE_POWER 0.6
#define MAIN_ENGINE_Y 4
#define SIDE_ENGINE_AWAY 12
#define SIDE_ENGINE_HEIGHT 14
#define INITIAL_FORCE 1000.0
#define LEG_DOWN 18

enum { CHUNKS = 11, OBSERVATION = 8, DISCRETE_ACTIONS = 4 };

/* ------------------------------------------------------------------------------------ data -- */

typedef struct lander lander;

/* Box2D's b2ContactListener, and what its functions need */
typedef struct listener {
  void *const *functions;
  lander *of;
} listener;

/* Box2D keeps pointers to worlds and listeners, so an environment is in memory that never moves. */
struct lander {
  const box2d_library *library;
  listener listener;
  void *world; /* world_size bytes; has_world: it is constructed */
  bool has_world;
  bool has_crashed;
  bool has_shaping;
  bool leg_touches[2];
  void *moon;
  void *body;
  void *legs[2];
  box2d_joints joints;
  double shaping;
  /* the options of this episode */
  float gravity;
  double wind_power;
  double turbulence_power;
  int64_t wind_index;
  int64_t torque_index;
  float obs[OBSERVATION];
  /* what plays the episode again: the random generator at its beginning, and the actions since */
  pp_rng first_rng;
  pp_record actions;
};

/* what all environments share */
typedef struct rules {
  box2d_library library;
  void *functions[BOX2D_MAX_FUNCTIONS];
  bool is_continuous;
  bool is_windy;
  size_t action_size;
} rules;

/* A snapshot consists of the actions and this, so that readers know where it is: at the end.
 * num_actions is -1 before the first episode. parallel_pool/_families/box2d_renderer.py reads
 * it. */
typedef struct snapshot_end {
  pp_rng first_rng;
  int64_t num_actions;
} snapshot_end;

/* what the engines do in a step; powers are 0 for off */
typedef struct thrust {
  double main_power;
  double side_power;
  double direction;
} thrust;

static const double lows[OBSERVATION] = {-2.5, -2.5, -10.0, -10.0, -2 * PI, -10.0, -0.0, -0.0};
static const double highs[OBSERVATION] = {2.5, 2.5, 10.0, 10.0, 2 * PI, 10.0, 1.0, 1.0};

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {OBSERVATION},
     .lows = lows,
     .highs = highs},
};

static const pp_field throttles = {
    .name = "action", .dtype = PP_FLOAT32, .ndim = 1, .shape = {2}, .low = -1, .high = 1};
static const pp_field engines = {
    .name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = DISCRETE_ACTIONS};

enum { CONTINUOUS, GRAVITY, ENABLE_WIND, WIND_POWER, TURBULENCE_POWER, LINK, NUM_OPTIONS };

/* the options of both ids, which differ in the default of continuous */
#define OPTIONS(continuous_default)                                                         \
  {                                                                                         \
      [CONTINUOUS] = {.name = "continuous",                                                 \
                      .type = PP_OPT_BOOL,                                                  \
                      .number = (continuous_default),                                       \
                      .doc = "actions are throttles of both engines, instead of switches"}, \
      [GRAVITY] = {.name = "gravity",                                                       \
                   .type = PP_OPT_FLOAT,                                                    \
                   .number = -10.0,                                                         \
                   .low = -0x1.7ffffffffffffp+3,                                            \
                   .high = -DBL_TRUE_MIN,                                                   \
                   .doc = "gravity in m/s^2, between -12 and 0, without them",              \
                   .varies = true, /* Box2D's bindings refuse them */                       \
                   .refuses = PP_ALL_ACTION_DTYPES & ~(1 << PP_FLOAT64)},                   \
      [ENABLE_WIND] = {.name = "enable_wind",                                               \
                       .type = PP_OPT_BOOL,                                                 \
                       .doc = "wind pushes and turns the lander while no leg touches"},     \
      [WIND_POWER] = {.name = "wind_power",                                                 \
                      .type = PP_OPT_FLOAT,                                                 \
                      .number = 15.0,                                                       \
                      .doc = "largest force of the wind",                                   \
                      .varies = true,                                                       \
                      .refuses = 1 << PP_FLOAT16 | 1 << PP_FLOAT32},                        \
      [TURBULENCE_POWER] = {.name = "turbulence_power",                                     \
                            .type = PP_OPT_FLOAT,                                           \
                            .number = 1.5,                                                  \
                            .doc = "largest torque of the wind",                            \
                            .varies = true,                                                 \
                            .refuses = 1 << PP_FLOAT16 | 1 << PP_FLOAT32},                  \
      [LINK] = {.name = "_link",                                                            \
                .type = PP_OPT_BYTES,                                                       \
                .required = true,                                                           \
                .doc = "where the installed Box2D keeps what is needed"},                   \
  }

static const pp_option options[NUM_OPTIONS] = OPTIONS(0);
static const pp_option options_continuous[NUM_OPTIONS] = OPTIONS(1);

/* --------------------------------------------------------------------------------- contacts -- */

static void begin_contact(void *self, void *contact) {
  lander *it = ((listener *)self)->of;
  it->joints.num_touching++;
  if (box2d_touches(it->library, contact, it->body)) it->has_crashed = true;
  for (int i = 0; i < 2; i++) {
    if (box2d_touches(it->library, contact, it->legs[i])) it->leg_touches[i] = true;
  }
}

static void end_contact(void *self, void *contact) {
  lander *it = ((listener *)self)->of;
  it->joints.num_touching--;
  for (int i = 0; i < 2; i++) {
    if (box2d_touches(it->library, contact, it->legs[i])) it->leg_touches[i] = false;
  }
}

/* ------------------------------------------------------------------------------- configure -- */

static int configure(pp_config *config) {
  const pp_value *given = config->options;
  rules *shared = calloc(1, sizeof(*shared));
  int status;

  if (!shared) return PP_ERR_MEMORY;
  config->shared = shared;
  status = box2d_library_read(&given[LINK], &shared->library, config->error);
  if (status < 0) return status;
  if (!(-12.0 < given[GRAVITY].f && given[GRAVITY].f < 0.0)) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "gravity=%g: choose a number between -12 and 0, without them", given[GRAVITY].f);
  }
  box2d_listener_init(&shared->library, begin_contact, end_contact, shared->functions);
  shared->is_continuous = given[CONTINUOUS].i != 0;
  shared->is_windy = given[ENABLE_WIND].i != 0;
  shared->action_size = shared->is_continuous ? 2 * sizeof(double) : sizeof(uint8_t);
  config->action = shared->is_continuous ? throttles : engines;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

/* ------------------------------------------------------------------------------- the world -- */

static void end_world(lander *it) {
  if (!it->has_world) return;
  // Box2D must not call the listener for contacts that end with the world
  it->library->set_listener(it->world, NULL);
  it->library->world_fini(it->world);
  it->has_world = false;
}

static void begin_world(lander *it, const rules *shared) {
  const box2d_vector gravity = {0, it->gravity};

  end_world(it);
  it->library->world_init(it->world, &gravity);
  it->has_world = true;
  it->listener = (listener){shared->functions, it};
  it->library->set_listener(it->world, &it->listener);
  box2d_joints_init(&it->joints, it->library);
  it->has_crashed = it->has_shaping = false;
  it->leg_touches[0] = it->leg_touches[1] = false;
}

static void create_moon(lander *it, pp_rng *rng) {
  const box2d_library *library = it->library;
  double height[CHUNKS + 1], smooth[CHUNKS];

  for (int i = 0; i <= CHUNKS; i++) height[i] = pp_rng_uniform(rng, 0, HEIGHT / 2);
  for (int i = CHUNKS / 2 - 2; i <= CHUNKS / 2 + 2; i++) height[i] = HELIPAD_Y;
  for (int i = 0; i < CHUNKS; i++) {
    // Python's height[-1] is the last one
    smooth[i] = 0.33 * (height[i ? i - 1 : CHUNKS] + height[i] + height[i + 1]);
  }

  it->moon = library->create_body(it->world, library->static_body);
  box2d_add_edge(library, it->moon, library->floor_fixture, (box2d_vector){0, 0},
                 (box2d_vector){(float)WIDTH, 0});
  for (int i = 0; i + 1 < CHUNKS; i++) {
    box2d_vector from = {(float)(WIDTH / (CHUNKS - 1) * i), (float)smooth[i]};
    box2d_vector to = {(float)(WIDTH / (CHUNKS - 1) * (i + 1)), (float)smooth[i + 1]};
    box2d_add_edge(library, it->moon, library->ground_fixture, from, to);
  }
}

static void create_lander(lander *it, const rules *shared, pp_rng *rng) {
  const box2d_library *library = it->library;

  it->body = library->create_body(it->world, library->lander_body);
  library->create_fixture(it->body, library->lander_fixture);
  box2d_vector *force = box2d_pair(it->body, library->force);
  force->x += (float)pp_rng_uniform(rng, -INITIAL_FORCE, INITIAL_FORCE);
  force->y += (float)pp_rng_uniform(rng, -INITIAL_FORCE, INITIAL_FORCE);
  if (shared->is_windy) {
    it->wind_index = pp_rng_integers(rng, -9999, 9999);
    it->torque_index = pp_rng_integers(rng, -9999, 9999);
  }
  for (int i = 0; i < 2; i++) {
    it->legs[i] = library->create_body(it->world, library->leg_bodies[i]);
    library->create_fixture(it->legs[i], library->leg_fixture);
    void *joint =
        box2d_add_joint(library, it->world, library->leg_joints[i], it->body, it->legs[i]);
    box2d_joints_add(&it->joints, joint);
  }
}

/* -------------------------------------------------------------------------------- dynamics -- */

/* Returns the wind at an index, between -1 and 1. It never repeats. */
static double wind_at(int64_t index) {
  return tanh(sin(0.02 * (double)index) + sin(PI * 0.01 * (double)index));
}

/* Gymnasium's bindings of Box2D refuse finite numbers that float32 can't hold. */
static bool is_too_large(double number) {
  return isfinite(number) && fabs(number) > FLT_MAX;
}

static int apply_wind(lander *it, pp_error *error) {
  const box2d_library *library = it->library;
  double force = wind_at(it->wind_index) * it->wind_power;
  double torque = wind_at(it->torque_index) * it->turbulence_power;

  if (is_too_large(force) || is_too_large(torque)) {
    return pp_fail(
        error, PP_ERR_ENV,
        "the wind's force %g or torque %g is too large for Box2D's float32: choose a smaller "
        "wind_power or turbulence_power",
        force, torque);
  }
  it->wind_index++;
  it->torque_index++;
  box2d_pair(it->body, library->force)->x += (float)force;
  *box2d_number(it->body, library->torque) += (float)torque;
  return PP_OK;
}

static double clip(double value, double low, double high) {
  // NaN stays NaN, as in NumPy
  return value < low ? low : value > high ? high : value;
}

/* returns what an action demands; action as in the episode's record */
static thrust read_action(const rules *shared, const void *action) {
  thrust wanted = {0};
  if (!shared->is_continuous) {
    uint8_t engine = *(const uint8_t *)action;
    wanted.main_power = engine == 2 ? 1.0 : 0.0;
    wanted.side_power = engine == 1 || engine == 3 ? 1.0 : 0.0;
    wanted.direction = engine - 2;
    return wanted;
  }
  double throttle[2];
  memcpy(throttle, action, sizeof(throttle));
  double main_engine = clip(throttle[0], -1, 1), side_engine = clip(throttle[1], -1, 1);
  if (main_engine > 0.0) wanted.main_power = (main_engine + 1.0) * 0.5;
  if (fabs(side_engine) > 0.5) wanted.side_power = fabs(side_engine);
  wanted.direction = side_engine < 0 ? -1 : 1;
  return wanted;
}

/* fires the engines; the two random numbers are drawn even if both are off */
static void fire(lander *it, thrust wanted, pp_rng *rng) {
  const box2d_library *library = it->library;
  const box2d_vector *position = box2d_pair(it->body, library->position);
  double tip[2], side[2], dispersion[2], ox, oy, power;
  double angle = (double)*box2d_number(it->body, library->angle);
  box2d_vector at;

  pp_sincos(angle, &tip[0], &tip[1]);
  side[0] = -tip[1];
  side[1] = tip[0];
  for (int i = 0; i < 2; i++) dispersion[i] = pp_rng_uniform(rng, -1.0, 1.0) / SCALE;

  if (wanted.main_power > 0) {
    power = wanted.main_power;
    ox = tip[0] * (MAIN_ENGINE_Y / SCALE + 2 * dispersion[0]) + side[0] * dispersion[1];
    oy = -tip[1] * (MAIN_ENGINE_Y / SCALE + 2 * dispersion[0]) - side[1] * dispersion[1];
    at = (box2d_vector){(float)((double)position->x + ox), (float)((double)position->y + oy)};
    box2d_push(library, it->body,
               (box2d_vector){(float)(-ox * MAIN_ENGINE_POWER * power),
                              (float)(-oy * MAIN_ENGINE_POWER * power)},
               at);
  }
  if (wanted.side_power > 0) {
    power = wanted.side_power;
    double away = 3 * dispersion[1] + wanted.direction * SIDE_ENGINE_AWAY / SCALE;
    ox = tip[0] * dispersion[0] + side[0] * away;
    oy = -tip[1] * dispersion[0] - side[1] * away;
    // 17 is Gymnasium's, where SIDE_ENGINE_HEIGHT may be meant
    at = (box2d_vector){(float)((double)position->x + ox - tip[0] * 17 / SCALE),
                        (float)((double)position->y + oy + tip[1] * SIDE_ENGINE_HEIGHT / SCALE)};
    box2d_push(library, it->body,
               (box2d_vector){(float)(-ox * SIDE_ENGINE_POWER * power),
                              (float)(-oy * SIDE_ENGINE_POWER * power)},
               at);
  }
}

/* computes observation, reward and end of the episode */
static void finish_step(lander *it, thrust wanted, pp_result *result) {
  const box2d_library *library = it->library;
  const box2d_vector *position = box2d_pair(it->body, library->position);
  const box2d_vector *velocity = box2d_pair(it->body, library->velocity);
  const double state[OBSERVATION] = {
      ((double)position->x - WIDTH / 2) / (WIDTH / 2),
      ((double)position->y - (HELIPAD_Y + LEG_DOWN / SCALE)) / (HEIGHT / 2),
      (double)velocity->x * (WIDTH / 2) / BOX2D_FPS,
      (double)velocity->y * (HEIGHT / 2) / BOX2D_FPS,
      (double)*box2d_number(it->body, library->angle),
      20.0 * (double)*box2d_number(it->body, library->angular_velocity) / BOX2D_FPS,
      it->leg_touches[0],
      it->leg_touches[1],
  };
  double shaping = -100 * sqrt(state[0] * state[0] + state[1] * state[1]) -
                   100 * sqrt(state[2] * state[2] + state[3] * state[3]) - 100 * fabs(state[4]) +
                   10 * state[6] + 10 * state[7];
  double reward = it->has_shaping ? shaping - it->shaping : 0;

  it->shaping = shaping;
  it->has_shaping = true;
  reward -= wanted.main_power * 0.30;
  reward -= wanted.side_power * 0.03;
  if (it->has_crashed || fabs(state[0]) >= 1.0) {
    result->terminated = 1;
    reward = -100;
  }
  if (!box2d_is_awake(library, it->body)) {
    result->terminated = 1;
    reward = 100;
  }
  result->reward[0] = reward;
  for (int i = 0; i < OBSERVATION; i++) it->obs[i] = (float)state[i];
}

/* advances by an action of the episode's record */
static int advance(lander *it, const rules *shared, const void *action, pp_rng *rng,
                   pp_result *result, pp_error *error) {
  thrust wanted = read_action(shared, action);

  if (shared->is_windy && !it->leg_touches[0] && !it->leg_touches[1]) {
    int status = apply_wind(it, error);
    if (status < 0) return status;
  }
  fire(it, wanted, rng);
  box2d_joints_step(&it->joints, it->world);
  finish_step(it, wanted, result);
  return PP_OK;
}

/* Starts an episode. Gymnasium's reset ends with a step without thrust. */
static int begin_episode(lander *it, const rules *shared, pp_rng *rng, pp_error *error) {
  static const double idle[2];
  double reward;
  pp_result ignored = {.reward = &reward};

  it->first_rng = *rng;
  it->actions.count = 0;
  begin_world(it, shared);
  create_moon(it, rng);
  create_lander(it, shared, rng);
  return advance(it, shared, idle, rng, &ignored, error);
}

/* takes over the options that may differ in each episode */
static void read_options(lander *it, const pp_value *chosen) {
  it->gravity = (float)chosen[GRAVITY].f;
  it->wind_power = chosen[WIND_POWER].f;
  it->turbulence_power = chosen[TURBULENCE_POWER].f;
}

/* ----------------------------------------------------------------------------- the record -- */

/* Returns the status. A record whose last action failed can't be played, so it is dropped: a failed
 * environment starts a new episode. */
static int keep(lander *it, int status) {
  if (status < 0) it->actions.count = -1;
  return status;
}

/* Writes an action as the record has it: one byte, or two doubles. */
static void write_action(const rules *shared, const pp_env *env, const void *action, char *record) {
  double throttle[2];
  if (!shared->is_continuous) {
    *(uint8_t *)record = (uint8_t)*(const int64_t *)action;
    return;
  }
  for (int i = 0; i < 2; i++) {
    throttle[i] = *env->action_dtype == PP_FLOAT32 ? (double)((const float *)action)[i]
                                                   : ((const double *)action)[i];
  }
  memcpy(record, throttle, sizeof(throttle));
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int init(pp_env *env) {
  const rules *shared = env->shared;
  lander *it = calloc(1, sizeof(*it));

  *(lander **)env->state = it;
  if (!it) return PP_ERR_MEMORY;
  it->library = &shared->library;
  it->world = malloc((size_t)shared->library.world_size);
  if (!it->world) return PP_ERR_MEMORY;
  return pp_record_init(&it->actions, shared->action_size, env->error);
}

static void fini(pp_env *env) {
  lander *it = *(lander **)env->state;
  if (!it) return;
  end_world(it);
  free(it->world);
  free(it->actions.entries);
  free(it);
  *(lander **)env->state = NULL;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  lander *it = *(lander **)env->state;
  read_options(it, env->options);
  return keep(it, begin_episode(it, env->shared, env->rng, env->error));
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const rules *shared = env->shared;
  lander *it = *(lander **)env->state;
  void *record;
  int status = pp_record_add(&it->actions, &record, env->error);

  if (status < 0) return status;
  write_action(shared, env, action, record);
  return keep(it, advance(it, shared, record, env->rng, result, env->error));
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const lander *it = *(lander **)env->state;
  if (rows[0]) memcpy(rows[0], it->obs, sizeof(it->obs));
  return PP_OK;
}

static int64_t save(pp_env *env, void *bytes) {
  const lander *it = *(lander **)env->state;
  const snapshot_end end = {it->first_rng, it->actions.count};
  size_t size = pp_record_bytes(&it->actions);

  if (bytes) {
    memcpy(bytes, it->actions.entries, size);
    memcpy((char *)bytes + size, &end, sizeof(end));
  }
  return (int64_t)(size + sizeof(end));
}

/* Returns the number of actions of a snapshot, -1 for none; another negative number if it is none
 * of this family's. */
static int64_t actions_of(const rules *shared, const char *bytes, int64_t size, snapshot_end *end) {
  int64_t rest = size - (int64_t)sizeof(*end), action_size = (int64_t)shared->action_size;
  if (rest < 0) return PP_ERR_ARGUMENT - 1;
  memcpy(end, bytes + rest, sizeof(*end));
  if (end->num_actions == -1 && !rest) return -1;
  if (end->num_actions < 0 || end->num_actions > rest || rest != end->num_actions * action_size) {
    return PP_ERR_ARGUMENT - 1;
  }
  for (int64_t i = 0; !shared->is_continuous && i < rest; i++) {
    if ((uint8_t)bytes[i] >= DISCRETE_ACTIONS) return PP_ERR_ARGUMENT - 1;
  }
  return end->num_actions;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  snapshot_end end;
  int64_t count = actions_of(env->shared, saved->state, saved->size, &end);

  if (count >= -1 && pp_state_check_rng(&end.first_rng, count >= 0)) {
    return pp_record_check(count, saved->phase, env->error);
  }
  return pp_record_refuse(saved->size, env->error);
}

/* plays the episode of a snapshot, which has been checked, from its beginning */
static int load(pp_env *env, const void *bytes, int64_t size) {
  const rules *shared = env->shared;
  lander *it = *(lander **)env->state;
  snapshot_end end;
  double reward;
  int64_t count = actions_of(shared, bytes, size, &end);

  if (count == -1) {
    it->first_rng = end.first_rng;
    it->actions.count = -1;
    return PP_OK;
  }
  int status = pp_record_reserve(&it->actions, count, env->error);
  if (status < 0) return status;
  pp_rng rng = end.first_rng;
  read_options(it, env->options);
  status = begin_episode(it, shared, &rng, env->error);
  if (count > 0) memcpy(it->actions.entries, bytes, (size_t)count * shared->action_size);
  while (status >= 0 && it->actions.count < count) {
    pp_result result = {.reward = &reward};
    const void *action = pp_record_entry(&it->actions, it->actions.count++);
    status = advance(it, shared, action, &rng, &result, env->error);
    if (status >= 0 && result.terminated) status = pp_record_end(&it->actions, count, env->error);
  }
  return keep(it, status);
}

/* ------------------------------------------------------------------------------ definition -- */

/* what both definitions share, and the names of one */
#define LANDER_DEFINITION(title)                                                              \
  .id = title, .reference = "gymnasium 1.4.0 " title, .abi = PP_ENV_ABI,                      \
  .size = sizeof(pp_env_def), .family = "box2d", .has_reward_threshold = true,                \
  .reward_threshold = 200, .max_episode_steps = 1000, .num_options = NUM_OPTIONS,             \
  .state_size = sizeof(lander *), .num_fields = 1, .fields = fields,                          \
  .action_dtypes = 1 << PP_FLOAT16 | 1 << PP_FLOAT64 | 1 << PP_PYTHON,                        \
  .action_numbers = PP_NOT_FINITE, .configure = configure, .release = release, .init = init,  \
  .fini = fini, .reset = reset, .step = step, .observe = observe, .save = save, .load = load, \
  .check_state = check_state

const pp_env_def pp_env_lunar_lander[2] = {
    {LANDER_DEFINITION("LunarLander-v3"), .options = options, .action = engines},
    {LANDER_DEFINITION("LunarLanderContinuous-v3"), .options = options_continuous,
     .action = throttles},
};
