/* MiniGrid-LavaCrossing, MiniGrid-SimpleCrossing: rivers of lava or walls across the grid, and an
 * opening in each on one way to the goal. */
#include "base/fail.h"
#include "level.h"

enum { SIZE, NUM_CROSSINGS, OBSTACLE, NUM_OPTIONS };

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[SIZE].i;
  shared->width = shared->height = (int32_t)size;
  shared->max_steps = (int32_t)(4 * size * size);
  if (size % 2 == 0) {
    return pp_fail(error, PP_ERR_ARGUMENT, "size=%lld: choose an odd number", (long long)size);
  }
  return mg_read_obstacle(&values[OBSTACLE], &shared->own[OBSTACLE], &shared->mission, error);
}

/* Generator.shuffle */
static void shuffle(mg_world *world, int32_t *items, int32_t count) {
  for (int32_t i = count - 1; i > 0; i--) {
    int32_t other = (int32_t)pp_rng_interval(world->rng, (uint64_t)i);
    int32_t kept = items[i];
    items[i] = items[other];
    items[other] = kept;
  }
}

/* A river is its place, negative for a horizontal one. Copies the places of those of one sign in
 * their order; returns how many there are. */
static int32_t sort(const int32_t *rivers, int32_t count, int32_t sign, int32_t *places) {
  int32_t found = 0;
  for (int32_t i = 0; i < count; i++) {
    int32_t place = sign * rivers[i], at = found;
    if (place < 0) continue;
    for (found++; at > 0 && places[at - 1] > place; at--) places[at] = places[at - 1];
    places[at] = place;
  }
  return found;
}

/* Draws the rivers: sorted places of vertical and horizontal ones. */
static void draw_rivers(mg_world *world, int64_t wanted, int32_t *vertical, int32_t *num_vertical,
                        int32_t *horizontal, int32_t *num_horizontal) {
  int32_t rivers[MG_MOST_SIDE];
  int32_t count = 0;
  for (int32_t i = 2; i < world->height - 2; i += 2) rivers[count++] = i;
  for (int32_t i = 2; i < world->width - 2; i += 2) rivers[count++] = -i;
  shuffle(world, rivers, count);
  if (wanted < count) count = (int32_t)wanted;
  *num_vertical = sort(rivers, count, 1, vertical);
  *num_horizontal = sort(rivers, count, -1, horizontal);
}

static void generate(const mg_shared *shared, mg_world *world) {
  int32_t width = world->width, height = world->height;
  /* between the walls of the grid */
  int32_t vertical[MG_MOST_SIDE + 2], horizontal[MG_MOST_SIDE + 2];
  int32_t num_vertical, num_horizontal;
  mg_cell cell = shared->own[OBSTACLE] == MG_LAVA ? mg_lava : mg_wall;
  mg_frame(world, mg_whole(world));
  mg_put_agent(world, 1, 1, MG_RIGHT);
  mg_set(world, width - 2, height - 2, mg_goal);
  draw_rivers(world, shared->own[NUM_CROSSINGS], vertical + 1, &num_vertical, horizontal + 1,
              &num_horizontal);
  for (int32_t i = 1; i <= num_horizontal; i++) mg_row(world, 1, horizontal[i], width - 2, cell);
  for (int32_t i = 1; i <= num_vertical; i++) mg_column(world, vertical[i], 1, height - 2, cell);

  /* a way to the goal: it crosses the vertical rivers to the right, the others downwards */
  int32_t path[MG_MOST_SIDE];
  int32_t count = num_vertical + num_horizontal;
  for (int32_t i = 0; i < count; i++) path[i] = i < num_vertical;
  shuffle(world, path, count);
  vertical[0] = horizontal[0] = 0;
  vertical[num_vertical + 1] = height - 1;
  horizontal[num_horizontal + 1] = width - 1;
  for (int32_t i = 0, column = 0, row = 0; i < count; i++) {
    if (path[i]) {
      int32_t y = mg_draw(world, horizontal[row] + 1, horizontal[row + 1]);
      mg_set(world, vertical[++column], y, mg_empty);
    } else {
      int32_t x = mg_draw(world, vertical[column] + 1, vertical[column + 1]);
      mg_set(world, x, horizontal[++row], mg_empty);
    }
  }
}

static const mg_level level = {.configure = configure, .generate = generate};

#define CROSSING(title, size, count, obstacle)                                          \
  {                                                                                     \
      MG_DEFINITION(title "-v0", &level, NUM_OPTIONS, MG_NUM_ACTIONS, MG_COMMON(false), \
                    MG_SIZE(SIZE, size),                                                \
                    MG_INT(NUM_CROSSINGS, "num_crossings", count, 0, MG_MOST_SIDE,      \
                           "rivers across the grid"),                                   \
                    MG_OBSTACLE(OBSTACLE, obstacle)),                                   \
  }

const pp_env_def pp_env_minigrid_crossing[8] = {
    CROSSING("LavaCrossingS9N1", 9, 1, "lava"),   CROSSING("LavaCrossingS9N2", 9, 2, "lava"),
    CROSSING("LavaCrossingS9N3", 9, 3, "lava"),   CROSSING("LavaCrossingS11N5", 11, 5, "lava"),
    CROSSING("SimpleCrossingS9N1", 9, 1, "wall"), CROSSING("SimpleCrossingS9N2", 9, 2, "wall"),
    CROSSING("SimpleCrossingS9N3", 9, 3, "wall"), CROSSING("SimpleCrossingS11N5", 11, 5, "wall"),
};
