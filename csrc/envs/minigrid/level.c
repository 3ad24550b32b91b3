/* The steps, observations and snapshots that all levels share. */
#include "level.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/run.h"
#include "base/state_check.h"

/* of a flat observation: a place for each letter, the space and the comma */
enum { NUM_LETTERS = 28 };
enum { AS_DICT, AS_IMAGE, AS_FLAT };

const pp_field mg_fields[3] = {
    {.name = "image", .dtype = PP_UINT8, .high = 255},
    {.name = "direction", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 4},
    {.name = "mission",
     .dtype = PP_INT32,
     .space = PP_TEXT,
     .n = MG_MOST_TEXT,
     .text = mg_mission_text},
};

static const char *const show_names[MG_NUM_SHOWS] = {"partial", "one_hot",  "rgb_partial",
                                                     "full",    "symbolic", "rgb"};
static const char *const layout_names[3] = {"dict", "image", "flat"};

/* ------------------------------------------------------------------------------- configure -- */

/* Returns the number of a text among names, -1 if it is none. */
static int32_t find(const char *const *names, int32_t count, const char *text) {
  for (int32_t i = 0; i < count; i++) {
    if (strcmp(names[i], text) == 0) return i;
  }
  return -1;
}

int mg_check_sides(const mg_shared *shared, pp_error *error) {
  int32_t least = shared->width < shared->height ? shared->width : shared->height;
  int32_t most = shared->width + shared->height - least;
  if (least >= MG_LEAST_SIDE && most <= MG_MOST_SIDE) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "the grid has %d x %d cells: choose options that make %d to %d of them a side",
                 shared->width, shared->height, MG_LEAST_SIDE, MG_MOST_SIDE);
}

int mg_read_obstacle(const pp_value *value, int64_t *kind, int32_t *mission, pp_error *error) {
  bool is_lava = strcmp(value->s, "lava") == 0;
  *kind = is_lava ? MG_LAVA : MG_WALL;
  *mission = is_lava ? MG_AVOID_LAVA : MG_FIND_OPENING;
  if (is_lava || strcmp(value->s, "wall") == 0) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "obstacle_type='%.40s': choose lava or wall", value->s);
}

static int read_image(pp_config *config, mg_shared *shared) {
  mg_image *image = &shared->image;
  const pp_value *chosen = config->options;
  int64_t agent = chosen[MG_AGENT_VIEW_SIZE].i, size = chosen[MG_VIEW_SIZE].i;
  size = size ? size : agent;
  image->shows = find(show_names, MG_NUM_SHOWS, chosen[MG_IMAGE].s);
  if (image->shows < 0) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "image='%.40s': choose partial, one_hot, rgb_partial, full, symbolic or rgb",
                   chosen[MG_IMAGE].s);
  }
  if (agent % 2 == 0 || size % 2 == 0 || size < 3) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "agent_view_size=%lld, view_size=%lld: choose odd numbers from 3 on",
                   (long long)agent, (long long)size);
  }
  image->agent_view_size = (int32_t)agent;
  bool is_of_step = image->shows == MG_PARTIAL || image->shows == MG_ONE_HOT;
  shared->shows_given = !is_of_step || chosen[MG_VIEW_SIZE].i;
  /* the picture is minigrid's own, which no ViewSizeWrapper changes */
  image->view_size = (int32_t)(image->shows == MG_RGB_PARTIAL ? agent : size);
  image->sees_through_walls = chosen[MG_SEE_THROUGH_WALLS].i != 0;
  image->tile_size = (int32_t)chosen[MG_IMAGE_TILE_SIZE].i;
  return PP_OK;
}

/* Copies the tiles, which Python has drawn. */
static int read_tiles(pp_config *config, mg_image *image) {
  const pp_value *given = &config->options[MG_TILES];
  int64_t needed = (int64_t)MG_NUM_TILES * image->tile_size * image->tile_size * 3;
  if (image->shows != MG_RGB_PARTIAL && image->shows != MG_RGB) return PP_OK;
  if (!given->s || given->size != needed) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "_tiles has %lld bytes: %lld are needed",
                   (long long)given->size, (long long)needed);
  }
  uint8_t *copy = malloc((size_t)needed);
  if (!copy) return PP_ERR_MEMORY;
  memcpy(copy, given->s, (size_t)needed);
  image->tiles = copy;
  return PP_OK;
}

/* Describes the observation in the layout that was chosen. */
static int describe(pp_config *config, mg_shared *it) {
  int32_t layout = find(layout_names, 3, config->options[MG_LAYOUT].s);
  pp_field *image = &config->fields[0], *mission = &config->fields[2];
  it->num_words = mission->ndim ? (int32_t)mission->shape[0] : 1;
  it->most_text = (int32_t)config->options[MG_MAX_TEXT].i;
  mg_image_describe(&it->image, it->width, it->height, image);
  it->image_size = image->shape[0] * image->shape[1] * image->shape[2];
  it->row_size = (size_t)it->image_size;
  if (it->image.shows == MG_SYMBOLIC) {
    it->row_size *= sizeof(int64_t);
    image->dtype = PP_INT64;
    image->lows = it->symbol_lows;
    image->highs = it->symbol_highs;
  }
  if (layout < 0) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "layout='%.40s': choose dict, image or flat",
                   config->options[MG_LAYOUT].s);
  }
  it->has_dict = layout == AS_DICT;
  if (it->has_dict) return PP_OK;
  config->num_fields = 1;
  image->name = "obs";
  if (layout == AS_IMAGE) return PP_OK;
  if (it->image.shows == MG_SYMBOLIC) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "layout='flat' holds uint8, and image='symbolic' int64: choose another");
  }
  image->shape[0] = it->image_size + (int64_t)NUM_LETTERS * it->most_text;
  image->ndim = 1;
  it->is_flat = true;
  it->row_size = (size_t)image->shape[0];
  return PP_OK;
}

/* the bounds of a symbolic image: the last column, the last row, the last kind */
static int make_bounds(mg_shared *it) {
  size_t cells = (size_t)it->width * (size_t)it->height;
  if (it->image.shows != MG_SYMBOLIC) return PP_OK;
  it->symbol_lows = malloc(cells * 3 * sizeof(double));
  it->symbol_highs = malloc(cells * 3 * sizeof(double));
  if (!it->symbol_lows || !it->symbol_highs) return PP_ERR_MEMORY;
  for (size_t i = 0; i < cells * 3; i++) {
    it->symbol_lows[i] = i % 3 == 2 ? -1 : 0;
    it->symbol_highs[i] = i % 3 == 0 ? it->width - 1 : i % 3 == 1 ? it->height - 1 : MG_AGENT;
  }
  return PP_OK;
}

static int read_wrappers(const pp_config *config, mg_shared *it) {
  const pp_value *chosen = config->options;
  int status =
      mg_bonuses_read(chosen[MG_BONUSES].s, chosen[MG_BONUS_SCALE].f, &it->bonuses, config->error);
  if (status < 0) return status;
  return mg_level_seeds_read(chosen[MG_LEVEL_SEEDS].s, chosen[MG_LEVEL_SEED_IDX].i,
                             &it->level_seeds, config->error);
}

static int configure_shared(pp_config *config, mg_shared *it) {
  const pp_value *own = config->options + MG_NUM_COMMON;
  int32_t count = config->def->num_options - MG_NUM_COMMON;
  for (int32_t i = 0; i < count; i++) it->own[i] = own[i].i;
  int status = it->level->configure(it, own, config->error);
  if (status >= 0) status = mg_check_sides(it, config->error);
  if (status >= 0) status = read_image(config, it);
  if (status >= 0) status = read_tiles(config, &it->image);
  if (status >= 0) status = read_wrappers(config, it);
  if (status >= 0) status = make_bounds(it);
  if (status >= 0) status = describe(config, it);
  if (status < 0) return status;
  if (config->options[MG_MAX_STEPS].i) it->max_steps = (int32_t)config->options[MG_MAX_STEPS].i;
  config->state_size = sizeof(mg_state) + (size_t)it->width * (size_t)it->height * sizeof(mg_cell) +
                       (size_t)it->num_obstacles * sizeof(mg_point) +
                       mg_bonuses_bytes(&it->bonuses, it->width * it->height) +
                       MG_CELLS_AROUND * sizeof(mg_cell);
  return PP_OK;
}

int mg_configure(pp_config *config) {
  mg_shared *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  config->shared = it;
  it->level = config->def->data;
  it->def = config->def;
  return configure_shared(config, it);
}

void mg_release(void *shared) {
  mg_shared *it = shared;
  free((void *)it->image.tiles);
  free(it->symbol_lows);
  free(it->symbol_highs);
  free(it->level_seeds.seeds);
  free(it->settings);
  free(it);
}

/* ----------------------------------------------------------------------------------- rules -- */

static mg_world world_of(const mg_shared *shared, void *state, pp_rng *rng) {
  mg_state *it = state;
  return (mg_world){.state = it,
                    .cells = (mg_cell *)(it + 1),
                    .rng = rng,
                    .width = shared->width,
                    .height = shared->height};
}

mg_point *mg_obstacles(const mg_world *world) {
  return (mg_point *)(world->cells + world->width * world->height);
}

double mg_success(const mg_world *world) {
  return 1 - 0.9 * ((double)world->state->steps / (double)world->state->max_steps);
}

bool mg_is_beside(mg_point agent, mg_point place) {
  int32_t dx = abs(agent.x - place.x), dy = abs(agent.y - place.y);
  return dx + dy == 1;
}

void mg_after_pick_target(mg_world *world, int64_t action, mg_outcome *outcome) {
  mg_cell carried = world->state->carried;
  if (action == MG_PICK && carried.kind && carried.tag == MG_TARGET) {
    outcome->reward = mg_success(world);
    outcome->terminated = true;
  }
}

static void go_forward(mg_world *world, mg_point front, mg_cell cell, mg_outcome *outcome) {
  bool is_open_door = cell.kind == MG_DOOR && cell.state == MG_OPEN;
  if (cell.kind == MG_EMPTY || cell.kind == MG_GOAL || cell.kind == MG_LAVA ||
      cell.kind == MG_FLOOR || is_open_door) {
    world->state->agent = front;
  }
  if (cell.kind == MG_GOAL) outcome->reward = mg_success(world);
  outcome->terminated = cell.kind == MG_GOAL || cell.kind == MG_LAVA;
}

/* Returns what remains of an object in its cell: BabyAI's rules still ask where it stood. */
static mg_cell trace_of(mg_state *it, mg_cell object) {
  it->has_traces |= object.tag != 0;
  return (mg_cell){.kind = MG_EMPTY, .tag = object.tag};
}

static void toggle(const mg_shared *shared, mg_world *world, mg_point front, mg_cell cell) {
  mg_cell carried = world->state->carried;
  if (cell.kind == MG_BOX) {
    bool holds = shared->level->has_full_boxes && cell.tag >= MG_HOLDS_KEY;
    cell = holds ? mg_object(MG_KEY, cell.tag - MG_HOLDS_KEY) : trace_of(world->state, cell);
  } else if (cell.kind != MG_DOOR) {
    return;
  } else if (cell.state == MG_LOCKED) {
    if (carried.kind == MG_KEY && carried.color == cell.color) cell.state = MG_OPEN;
  } else {
    cell.state = cell.state == MG_OPEN ? MG_CLOSED : MG_OPEN;
  }
  if (mg_is_inside(world, front)) mg_set(world, front.x, front.y, cell);
}

/* minigrid's own step */
static void act(const mg_shared *shared, mg_world *world, int64_t action, mg_outcome *outcome) {
  mg_state *it = world->state;
  mg_point front = mg_ahead(it->agent, it->direction);
  mg_cell cell = mg_get(world, front);
  it->steps++;
  switch (action) {
    case MG_TURN_LEFT: it->direction = (it->direction + 3) % 4; break;
    case MG_TURN_RIGHT: it->direction = (it->direction + 1) % 4; break;
    case MG_FORWARD: go_forward(world, front, cell, outcome); break;
    case MG_PICK:
      if (cell.kind >= MG_KEY && cell.kind <= MG_BOX && !it->carried.kind) {
        it->carried = cell;
        mg_set(world, front.x, front.y, trace_of(it, cell));
      }
      break;
    case MG_DROP:
      if (cell.kind == MG_EMPTY && it->carried.kind) {
        mg_set(world, front.x, front.y, it->carried);
        it->carried = (mg_cell){0};
      }
      break;
    case MG_TOGGLE: toggle(shared, world, front, cell); break;
    default: break;
  }
  outcome->truncated = it->steps >= it->max_steps;
}

static uint32_t *counts_of(const mg_shared *shared, const mg_world *world) {
  return (uint32_t *)(mg_obstacles(world) + shared->num_obstacles);
}

/* counts: the step is one of an episode, and not of one that has ended, which is taken back */
static mg_outcome advance(const mg_shared *shared, mg_world *world, int64_t action, bool counts) {
  mg_outcome outcome = {.carried = world->state->carried};
  const int64_t chosen = action;
  if (shared->level->before) outcome.note = shared->level->before(shared, world, &action);
  act(shared, world, action, &outcome);
  if (shared->level->after) shared->level->after(world, action, &outcome);
  if (counts && shared->bonuses.count) {
    outcome.reward =
        mg_bonuses_add(&shared->bonuses, world, counts_of(shared, world), chosen, outcome.reward);
  }
  return outcome;
}

/* ------------------------------------------------------------------------------- callbacks -- */

/* Writes a mission's text, and returns its length. */
static int32_t write_text(const mg_shared *shared, const mg_state *it, char *out) {
  return shared->def->fields[2].text(it->mission, out);
}

/* Refuses a mission that a flat observation has no room for, as FlatObsWrapper does. */
static int check_length(pp_env *env) {
  const mg_shared *shared = env->shared;
  char text[MG_LONGEST_TEXT];
  int32_t length = write_text(shared, env->state, text);
  if (length <= shared->most_text) return PP_OK;
  return pp_fail(
      env->error, PP_ERR_ENV,
      "the mission has %d characters: choose max_text (FlatObsWrapper's maxStrLen) >= %d", length,
      length);
}

int mg_reset(pp_env *env, pp_reset *how) {
  (void)how;
  const mg_shared *shared = env->shared;
  mg_world world = world_of(shared, env->state, env->rng);
  *world.state = (mg_state){.agent = {-1, -1},
                            .max_steps = shared->max_steps,
                            .mission = {shared->mission},
                            .seeds_taken = world.state->seeds_taken};
  if (shared->level_seeds.count) {
    mg_level_seeds_take(&shared->level_seeds, &world.state->seeds_taken, env->rng);
  }
  mg_clear(&world);
  shared->level->generate(shared, &world);
  if (world.failure) return pp_fail(env->error, PP_ERR_ENV, "%s", world.failure);
  return shared->is_flat ? check_length(env) : PP_OK;
}

int mg_step(pp_env *env, const void *action, pp_result *result) {
  mg_world world = world_of(env->shared, env->state, env->rng);
  mg_outcome outcome = advance(env->shared, &world, *(const int64_t *)action, true);
  result->reward[0] = outcome.reward;
  result->terminated = outcome.terminated;
  result->truncated = outcome.truncated;
  return PP_OK;
}

/* Writes the letters of a mission, a one for each: FlatObsWrapper. */
static void write_letters(const mg_shared *shared, const mg_state *it, uint8_t *out, int64_t size) {
  char text[MG_LONGEST_TEXT];
  int32_t length = write_text(shared, it, text);
  memset(out, 0, (size_t)size);
  for (int32_t i = 0; i < length && i < size / NUM_LETTERS; i++) {
    int32_t letter = text[i] == ' ' ? 26 : text[i] == ',' ? 27 : text[i] - 'a';
    out[i * NUM_LETTERS + letter] = 1;
  }
}

static void show(const mg_shared *shared, const mg_world *world, void *image, int64_t *direction,
                 int32_t *mission) {
  const mg_state *it = world->state;
  if (image) mg_image_write(&shared->image, world, image);
  if (direction) *direction = it->direction;
  for (int32_t i = 0; mission && i < shared->num_words; i++) mission[i] = it->mission[i];
  if (!image || !shared->is_flat) return;
  write_letters(shared, it, (uint8_t *)image + shared->image_size,
                (int64_t)shared->row_size - shared->image_size);
}

/* Puts what the agent was given after the reset's observation back to its place, in copies. */
static void take_back(mg_world *world, mg_state *state, mg_cell *cells) {
  *state = *world->state;
  memcpy(cells, world->cells, (size_t)(world->width * world->height) * sizeof(mg_cell));
  world->state = state;
  world->cells = cells;
  mg_set(world, state->places[0].x, state->places[0].y, state->carried);
  state->carried = (mg_cell){0};
}

int mg_observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  const mg_shared *shared = env->shared;
  mg_world world = world_of(shared, env->state, env->rng);
  mg_state state;
  mg_cell cells[MG_CELLS_AROUND + MG_MOST_SIDE * MG_MOST_SIDE + MG_CELLS_AROUND];
  if (world.state->is_given && !world.state->steps && !shared->shows_given) {
    take_back(&world, &state, cells + MG_CELLS_AROUND);
  }
  show(shared, &world, rows[0], shared->has_dict ? rows[1] : NULL,
       shared->has_dict ? rows[2] : NULL);
  return PP_OK;
}

int mg_step_many(void *shared, const pp_run *run) {
  const mg_shared *all = shared;
  const int64_t *actions = run->actions;
  char *images = run->fields[0];
  int64_t *directions = all->has_dict ? run->fields[1] : NULL;
  int32_t *missions = all->has_dict ? run->fields[2] : NULL;
  for (int32_t i = 0; i < run->count; i++) {
    mg_world world = world_of(all, pp_run_state(run, i), &run->rngs[i]);
    mg_outcome outcome = advance(all, &world, actions[i], !run->ended[i]);
    run->reward[i] = outcome.reward;
    run->terminated[i] = outcome.terminated;
    run->truncated[i] = outcome.truncated;
    show(all, &world, images ? images + (size_t)i * all->row_size : NULL,
         directions ? directions + i : NULL, missions ? missions + i * all->num_words : NULL);
  }
  return PP_OK;
}

/* writes the state and its cells */
int mg_expose(pp_env *env, void *target) {
  const mg_shared *shared = env->shared;
  size_t cells = (size_t)shared->width * (size_t)shared->height;
  memcpy(target, env->state, sizeof(mg_state) + cells * sizeof(mg_cell));
  return PP_OK;
}

static bool check_cell(const pp_env *env, mg_cell cell) {
  const mg_shared *shared = env->shared;
  return pp_state_check_range(env, "the kind of an object", cell.kind, 0, MG_LAVA) &&
         pp_state_check_range(env, "the color of an object", cell.color, 0, MG_NUM_COLORS - 1) &&
         pp_state_check_range(env, "the state of a door", cell.state, 0, MG_LOCKED) &&
         pp_state_check_range(env, "what a box holds", cell.tag, 0,
                              shared->level->has_full_boxes ? MG_MOST_TAG : UINT8_MAX);
}

static bool check_point(const pp_env *env, const char *name, mg_point at) {
  return pp_state_check_range(env, name, at.x, -1, MG_MOST_SIDE) &&
         pp_state_check_range(env, name, at.y, -1, MG_MOST_SIDE);
}

int mg_check_state(const pp_env *env, const pp_saved *saved) {
  const mg_shared *shared = env->shared;
  const mg_state *it = saved->state;
  const mg_cell *cells = (const mg_cell *)(it + 1);
  int32_t count = shared->width * shared->height;
  const mg_point *obstacles = (const mg_point *)(cells + count);
  /* a look reads cells around the agent, so it must be in the grid, or where no level was made */
  bool is_fit =
      pp_state_check_range(env, "the agent's column", it->agent.x, -1, shared->width - 1) &&
      pp_state_check_range(env, "the agent's row", it->agent.y, -1, shared->height - 1) &&
      pp_state_check_range(env, "direction", it->direction, 0, 3) &&
      pp_state_check_range(env, "steps", it->steps, 0, INT32_MAX / 2) &&
      pp_state_check_range(env, "max_steps", it->max_steps, 0, INT32_MAX) &&
      pp_state_check_range(env, "seeds_taken", it->seeds_taken, 0,
                           shared->level_seeds.count ? shared->level_seeds.count - 1 : 0) &&
      check_cell(env, it->carried) && check_point(env, "a place", it->places[0]) &&
      check_point(env, "a place", it->places[1]);
  for (int32_t i = 0; is_fit && i < count; i++) is_fit = check_cell(env, cells[i]);
  for (int32_t i = 0; is_fit && i < shared->num_obstacles; i++) {
    is_fit = check_point(env, "an obstacle's place", obstacles[i]);
  }
  return is_fit ? PP_OK : PP_ERR_ARGUMENT;
}
