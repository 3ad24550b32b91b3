/* MiniGrid-Dynamic-Obstacles: balls move at random, and to run into one ends the episode. */
#include "square.h"

enum { NUM_OBSTACLES = MG_NUM_SQUARE_OPTIONS, NUM_OPTIONS };
/* tries to move an obstacle, as in minigrid */
enum { MOST_TRIES = 100 };

static const mg_cell ball = {MG_BALL, MG_BLUE, 0, MG_PLAIN};

static int configure(mg_shared *shared, const pp_value *values, pp_error *error) {
  int64_t size = values[MG_SQUARE_SIZE].i, count = values[NUM_OBSTACLES].i;
  /* too many are reduced */
  shared->num_obstacles = (int32_t)((double)count <= (double)size / 2 + 1 ? count : size / 2);
  return mg_configure_square(shared, values, error);
}

static void generate(const mg_shared *shared, mg_world *world) {
  mg_generate_square(shared, world);
  mg_point *places = mg_obstacles(world);
  for (int32_t i = 0; i < shared->num_obstacles; i++) {
    if (!mg_try_place(world, ball, mg_whole(world), NULL, NULL, MOST_TRIES, &places[i])) {
      world->failure = "no free cell for an obstacle was found in 101 tries, as in minigrid";
    }
  }
}

/* Moves the obstacles; returns whether something was in the agent's way before. */
static int32_t before(const mg_shared *shared, mg_world *world, int64_t *action) {
  (void)action;
  mg_state *it = world->state;
  int32_t kind = mg_get(world, mg_ahead(it->agent, it->direction)).kind;
  mg_point *places = mg_obstacles(world);
  for (int32_t i = 0; i < shared->num_obstacles; i++) {
    mg_point old = places[i];
    mg_area around = {old.x - 1, old.y - 1, 3, 3};
    if (mg_try_place(world, ball, around, NULL, NULL, MOST_TRIES, &places[i])) {
      mg_set(world, old.x, old.y, mg_empty);
    }
  }
  /* one that found no place stays */
  world->failure = NULL;
  return kind != MG_EMPTY && kind != MG_GOAL;
}

static void after(mg_world *world, int64_t action, mg_outcome *outcome) {
  (void)world;
  if (action == MG_FORWARD && outcome->note) {
    outcome->reward = -1;
    outcome->terminated = true;
  }
}

static const mg_level level = {
    .configure = configure, .generate = generate, .before = before, .after = after};

#define OBSTACLES(title, size, start, count)                                                       \
  {                                                                                                \
      MG_DEFINITION("Dynamic-Obstacles-" title "-v0", &level, NUM_OPTIONS, MG_FORWARD + 1,         \
                    MG_COMMON(true), MG_SQUARE(size, start),                                       \
                    MG_INT(NUM_OBSTACLES, "n_obstacles", count, 0, MG_MOST_SIDE, "moving balls")), \
  }

const pp_env_def pp_env_minigrid_dynamic_obstacles[6] = {
    OBSTACLES("5x5", 5, 1, 2), OBSTACLES("Random-5x5", 5, 0, 2),
    OBSTACLES("6x6", 6, 1, 3), OBSTACLES("Random-6x6", 6, 0, 3),
    OBSTACLES("8x8", 8, 1, 4), OBSTACLES("16x16", 16, 1, 8),
};
