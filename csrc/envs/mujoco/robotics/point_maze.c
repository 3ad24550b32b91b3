/* PointMaze: a ball that is pushed in the plane looks for the goal in a maze.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/maze/point_maze.py, point.py) bit for bit. */
#include <stdlib.h>

#include "maze.h"

enum { FIRST_OPTION = ROBOTICS_NUM_COMMON_OPTIONS };
enum { NQ = 2, NUM_NUMBERS = 4 };

/* own numbers: the maze's, and the last controls */
enum { CONTROLS = MAZE_NUM_OWN, NUM_OWN = CONTROLS + NQ };

static const pp_field infos[] = {MUJOCO_INFO("success", PP_BOOL)};

static int prepare(pp_config *config, robotics_shared *shared) {
  const mujoco_simulator *sim = &shared->mujoco.sim;
  maze *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->extra = it;
  if (sim->nq != NQ || sim->nv != NQ || sim->nu != NQ) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the model has nq=%d, nv=%d, nu=%d: PointMaze needs 2 of each", sim->nq, sim->nv,
                   sim->nu);
  }
  int status = maze_prepare(config, shared, it, FIRST_OPTION);
  if (status < 0) return status;
  shared->num_own = NUM_OWN;
  shared->num_actions = NQ;
  shared->infos = infos;
  shared->num_infos = 1;
  config->action = mujoco_simulator_action(sim);
  robotics_describe_goals(config, shared, NUM_NUMBERS, NQ);
  return PP_OK;
}

static void release(robotics_shared *shared) {
  free(shared->extra);
}

static int begin(robotics_sim *sim) {
  int status = maze_begin(sim);
  robotics_copy(sim->in->qpos, sim->own + MAZE_START, NQ);
  memset(sim->own + CONTROLS, 0, sizeof(double) * NQ);
  return status;
}

static void after_begin(robotics_sim *sim) {
  sim->infos[0] = maze_is_reached(sim, sim->in->qpos);
}

/* Velocities are limited before a step. The reference then calls mj_forward with the last controls,
 * which until MuJoCo 3.3 changes the solver's warm start, and mj_step. */
static void act(robotics_sim *sim) {
  robotics_copy(sim->in->ctrl, sim->own + CONTROLS, NQ);
  for (int i = 0; i < NQ; i++) sim->in->qvel[i] = mujoco_clip(sim->in->qvel[i], -5, 5);
  robotics_forward(sim);
  for (int i = 0; i < NQ; i++) sim->in->ctrl[i] = mujoco_clip(sim->action[i], -1, 1);
}

/* mj_step would reset a simulation with numbers that are none or larger */
static bool is_sound(const robotics_sim *sim) {
  const double most = 1e10, *qpos = sim->in->qpos, *qvel = sim->in->qvel;
  return fabs(qpos[0]) <= most && fabs(qpos[1]) <= most && fabs(qvel[0]) <= most &&
         fabs(qvel[1]) <= most;
}

/* mj_forward has computed what does not depend on controls, so that half a step is left. */
static void advance(robotics_sim *sim) {
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;
  const mujoco_library *library = &simulator->library;
  bool can_halve = is_sound(sim);

  for (int32_t i = 0; i < simulator->frame_skip; i++) {
    if (i == 0 && can_halve) {
      library->mj_step2(sim->in->model, sim->in->data);
    } else {
      library->mj_step(sim->in->model, sim->in->data);
    }
  }
}

static double *observe(robotics_sim *sim, double *row) {
  row = robotics_copy(row, sim->in->qpos, NQ);
  row = robotics_copy(row, sim->in->qvel, NQ);
  return maze_observe(sim, row, sim->in->qpos);
}

static int judge(robotics_sim *sim) {
  robotics_copy(sim->own + CONTROLS, sim->in->ctrl, NQ);
  return maze_judge(sim, sim->in->qpos, &sim->infos[0]);
}

/* ------------------------------------------------------------------------------ definitions -- */

static const robotics_task task = {
    .prepare = prepare,
    .release = release,
    .begin = begin,
    .after_begin = after_begin,
    .act = act,
    .advance = advance,
    .observe = observe,
    .judge = judge,
};
static const maze_kind kind = {.base = {&task}};

static const pp_option sparse[] = {ROBOTICS_COMMON_OPTIONS("point/point.xml", 1),
                                   MAZE_OPTIONS("sparse", 1, 0.4)};
static const pp_option dense[] = {ROBOTICS_COMMON_OPTIONS("point/point.xml", 1),
                                  MAZE_OPTIONS("dense", 1, 0.4)};

#define DEFINITION(table, limit) \
  MAZE_DEFINITION, MUJOCO_OPTIONS(table), .data = &kind, .max_episode_steps = limit
#define IDS(title, limit)                                                \
  {DEFINITION(sparse, limit), ROBOTICS_ID("PointMaze_" title "-v3")}, {  \
    DEFINITION(dense, limit), ROBOTICS_ID("PointMaze_" title "Dense-v3") \
  }

const pp_env_def pp_env_point_maze[20] = {
    IDS("UMaze", 300),
    IDS("Open", 300),
    IDS("Open_Diverse_G", 300),
    IDS("Open_Diverse_GR", 300),
    IDS("Medium", 600),
    IDS("Medium_Diverse_G", 600),
    IDS("Medium_Diverse_GR", 600),
    IDS("Large", 800),
    IDS("Large_Diverse_G", 800),
    IDS("Large_Diverse_GR", 800),
};
