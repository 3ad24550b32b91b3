/* CarRacing-v3: drive a car around a track that is seen from above.
 *
 * Equals gymnasium 1.4.0 (envs/box2d/car_racing.py and car_dynamics.py) bit for bit, with the
 * user's own Box2D and the picture that the user's own pygame draws: racing/view.c draws what
 * counts of it. The picture is drawn when an observation is wanted, from the state.
 *
 * One world serves all episodes of an environment, as in Gymnasium: world.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/idle.h"
#include "base/random.h"
#include "base/record.h"
#include "joints.h"
#include "library.h"
#include "racing/car.h"
#include "racing/track.h"
#include "racing/view.h"
#include "saved_episode.h"
#include "world.h"

/* ------------------------------------------------------------------------------- constants -- */

#define FRAME_PRICE 0.1
#define PRIZE 1000.0 /* of all tiles together */
#define OUTSIDE -100

enum { CONTROLS = 3, NUM_DISCRETE = 5 };

/* ------------------------------------------------------------------------------------ data -- */

typedef struct racer racer;

/* Box2D's b2ContactListener, and what its functions need */
typedef struct listener {
  void *const *functions;
  racer *of;
} listener;

/* Box2D keeps pointers to worlds and listeners, so an environment is in memory that never moves. */
struct racer {
  const box2d_library *library;
  box2d_world world;
  listener listener;
  box2d_joints solver;
  track road;
  car driver;
  view_colors colors;
  bool has_colors;
  double lap_complete_percent; /* of this episode */
  double score;                /* sum of rewards, without that of leaving the field */
  double shown_score;
  double seconds;
  int32_t num_visited; /* tiles */
  bool has_new_lap;
  bool is_outside;
  int64_t episode; /* since the environment was made, for pictures */
  /* what plays the episode again, with the world's books */
  pp_rng first_rng;
  view_colors first_colors;
  bool randomizes;
  pp_record actions; /* of car_controls */
};

/* what all environments share */
typedef struct rules {
  box2d_library library;
  view_kit kit;
  canvas_plan plan;
  void *listener_functions[BOX2D_MAX_FUNCTIONS];
  pp_idle canvases;
  bool is_continuous;
  bool has_random_colors;
} rules;

/* what a snapshot holds besides the episode's record and the free nodes */
typedef struct first_look {
  view_colors colors;
  int64_t randomizes;
} first_look;

/* What expose writes. parallel_pool/_families/racing_renderer.py reads it. */
typedef struct view {
  pp_rng first_rng;
  view_colors first_colors;
  int64_t randomizes;
  int64_t episode;
  double seconds, score;
  double hull[6];               /* x, y, angle, and their velocities */
  double wheels[CAR_WHEELS][5]; /* x, y, angle, phase, omega */
  int64_t num_traces;
  int32_t trace_sizes[CAR_MOST_TRACES]; /* the oldest first */
  int32_t traces_on_grass[CAR_MOST_TRACES];
  float traces[CAR_MOST_TRACES][CAR_MOST_TRACE_POINTS][2];
  int64_t num_tiles;
  uint8_t is_plain[TRACK_MOST_TILES];
} view;

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_UINT8,
     .ndim = 3,
     .shape = {CANVAS_CELLS, CANVAS_CELLS, 3},
     .low = 0,
     .high = 255},
    {.name = "lap_finished",
     .is_info = true,
     .when = PP_ON_TERMINATION,
     .dtype = PP_BOOL,
     .space = PP_BOX,
     .high = 1},
};

static const double action_lows[CONTROLS] = {-1, 0, 0};
static const double action_highs[CONTROLS] = {1, 1, 1};
static const pp_field pedals = {.name = "action",
                                .dtype = PP_FLOAT32,
                                .ndim = 1,
                                .shape = {CONTROLS},
                                .lows = action_lows,
                                .highs = action_highs};
static const pp_field keys = {
    .name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_DISCRETE};

enum { LAP_COMPLETE_PERCENT, DOMAIN_RANDOMIZE, CONTINUOUS, LINK, KIT, NUM_OPTIONS };

static const pp_option options[NUM_OPTIONS] = {
    [LAP_COMPLETE_PERCENT] = {.name = "lap_complete_percent",
                              .type = PP_OPT_FLOAT,
                              .number = 0.95,
                              .doc = "share of the tiles after which the first one ends the lap",
                              .varies = true,
                              .refuses = 1 << PP_FLOAT16 | 1 << PP_FLOAT32},
    [DOMAIN_RANDOMIZE] = {.name = "domain_randomize",
                          .type = PP_OPT_BOOL,
                          .doc = "each episode has other colors"},
    [CONTINUOUS] = {.name = "continuous",
                    .type = PP_OPT_BOOL,
                    .number = 1,
                    .doc = "actions are steering, gas and brake, instead of five keys"},
    [LINK] = {.name = "_link",
              .type = PP_OPT_BYTES,
              .required = true,
              .doc = "where the installed Box2D keeps what is needed"},
    [KIT] = {.name = "_kit",
             .type = PP_OPT_BYTES,
             .required = true,
             .doc = "what pictures need of the installed pygame"},
};

static const pp_option reset_options[] = {
    {.name = "randomize",
     .type = PP_OPT_BOOL,
     .number = 1,
     .doc = "with domain_randomize: whether colors change"},
};

/* ------------------------------------------------------------------------------- callbacks -- */

/* Returns the wheel with this body, or null. */
static car_wheel *find_wheel(car *driver, const void *body) {
  for (int i = 0; i < CAR_WHEELS; i++) {
    if (driver->wheels[i].body == body) return &driver->wheels[i];
  }
  return NULL;
}

static void visit(racer *it, track_tile *tile) {
  if (tile->is_visited) return;
  tile->is_visited = true;
  it->score += PRIZE / it->road.count;
  it->num_visited++;
  if (tile == it->road.tiles &&
      (double)it->num_visited / it->road.count > it->lap_complete_percent) {
    it->has_new_lap = true;
  }
}

/* Contacts are those of a tile and a part of the car: nothing else collides. */
static void change_contact(void *self, void *contact, bool begins) {
  racer *it = ((listener *)self)->of;
  const box2d_library *library = it->library;
  const void *a = box2d_contact_body(library, contact, library->contact_fixture_a);
  const void *b = box2d_contact_body(library, contact, library->contact_fixture_b);
  car_wheel *wheel = find_wheel(&it->driver, a);
  bool is_first = wheel || a == it->driver.hull;
  track_tile *tile = track_find(&it->road, is_first ? b : a);

  if (!is_first) wheel = find_wheel(&it->driver, b);
  if (!tile) return;
  tile->is_plain = true;
  if (!wheel) return;
  wheel->tiles += begins ? 1 : -1;
  if (begins) visit(it, tile);
}

static void begin_contact(void *self, void *contact) {
  change_contact(self, contact, true);
}

static void end_contact(void *self, void *contact) {
  change_contact(self, contact, false);
}

/* ------------------------------------------------------------------------------- configure -- */

static int read_kit(const pp_value *given, rules *shared, pp_error *error) {
  if (given->size != (int64_t)sizeof(shared->kit)) {
    return pp_fail(error, PP_ERR_ARGUMENT, "_kit has %lld bytes: leave it to parallel_pool",
                   (long long)given->size);
  }
  memcpy(&shared->kit, given->s, sizeof(shared->kit));
  bool is_good = text_check(&shared->kit.font);
  for (int i = 0; i < VIEW_CAR_PARTS; i++) {
    int32_t count = shared->kit.parts[i].count;
    // pygame draws triangles otherwise
    is_good &= count > 3 && count <= POLYGON_MOST;
  }
  if (!is_good || shared->kit.bits < 14 || shared->kit.bits > 16) {
    return pp_fail(error, PP_ERR_ARGUMENT, "_kit is damaged: leave it to parallel_pool");
  }
  return canvas_plan_init(&shared->plan, shared->kit.bits, error);
}

static int configure(pp_config *config) {
  const pp_value *given = config->options;
  // slots of idle canvases are aligned
  rules *shared = aligned_alloc(_Alignof(rules), sizeof(*shared));
  int status;

  if (!shared) return PP_ERR_MEMORY;
  memset(shared, 0, sizeof(*shared));
  config->shared = shared;
  status = box2d_library_read(&given[LINK], &shared->library, config->error);
  if (status >= 0) status = read_kit(&given[KIT], shared, config->error);
  if (status < 0) return status;
  box2d_listener_init(&shared->library, begin_contact, end_contact, shared->listener_functions);
  shared->is_continuous = given[CONTINUOUS].i != 0;
  shared->has_random_colors = given[DOMAIN_RANDOMIZE].i != 0;
  config->action = shared->is_continuous ? pedals : keys;
  return PP_OK;
}

static void release(void *shared) {
  rules *it = shared;
  for (canvas *idle; it && (idle = pp_idle_take(&it->canvases));) free(idle);
  free(it);
}

/* --------------------------------------------------------------------------------- episodes -- */

/* Makes the world empty, in Gymnasium's order. Contacts that end are not reported. */
static void destroy_bodies(racer *it) {
  if (!it->driver.hull) return;
  it->library->set_listener(it->world.memory, NULL);
  track_destroy(&it->road, it->library, it->world.memory);
  car_destroy(&it->driver, it->library, it->world.memory);
}

static void end_world(racer *it) {
  box2d_world_end(&it->world);
  it->driver.hull = NULL;
  it->road.count = 0;
}

static void draw_colors(view_colors *colors, pp_rng *rng) {
  for (int i = 0; i < 3; i++) colors->road[i] = pp_rng_uniform(rng, 0, 210);
  for (int i = 0; i < 3; i++) colors->background[i] = pp_rng_uniform(rng, 0, 210);
  memcpy(colors->grass, colors->background, sizeof(colors->grass));
  colors->grass[pp_rng_integers(rng, 0, 3)] += 20;
}

static void choose_colors(racer *it, const rules *shared, pp_rng *rng) {
  static const view_colors usual = {{102, 102, 102}, {102, 204, 102}, {102, 230, 102}};

  if (!shared->has_random_colors) {
    it->colors = usual;
  } else if (it->randomizes) {
    draw_colors(&it->colors, rng);
  }
}

/* advances by a step of the episode */
static void advance(racer *it) {
  car_step(&it->driver, it->library);
  box2d_joints_step(&it->solver, it->world.memory);
  it->seconds += 1.0 / BOX2D_FPS;
  it->shown_score = it->score;
}

/* Starts an episode in an empty world whose free nodes are known. Gymnasium's reset ends with a
 * step. */
static int begin_episode(racer *it, const rules *shared, pp_rng *rng, pp_error *error) {
  it->episode++;
  it->first_rng = *rng;
  it->first_colors = it->colors;
  it->actions.count = 0;
  it->listener = (listener){shared->listener_functions, it};
  it->library->set_listener(it->world.memory, &it->listener);
  box2d_joints_init(&it->solver, it->library);
  it->score = it->seconds = 0;
  it->num_visited = 0;
  it->has_new_lap = it->is_outside = false;
  choose_colors(it, shared, rng);
  int status = track_create(&it->road, it->library, it->world.memory, rng, error);
  if (status < 0) return status;
  car_create(&it->driver, it->library, it->world.memory, &it->solver, it->road.start);
  advance(it);
  return PP_OK;
}

/* drives for a step of the episode's record */
static void drive(racer *it, const car_controls *wanted, pp_result *result) {
  const double before = it->score;

  car_control(&it->driver, wanted);
  advance(it);
  // the first step's reward includes that of tiles that the reset has visited
  it->score -= FRAME_PRICE;
  result->reward[0] = it->score - (it->actions.count > 1 ? before : 0);
  result->terminated = it->num_visited == it->road.count || it->has_new_lap;
  const box2d_vector *at = box2d_pair(it->driver.hull, it->library->position);
  it->is_outside = fabs((double)at->x) > RACING_PLAYFIELD || fabs((double)at->y) > RACING_PLAYFIELD;
  if (!it->is_outside) return;
  result->terminated = true;
  result->reward[0] = OUTSIDE;
}

/* Returns the status. After a failure the record can't be played, and neither can later ones in the
 * same world: a failed environment starts anew. */
static int keep(racer *it, int status) {
  if (status < 0) {
    end_world(it);
    it->actions.count = -1;
  }
  return status;
}

/* --------------------------------------------------------------------------------- actions -- */

static double clip(double value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

static car_controls read_pedals(const pp_env *env, const void *action) {
  double values[CONTROLS];
  for (int i = 0; i < CONTROLS; i++) {
    values[i] = *env->action_dtype == PP_FLOAT32 ? (double)((const float *)action)[i]
                                                 : ((const double *)action)[i];
  }
  return (car_controls){-values[0], clip(values[1]), values[2]};
}

static car_controls read_key(const void *action) {
  static const car_controls wanted[NUM_DISCRETE] = {
      {0, 0, 0}, {-0.6, 0, 0}, {0.6, 0, 0}, {0, 0.2, 0}, {0, 0, 0.8}};
  return wanted[*(const int64_t *)action];
}

/* ------------------------------------------------------------------ the engine's callbacks -- */

static int init(pp_env *env) {
  const rules *shared = env->shared;
  racer *it = calloc(1, sizeof(*it));

  *(racer **)env->state = it;
  if (!it) return PP_ERR_MEMORY;
  it->library = &shared->library;
  int status = box2d_world_init(&it->world, &shared->library);
  if (status < 0) return status;
  return pp_record_init(&it->actions, sizeof(car_controls), env->error);
}

static void fini(pp_env *env) {
  racer *it = *(racer **)env->state;
  if (!it) return;
  box2d_world_fini(&it->world);
  free(it->actions.entries);
  free(it->road.tiles);
  free(it);
  *(racer **)env->state = NULL;
}

static int reset(pp_env *env, pp_reset *how) {
  const rules *shared = env->shared;
  racer *it = *(racer **)env->state;

  it->randomizes = how->options ? how->options[0].i != 0 : reset_options[0].number != 0;
  it->lap_complete_percent = env->options[LAP_COMPLETE_PERCENT].f;
  if (!it->has_colors && shared->has_random_colors) {
    // Gymnasium's new environment has colors from a generator without seed
    pp_rng copy = *env->rng;
    draw_colors(&it->colors, &copy);
  }
  it->has_colors = true;
  box2d_world_begin(&it->world, 0);
  destroy_bodies(it);
  int status = box2d_world_read_nodes(&it->world, env->error);
  if (status >= 0) status = begin_episode(it, shared, env->rng, env->error);
  return keep(it, status);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const rules *shared = env->shared;
  racer *it = *(racer **)env->state;
  void *wanted;
  int status = pp_record_add(&it->actions, &wanted, env->error);

  if (status < 0) return status;
  *(car_controls *)wanted = shared->is_continuous ? read_pedals(env, action) : read_key(action);
  drive(it, wanted, result);
  return PP_OK;
}

static int draw(pp_env *env, uint8_t *picture) {
  rules *shared = env->shared;
  const racer *it = *(racer **)env->state;
  const view_scene scene = {&shared->library, &shared->kit, &it->driver,    &it->road,
                            &it->colors,      it->seconds,  it->shown_score};
  canvas *to = pp_idle_take(&shared->canvases);

  if (!to) to = calloc(1, sizeof(*to));
  if (!to) return PP_ERR_MEMORY;
  to->plan = &shared->plan;
  view_draw(&scene, to);
  canvas_shrink(to, picture);
  if (!pp_idle_put_back(&shared->canvases, to)) free(to);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const racer *it = *(racer **)env->state;
  if (rows[1]) *(uint8_t *)rows[1] = !it->is_outside;
  return rows[0] ? draw(env, rows[0]) : PP_OK;
}

/* -------------------------------------------------------------------------------- pictures -- */

static void write_car(const racer *it, view *seen) {
  const box2d_library *library = it->library;
  const box2d_vector *at = box2d_pair(it->driver.hull, library->position);
  const box2d_vector *velocity = box2d_pair(it->driver.hull, library->velocity);
  const double hull[6] = {(double)at->x,
                          (double)at->y,
                          (double)*box2d_number(it->driver.hull, library->angle),
                          (double)velocity->x,
                          (double)velocity->y,
                          (double)*box2d_number(it->driver.hull, library->angular_velocity)};

  memcpy(seen->hull, hull, sizeof(hull));
  for (int i = 0; i < CAR_WHEELS; i++) {
    const car_wheel *wheel = &it->driver.wheels[i];
    at = box2d_pair(wheel->body, library->position);
    const double numbers[5] = {(double)at->x, (double)at->y,
                               (double)*box2d_number(wheel->body, library->angle), wheel->phase,
                               wheel->omega};
    memcpy(seen->wheels[i], numbers, sizeof(numbers));
  }
}

static void write_traces(const car *driver, view *seen) {
  int64_t first = driver->num_traces > CAR_MOST_TRACES ? driver->num_traces - CAR_MOST_TRACES : 0;
  seen->num_traces = driver->num_traces - first;
  for (int64_t i = 0; i < seen->num_traces; i++) {
    const car_trace *trace = &driver->traces[(first + i) % CAR_MOST_TRACES];
    seen->trace_sizes[i] = trace->count;
    seen->traces_on_grass[i] = trace->is_on_grass;
    memcpy(seen->traces[i], trace->points, sizeof(trace->points));
  }
}

static int expose(pp_env *env, void *target) {
  const racer *it = *(racer **)env->state;
  view *seen = target;

  if (!it->driver.hull) {
    return pp_fail(env->error, PP_ERR_STATE, "the environment has no world: reset it");
  }
  seen->first_rng = it->first_rng;
  seen->first_colors = it->first_colors;
  seen->randomizes = it->randomizes;
  seen->episode = it->episode;
  seen->seconds = it->seconds;
  seen->score = it->score;
  write_car(it, seen);
  write_traces(&it->driver, seen);
  seen->num_tiles = it->road.count;
  for (int32_t i = 0; i < it->road.count; i++) seen->is_plain[i] = it->road.tiles[i].is_plain;
  return PP_OK;
}

/* ------------------------------------------------------------------------------- snapshots -- */

static bool is_possible(const void *bytes) {
  car_controls wanted;
  memcpy(&wanted, bytes, sizeof(wanted));
  return !isnan(wanted.steer) && wanted.gas >= 0 && wanted.gas <= 1 && !isnan(wanted.brake);
}

static bool is_look(const void *bytes) {
  first_look look;
  memcpy(&look, bytes, sizeof(look));
  const double *numbers = look.colors.road;
  for (size_t i = 0; i < sizeof(look.colors) / sizeof(double); i++) {
    if (!(numbers[i] >= 0 && numbers[i] < 256)) return false;
  }
  return (uint64_t)look.randomizes <= 1;
}

static const box2d_saved_format format = {.action_size = sizeof(car_controls),
                                          .own_size = sizeof(first_look),
                                          .is_action = is_possible,
                                          .is_own = is_look};

static int64_t save(pp_env *env, void *bytes) {
  const racer *it = *(racer **)env->state;
  const first_look look = {it->first_colors, it->randomizes};
  return box2d_episode_save(&format, &it->actions, &it->world, &it->first_rng, &look, bytes);
}

/* plays an episode whose beginning and actions are in place */
static int replay(racer *it, const rules *shared, int64_t count, pp_error *error) {
  pp_rng rng = it->first_rng;
  double reward;

  box2d_world_begin(&it->world, 0);
  box2d_world_write_nodes(&it->world);
  int status = begin_episode(it, shared, &rng, error);
  while (status >= 0 && it->actions.count < count) {
    pp_result result = {.reward = &reward};
    const void *wanted = pp_record_entry(&it->actions, it->actions.count++);
    drive(it, wanted, &result);
    if (result.terminated) status = pp_record_end(&it->actions, count, error);
  }
  return status;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  return box2d_episode_check(&format, saved, env->error);
}

/* plays the episode of a snapshot, which has been checked, from its beginning, in a new world */
static int load(pp_env *env, const void *bytes, int64_t size) {
  racer *it = *(racer **)env->state;
  first_look look;
  const box2d_saved_episode saved = box2d_episode_read(&format, bytes, size, &look);

  int status = pp_record_reserve(&it->actions, saved.num_actions, env->error);
  if (status < 0) return status;
  end_world(it);
  it->first_rng = saved.first_rng;
  it->colors = it->first_colors = look.colors;
  it->has_colors = saved.num_actions >= 0;
  it->randomizes = look.randomizes != 0;
  it->lap_complete_percent = env->options[LAP_COMPLETE_PERCENT].f;
  box2d_episode_restore(&saved, bytes, &it->actions, &it->world);
  if (saved.num_actions < 0) return PP_OK;
  return keep(it, replay(it, env->shared, saved.num_actions, env->error));
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_car_racing = {
    .id = "CarRacing-v3",
    .reference = "gymnasium 1.4.0 CarRacing-v3",
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .family = "racing",
    .has_reward_threshold = true,
    .reward_threshold = 900,
    .max_episode_steps = 1000,
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(racer *),
    .num_fields = 2,
    .fields = fields,
    .action = {.name = "action",
               .dtype = PP_FLOAT32,
               .ndim = 1,
               .shape = {CONTROLS},
               .lows = action_lows,
               .highs = action_highs},
    .action_dtypes = PP_ALL_ACTION_DTYPES,
    .action_numbers = PP_INFINITE,
    .reset_options = reset_options,
    .num_reset_options = 1,
    .configure = configure,
    .release = release,
    .init = init,
    .fini = fini,
    .reset = reset,
    .step = step,
    .observe = observe,
    .save = save,
    .load = load,
    .check_state = check_state,
    .expose = expose,
};
