/* The mazes of PointMaze and AntMaze.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/maze/maze.py, maze_v4.py) bit for bit. */
#include "maze.h"

/* the distance from which a goal is reached */
#define NEAR 0.45

enum { GOAL_ROW, GOAL_COLUMN, RESET_ROW, RESET_COLUMN };

/* -1: drawn */
#define CELL(id, text) \
  {.name = id, .type = PP_OPT_INT, .number = -1, .low = -1, .high = 1000000, .doc = text}

const pp_option maze_reset_options[MAZE_NUM_RESET_OPTIONS] = {
    [GOAL_ROW] = CELL("goal_row", "row of the goal's cell; -1: drawn"),
    [GOAL_COLUMN] = CELL("goal_column", "column of the goal's cell"),
    [RESET_ROW] = CELL("reset_row", "row of the cell where the episode begins; -1: drawn"),
    [RESET_COLUMN] = CELL("reset_column", "column of that cell"),
};

static const maze *maze_of(const robotics_sim *sim) {
  return sim->shared->extra;
}

static const pp_value *option_of(const robotics_sim *sim, int32_t option) {
  return &sim->options[maze_of(sim)->first_option + option];
}

int maze_prepare(pp_config *config, robotics_shared *shared, maze *it, int32_t first_option) {
  static const char *const target = "site:target";
  const double *setup = shared->setup;

  it->is_v3 = ((const maze_kind *)(const void *)shared->kind)->is_v3;
  it->first_option = first_option;
  it->scaling = config->options[first_option + MAZE_SIZE_SCALING].f;
  it->rows = (int32_t)setup[0];
  it->columns = (int32_t)setup[1];
  it->num_goals = (int32_t)setup[2];
  it->num_starts = (int32_t)setup[3];
  it->walls = setup + 4;
  it->goals = it->walls + it->rows * it->columns;
  it->starts = it->goals + 2 * it->num_goals;
  int status = robotics_find(config, shared, &target, 1);
  if (status < 0) return status;
  shared->target = shared->ids[0];
  return robotics_read_reward_type(config, first_option + MAZE_REWARD_TYPE, &it->is_dense);
}

/* ----------------------------------------------------------------------------------- reset -- */

static int check_cell(const maze *it, const pp_value *cell, const char *name, pp_error *error) {
  int64_t row = cell[0].i, column = cell[1].i;
  if (row < 0) return PP_OK;
  if (row >= it->rows || column < 0 || column >= it->columns) {
    return pp_fail(error, PP_ERR_ARGUMENT, "%s=(%lld, %lld): the maze has %d rows and %d columns",
                   name, (long long)row, (long long)column, it->rows, it->columns);
  }
  if (it->walls[row * it->columns + column] != 1) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT, "%s=(%lld, %lld) is a wall: choose another cell", name,
                 (long long)row, (long long)column);
}

int maze_check_reset(void *shared, const pp_value *options, pp_error *error) {
  const maze *it = ((const robotics_shared *)shared)->extra;
  int status = check_cell(it, options + GOAL_ROW, "goal_cell", error);
  if (status >= 0) status = check_cell(it, options + RESET_ROW, "reset_cell", error);
  return status;
}

/* Writes the middle of the cell that the caller has chosen. Returns false if there is none. */
static bool choose(const robotics_sim *sim, int32_t option, double place[2]) {
  const maze *it = maze_of(sim);
  const pp_value *cell = sim->reset_options ? sim->reset_options + option : NULL;
  if (!cell || cell[0].i < 0) return false;
  place[0] = ((double)cell[1].i + 0.5) * it->scaling - it->columns / 2.0 * it->scaling;
  place[1] = it->rows / 2.0 * it->scaling - ((double)cell[0].i + 0.5) * it->scaling;
  return true;
}

/* one of some cells; integers(0, 1) draws nothing, as NumPy's */
static void draw_cell(const robotics_sim *sim, const double *cells, int32_t count,
                      double place[2]) {
  robotics_copy(place, cells + 2 * pp_rng_integers(sim->env->rng, 0, count), 2);
}

static void add_noise(const robotics_sim *sim, double place[2]) {
  double range = option_of(sim, MAZE_POSITION_NOISE_RANGE)->f, noise[2];
  for (int i = 0; i < 2; i++) {
    noise[i] = pp_rng_uniform(sim->env->rng, -range, range) * maze_of(sim)->scaling;
  }
  for (int i = 0; i < 2; i++) place[i] += noise[i];
}

static void draw_goal(robotics_sim *sim) {
  const maze *it = maze_of(sim);
  draw_cell(sim, it->goals, it->num_goals, sim->own + MAZE_GOAL);
  add_noise(sim, sim->own + MAZE_GOAL);
}

/* np.linalg.norm(place - goal), which calls BLAS */
static double distance_of(const robotics_sim *sim, const double *place) {
  const double *goal = sim->own + MAZE_GOAL;
  double offset[2] = {place[0] - goal[0], place[1] - goal[1]};
  return mujoco_norm(&sim->shared->mujoco, offset, 2);
}

bool maze_is_reached(const robotics_sim *sim, const double *place) {
  return distance_of(sim, place) <= NEAR;
}

/* Draws a start that is not near the goal. */
static int draw_start(robotics_sim *sim) {
  const maze *it = maze_of(sim);
  double least = it->is_v3 ? 0.5 : 0.5 * it->scaling, *start = sim->own + MAZE_START;

  for (int32_t attempt = 0; attempt < ROBOTICS_MOST_ATTEMPTS; attempt++) {
    draw_cell(sim, it->starts, it->num_starts, start);
    if (!(distance_of(sim, start) <= least)) return PP_OK;
  }
  return pp_fail(sim->env->error, PP_ERR_ENV,
                 "all cells where an episode can begin are near the goal: choose another maze_map");
}

int maze_begin(robotics_sim *sim) {
  int status = PP_OK;
  if (choose(sim, GOAL_ROW, sim->own + MAZE_GOAL)) {
    add_noise(sim, sim->own + MAZE_GOAL);
  } else {
    draw_goal(sim);
  }
  if (!choose(sim, RESET_ROW, sim->own + MAZE_START)) status = draw_start(sim);
  if (status >= 0) add_noise(sim, sim->own + MAZE_START);
  return status;
}

/* ------------------------------------------------------------------------------------ step -- */

double *maze_observe(const robotics_sim *sim, double *row, const double *place) {
  double goal[2];
  robotics_copy(goal, sim->own + MAZE_GOAL, 2);
  row = robotics_copy(row, place, 2);
  return robotics_copy(row, goal, 2);
}

/* draws goals until one is not reached */
static int replace_goal(robotics_sim *sim, const double *place) {
  for (int32_t attempt = 0; attempt < ROBOTICS_MOST_ATTEMPTS; attempt++) {
    if (!maze_is_reached(sim, place)) return PP_OK;
    draw_goal(sim);
  }
  return pp_fail(sim->env->error, PP_ERR_ENV,
                 "all cells of goals are near the place that was reached: choose another maze_map");
}

static double reward_of(const robotics_sim *sim, const double *place) {
  double distance = robotics_distance(place, sim->own + MAZE_GOAL, 2);
  if (maze_of(sim)->is_dense) return pp_numpy_exp(&sim->shared->numpy, -distance);
  return distance <= NEAR;
}

int maze_judge(robotics_sim *sim, const double *place, double *success) {
  const maze *it = maze_of(sim);
  bool continues = option_of(sim, MAZE_CONTINUING_TASK)->i != 0;
  bool replaces = continues && it->num_goals > 1;
  int status = PP_OK;

  sim->terminated = !continues && maze_is_reached(sim, place);
  if (it->is_v3) {
    if (replaces) status = replace_goal(sim, place);
    sim->reward = reward_of(sim, place);
    return status;
  }
  sim->reward = reward_of(sim, place);
  *success = maze_is_reached(sim, place);
  if (replaces && option_of(sim, MAZE_RESET_TARGET)->i) status = replace_goal(sim, place);
  return status;
}
