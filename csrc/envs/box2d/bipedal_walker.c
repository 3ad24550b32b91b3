/* BipedalWalker-v3 and BipedalWalkerHardcore-v3: walk to the right on two legs with four motors.
 *
 * Equals gymnasium 1.4.0 (envs/box2d/bipedal_walker.py) bit for bit: the same calls of the same
 * Box2D in the same order. Python computes in float64, and each call of Box2D rounds to float32.
 *
 * One world serves all episodes of an environment, as in Gymnasium. When its bodies are destroyed,
 * one trace of them is left that later results depend on: the order in which the tree of fixtures
 * hands out its nodes. So a snapshot holds that order at the beginning of the episode, its random
 * generator and its actions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "base/random.h"
#include "base/record.h"
#include "base/sincos.h"
#include "joints.h"
#include "library.h"
#include "saved_episode.h"
#include "terrain.h"
#include "world.h"

/* ------------------------------------------------------------------------------- constants -- */

#define PI 3.141592653589793

#define WIDTH 600
#define HEIGHT 400

#define MOTORS_TORQUE 80
#define SPEED_HIP 4
#define SPEED_KNEE 6
#define LIDAR_RANGE (160 / TERRAIN_SCALE)
#define INITIAL_RANDOM 5
#define GRAVITY -10 /* Gymnasium gives none, and this is the bindings' default */

enum { RAYS = 10, OBSERVATION = 14 + RAYS, MOTORS = BOX2D_LIMBS };

/* ------------------------------------------------------------------------------------ data -- */

typedef struct walker walker;

/* Box2D's b2ContactListener and b2RayCastCallback, and what their functions need */
typedef struct listener {
  void *const *functions;
  walker *of;
} listener;

typedef struct ray {
  void *const *functions;
  walker *of;
  bool has_hit;
  float fraction;   /* of the ray's length up to the hit, or 1 */
  box2d_vector hit; /* the nearest point of the ground */
} ray;

/* what the motors get in a step; an entry of the episode's record */
typedef struct commands {
  float torques[MOTORS]; /* the most that they may use */
  int8_t signs[MOTORS];  /* of their speeds, or 0 */
} commands;

/* Box2D keeps pointers to worlds and listeners, so an environment is in memory that never moves. */
struct walker {
  const box2d_library *library;
  listener listener;
  ray ray;
  box2d_world world;
  bool has_fallen;
  bool has_shaping;
  bool shin_touches[2];
  terrain ground;
  void *hull; /* null: the world is empty */
  void *limbs[BOX2D_LIMBS];
  void *joints[MOTORS];
  box2d_joints solver;
  double shaping;
  double ray_ends[RAYS][2];
  float obs[OBSERVATION];
  int64_t episode; /* since the environment was made, for pictures */
  /* what plays the episode again, with the world's free nodes */
  pp_rng first_rng;
  pp_record actions;
};

/* what all environments share */
typedef struct rules {
  box2d_library library;
  void *listener_functions[BOX2D_MAX_FUNCTIONS];
  void *ray_functions[BOX2D_MAX_FUNCTIONS];
  double rays[RAYS][2]; /* from the hull's position */
  bool is_hardcore;
} rules;

/* What expose writes. parallel_pool/_families/box2d_renderer.py reads it. */
typedef struct view {
  pp_rng first_rng;
  int64_t episode;
  double poses[1 + BOX2D_LIMBS][3]; /* x, y and angle of the hull and the limbs */
  double ray_ends[RAYS][2];
} view;

#define LEG -PI, -5, -PI, -5, -0.0
#define LEG_HIGH PI, 5, PI, 5, 5
static const double lows[OBSERVATION] = {-PI, -5, -5, -5, LEG, LEG, -1, -1,
                                         -1,  -1, -1, -1, -1,  -1,  -1, -1};
static const double highs[OBSERVATION] = {PI, 5, 5, 5, LEG_HIGH, LEG_HIGH, 1, 1,
                                          1,  1, 1, 1, 1,        1,        1, 1};

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT32,
     .ndim = 1,
     .shape = {OBSERVATION},
     .lows = lows,
     .highs = highs},
};

enum { HARDCORE, LINK, NUM_OPTIONS };

/* the options of both ids, which differ in the default of hardcore */
#define OPTIONS(hardcore_default)                                         \
  {                                                                       \
      [HARDCORE] = {.name = "hardcore",                                   \
                    .type = PP_OPT_BOOL,                                  \
                    .number = (hardcore_default),                         \
                    .doc = "the ground has pits, stumps and stairs"},     \
      [LINK] = {.name = "_link",                                          \
                .type = PP_OPT_BYTES,                                     \
                .required = true,                                         \
                .doc = "where the installed Box2D keeps what is needed"}, \
  }

static const pp_option options[NUM_OPTIONS] = OPTIONS(0);
static const pp_option options_hardcore[NUM_OPTIONS] = OPTIONS(1);

/* ------------------------------------------------------------------------------- callbacks -- */

static void *shin(const walker *it, int leg) {
  return it->limbs[2 * leg + 1];
}

static void begin_contact(void *self, void *contact) {
  walker *it = ((listener *)self)->of;
  it->solver.num_touching++;
  if (box2d_touches(it->library, contact, it->hull)) it->has_fallen = true;
  for (int i = 0; i < 2; i++) {
    if (box2d_touches(it->library, contact, shin(it, i))) it->shin_touches[i] = true;
  }
}

static void end_contact(void *self, void *contact) {
  walker *it = ((listener *)self)->of;
  it->solver.num_touching--;
  for (int i = 0; i < 2; i++) {
    if (box2d_touches(it->library, contact, shin(it, i))) it->shin_touches[i] = false;
  }
}

/* Box2D calls this for each fixture on a ray. Returns which part of the ray is still of interest;
 * -1: all that was. */
static float report_fixture(void *self, void *fixture, const box2d_vector *point,
                            const box2d_vector *normal, float fraction) {
  (void)normal;
  ray *found = self;
  const walker *it = found->of;
  const void *body = box2d_pointer(fixture, it->library->fixture_body);

  if (body == it->hull) return -1;
  for (int i = 0; i < BOX2D_LIMBS; i++) {
    if (body == it->limbs[i]) return -1;
  }
  found->has_hit = true;
  found->hit = *point;
  return found->fraction = fraction;
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
  box2d_listener_init(&shared->library, begin_contact, end_contact, shared->listener_functions);
  box2d_ray_init(&shared->library, report_fixture, shared->ray_functions);
  for (int i = 0; i < RAYS; i++) {
    double sine, cosine;
    pp_sincos(1.5 * i / 10.0, &sine, &cosine);
    shared->rays[i][0] = sine * LIDAR_RANGE;
    shared->rays[i][1] = -(cosine * LIDAR_RANGE);
  }
  shared->is_hardcore = given[HARDCORE].i != 0;
  return PP_OK;
}

static void release(void *shared) {
  free(shared);
}

/* ------------------------------------------------------------------------------- the world -- */

static void end_world(walker *it) {
  box2d_world_end(&it->world);
  it->hull = NULL;
}

/* Makes the world empty, in Gymnasium's order. Contacts that end are not reported. */
static void destroy_bodies(walker *it) {
  const box2d_library *library = it->library;
  if (!it->hull) return;
  library->set_listener(it->world.memory, NULL);
  terrain_destroy(&it->ground, library, it->world.memory);
  library->destroy_body(it->world.memory, it->hull);
  for (int i = 0; i < BOX2D_LIMBS; i++) library->destroy_body(it->world.memory, it->limbs[i]);
  it->hull = NULL;
}

static void create_walker(walker *it, pp_rng *rng) {
  const box2d_library *library = it->library;

  it->hull = library->create_body(it->world.memory, library->hull_body);
  library->create_fixture(it->hull, library->hull_fixture);
  box2d_pair(it->hull, library->force)->x +=
      (float)pp_rng_uniform(rng, -INITIAL_RANDOM, INITIAL_RANDOM);
  for (int i = 0; i < BOX2D_LIMBS; i++) {
    bool is_shin = i % 2;
    it->limbs[i] = library->create_body(it->world.memory, library->limb_bodies[i]);
    library->create_fixture(it->limbs[i], library->limb_fixtures[i]);
    it->joints[i] = box2d_add_joint(library, it->world.memory, library->limb_joints[i],
                                    is_shin ? it->limbs[i - 1] : it->hull, it->limbs[i]);
    box2d_joints_add(&it->solver, it->joints[i]);
  }
}

/* -------------------------------------------------------------------------------- dynamics -- */

static void drive(walker *it, const commands *wanted) {
  for (int i = 0; i < MOTORS; i++) {
    float speed = i % 2 ? SPEED_KNEE : SPEED_HIP;
    it->library->set_motor_speed(it->joints[i], speed * wanted->signs[i]);
    it->library->set_motor_torque(it->joints[i], wanted->torques[i]);
  }
}

/* Measures the distances to the ground. */
static int look(walker *it, const rules *shared, float *fractions, pp_error *error) {
  const box2d_vector from = *box2d_pair(it->hull, it->library->position);

  for (int i = 0; i < RAYS; i++) {
    double *end = it->ray_ends[i];
    end[0] = (double)from.x + shared->rays[i][0];
    end[1] = (double)from.y + shared->rays[i][1];
    const box2d_vector to = {(float)end[0], (float)end[1]};
    const box2d_vector way = {to.x - from.x, to.y - from.y};
    // Box2D has an assertion that the length is positive, which would end the process
    if (!(way.x * way.x + way.y * way.y > 0)) {
      return pp_fail(
          error, PP_ERR_ENV,
          "the hull is at (%g, %g), where float32 can't tell the ends of a ray apart: reset "
          "the environment",
          (double)from.x, (double)from.y);
    }
    it->ray.has_hit = false;
    it->ray.fraction = 1;
    it->library->ray_cast(it->world.memory, &it->ray, &from, &to);
    if (it->ray.has_hit) {
      end[0] = (double)it->ray.hit.x;
      end[1] = (double)it->ray.hit.y;
    }
    fractions[i] = it->ray.fraction;
  }
  return PP_OK;
}

/* writes the five numbers of a leg */
static void observe_leg(const walker *it, int leg, float *obs) {
  const box2d_library *library = it->library;
  const void *hip = it->joints[2 * leg], *knee = it->joints[2 * leg + 1];

  obs[0] = library->joint_angle(hip);
  obs[1] = (float)((double)library->joint_speed(hip) / SPEED_HIP);
  obs[2] = (float)((double)library->joint_angle(knee) + 1.0);
  obs[3] = (float)((double)library->joint_speed(knee) / SPEED_KNEE);
  obs[4] = it->shin_touches[leg];
}

/* Computes observation, reward (without the price of the torque) and end of the episode. */
static int finish_step(walker *it, const rules *shared, pp_result *result, pp_error *error) {
  const box2d_library *library = it->library;
  const box2d_vector *velocity = box2d_pair(it->hull, library->velocity);
  double x = (double)box2d_pair(it->hull, library->position)->x;
  double angle = (double)*box2d_number(it->hull, library->angle);
  double spin = (double)*box2d_number(it->hull, library->angular_velocity);
  double shaping = 130 * x / TERRAIN_SCALE - 5.0 * fabs(angle);

  it->obs[0] = (float)angle;
  it->obs[1] = (float)(2.0 * spin / BOX2D_FPS);
  it->obs[2] = (float)(0.3 * (double)velocity->x * (WIDTH / TERRAIN_SCALE) / BOX2D_FPS);
  it->obs[3] = (float)(0.3 * (double)velocity->y * (HEIGHT / TERRAIN_SCALE) / BOX2D_FPS);
  for (int i = 0; i < 2; i++) observe_leg(it, i, it->obs + 4 + 5 * i);
  result->reward[0] = it->has_shaping ? shaping - it->shaping : 0;
  it->shaping = shaping;
  it->has_shaping = true;
  result->terminated =
      it->has_fallen || x < 0 || x > (TERRAIN_LENGTH - TERRAIN_GRASS) * TERRAIN_STEP;
  return look(it, shared, it->obs + 14, error);
}

/* advances by an action of the episode's record */
static int advance(walker *it, const rules *shared, const commands *wanted, pp_result *result,
                   pp_error *error) {
  drive(it, wanted);
  box2d_joints_step(&it->solver, it->world.memory);
  return finish_step(it, shared, result, error);
}

/* Starts an episode in an empty world whose free nodes are known. Gymnasium's reset ends with a
 * step without torque. */
static int begin_episode(walker *it, const rules *shared, pp_rng *rng, pp_error *error) {
  static const commands idle;
  double reward;
  pp_result ignored = {.reward = &reward};

  it->episode++;
  it->first_rng = *rng;
  it->actions.count = 0;
  it->listener = (listener){shared->listener_functions, it};
  it->library->set_listener(it->world.memory, &it->listener);
  box2d_joints_init(&it->solver, it->library);
  it->has_fallen = it->has_shaping = false;
  it->shin_touches[0] = it->shin_touches[1] = false;
  terrain_create(&it->ground, it->library, it->world.memory, shared->is_hardcore, rng);
  create_walker(it, rng);
  return advance(it, shared, &idle, &ignored, error);
}

/* Returns the status. After a failure the record can't be played, and neither can later ones in the
 * same world: a failed environment starts anew. */
static int keep(walker *it, int status) {
  if (status < 0) {
    end_world(it);
    it->actions.count = -1;
  }
  return status;
}

/* --------------------------------------------------------------------------------- actions -- */

/* An element of an action as NumPy computes with it: in float16, float32 or float64. */
typedef struct element {
  double value;
  int32_t dtype;
} element;

/* Returns numpy.clip(numpy.abs(x), 0, 1). */
static double effort(element x) {
  static const double smallest[PP_NUM_ACTION_DTYPES] = {
      [PP_INT8] = -0x1p7, [PP_INT16] = -0x1p15, [PP_INT32] = -0x1p31, [PP_INT64] = -0x1p63};
  // the absolute value of the smallest integer does not fit, and NumPy leaves it negative
  if (x.value < 0 && x.value == smallest[x.dtype]) return 0;
  double size = fabs(x.value);
  return size > 1 ? 1 : size;
}

static double multiply(element x, double by) {
  switch (x.dtype) {
    case PP_FLOAT16: return pp_half_multiply(x.value, pp_half(by));
    case PP_FLOAT32: return (double)((float)x.value * (float)by);
    default: return x.value * by;
  }
}

/* Returns a - x. */
static double subtract(double a, element x) {
  switch (x.dtype) {
    case PP_FLOAT16: return pp_half_add(pp_half(a), -x.value);
    case PP_FLOAT32: return (double)((float)a - (float)x.value);
    default: return a - x.value;
  }
}

static element element_of(const pp_env *env, const void *action, int i) {
  int32_t dtype = *env->action_dtype;
  double value =
      dtype == PP_FLOAT32 ? (double)((const float *)action)[i] : ((const double *)action)[i];
  return (element){value, dtype};
}

/* ------------------------------------------------------------------ the engine's callbacks -- */

static int init(pp_env *env) {
  const rules *shared = env->shared;
  walker *it = calloc(1, sizeof(*it));

  *(walker **)env->state = it;
  if (!it) return PP_ERR_MEMORY;
  it->library = &shared->library;
  it->ray = (ray){.functions = shared->ray_functions, .of = it};
  int status = box2d_world_init(&it->world, &shared->library);
  if (status < 0) return status;
  return pp_record_init(&it->actions, sizeof(commands), env->error);
}

static void fini(pp_env *env) {
  walker *it = *(walker **)env->state;
  if (!it) return;
  box2d_world_fini(&it->world);
  free(it->actions.entries);
  free(it);
  *(walker **)env->state = NULL;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  walker *it = *(walker **)env->state;

  box2d_world_begin(&it->world, GRAVITY);
  destroy_bodies(it);
  int status = box2d_world_read_nodes(&it->world, env->error);
  if (status >= 0) status = begin_episode(it, env->shared, env->rng, env->error);
  return keep(it, status);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  walker *it = *(walker **)env->state;
  element efforts[MOTORS];
  void *record;
  int status = pp_record_add(&it->actions, &record, env->error);

  if (status < 0) return status;
  commands *wanted = record;
  for (int i = 0; i < MOTORS; i++) {
    element given = element_of(env, action, i);
    efforts[i] = (element){effort(given), given.dtype};
    wanted->torques[i] = (float)multiply(efforts[i], MOTORS_TORQUE);
    wanted->signs[i] = given.value > 0 ? 1 : given.value < 0 ? -1 : 0;
  }
  status = advance(it, env->shared, wanted, result, env->error);
  for (int i = 0; i < MOTORS; i++) {
    element price = {multiply(efforts[i], 0.00035 * MOTORS_TORQUE), efforts[i].dtype};
    result->reward[0] = subtract(result->reward[0], price);
  }
  double x = (double)box2d_pair(it->hull, it->library->position)->x;
  if (it->has_fallen || x < 0) result->reward[0] = -100;
  return keep(it, status);
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const walker *it = *(walker **)env->state;
  if (rows[0]) memcpy(rows[0], it->obs, sizeof(it->obs));
  return PP_OK;
}

static void write_pose(const walker *it, void *body, double pose[3]) {
  const box2d_vector *position = box2d_pair(body, it->library->position);
  pose[0] = (double)position->x;
  pose[1] = (double)position->y;
  pose[2] = (double)*box2d_number(body, it->library->angle);
}

static int expose(pp_env *env, void *target) {
  const walker *it = *(walker **)env->state;
  view *seen = target;

  if (!it->hull) return pp_fail(env->error, PP_ERR_STATE, "the environment has no world: reset it");
  seen->first_rng = it->first_rng;
  seen->episode = it->episode;
  write_pose(it, it->hull, seen->poses[0]);
  for (int i = 0; i < BOX2D_LIMBS; i++) write_pose(it, it->limbs[i], seen->poses[1 + i]);
  memcpy(seen->ray_ends, it->ray_ends, sizeof(seen->ray_ends));
  return PP_OK;
}

/* ------------------------------------------------------------------------------- snapshots -- */

static bool is_possible(const void *bytes) {
  commands wanted;
  memcpy(&wanted, bytes, sizeof(wanted));
  for (int i = 0; i < MOTORS; i++) {
    if (!(wanted.torques[i] >= 0 && wanted.torques[i] <= MOTORS_TORQUE)) return false;
    if (wanted.signs[i] < -1 || wanted.signs[i] > 1) return false;
  }
  return true;
}

static const box2d_saved_format format = {.action_size = sizeof(commands),
                                          .is_action = is_possible};

static int64_t save(pp_env *env, void *bytes) {
  const walker *it = *(walker **)env->state;
  return box2d_episode_save(&format, &it->actions, &it->world, &it->first_rng, NULL, bytes);
}

/* plays an episode whose beginning and actions are in place */
static int replay(walker *it, const rules *shared, int64_t count, pp_error *error) {
  pp_rng rng = it->first_rng;
  double reward;

  box2d_world_begin(&it->world, GRAVITY);
  box2d_world_write_nodes(&it->world);
  int status = begin_episode(it, shared, &rng, error);
  while (status >= 0 && it->actions.count < count) {
    pp_result result = {.reward = &reward};
    const void *wanted = pp_record_entry(&it->actions, it->actions.count++);
    status = advance(it, shared, wanted, &result, error);
    if (status >= 0 && result.terminated) status = pp_record_end(&it->actions, count, error);
  }
  return status;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  return box2d_episode_check(&format, saved, env->error);
}

/* plays the episode of a snapshot, which has been checked, from its beginning, in a new world */
static int load(pp_env *env, const void *bytes, int64_t size) {
  walker *it = *(walker **)env->state;
  const box2d_saved_episode saved = box2d_episode_read(&format, bytes, size, NULL);

  int status = pp_record_reserve(&it->actions, saved.num_actions, env->error);
  if (status < 0) return status;
  end_world(it);
  it->first_rng = saved.first_rng;
  box2d_episode_restore(&saved, bytes, &it->actions, &it->world);
  if (saved.num_actions < 0) return PP_OK;
  return keep(it, replay(it, env->shared, saved.num_actions, env->error));
}

/* ------------------------------------------------------------------------------ definition -- */

/* what both definitions share, and the names of one */
#define WALKER_DEFINITION(title)                                                                   \
  .id = title, .reference = "gymnasium 1.4.0 " title, .abi = PP_ENV_ABI,                           \
  .size = sizeof(pp_env_def), .family = "box2d", .has_reward_threshold = true,                     \
  .reward_threshold = 300, .num_options = NUM_OPTIONS, .state_size = sizeof(walker *),             \
  .num_fields = 1, .fields = fields,                                                               \
  .action =                                                                                        \
      {.name = "action", .dtype = PP_FLOAT32, .ndim = 1, .shape = {MOTORS}, .low = -1, .high = 1}, \
  .action_dtypes = PP_ALL_ACTION_DTYPES, .action_numbers = PP_INFINITE, .configure = configure,    \
  .release = release, .init = init, .fini = fini, .reset = reset, .step = step,                    \
  .observe = observe, .save = save, .load = load, .check_state = check_state, .expose = expose

const pp_env_def pp_env_bipedal_walker[2] = {
    {WALKER_DEFINITION("BipedalWalker-v3"), .max_episode_steps = 1600, .options = options},
    {WALKER_DEFINITION("BipedalWalkerHardcore-v3"), .max_episode_steps = 2000,
     .options = options_hardcore},
};
