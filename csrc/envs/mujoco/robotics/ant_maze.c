/* AntMaze: Gymnasium's Ant walks to the goal in a maze.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/maze/ant_maze_v3.py, ant_maze_v4.py, ant_maze_v5.py) bit
 * for bit. */
#include <stdlib.h>

#include "../ant.h"
#include "maze.h"

typedef struct ant_kind {
  maze_kind base;
  const mujoco_task *ant;
} ant_kind;

/* own numbers: the maze's, and what Ant keeps */
enum { CARRY = MAZE_NUM_OWN, NUM_OWN = CARRY + MUJOCO_MAX_CARRY };

static const pp_field maze_info = MUJOCO_INFO("success", PP_BOOL);

/* what all environments share */
typedef struct ant_maze {
  maze maze;
  pp_field infos[PP_MAX_FIELDS]; /* Ant's, then the maze's */
} ant_maze;

static void describe_infos(robotics_shared *shared) {
  ant_maze *it = shared->extra;
  int32_t count = shared->mujoco.task->num_infos;

  for (int32_t i = 0; i < count; i++) {
    mujoco_describe_info(shared->mujoco.options, &shared->mujoco, i, &it->infos[i]);
  }
  if (!it->maze.is_v3) it->infos[count++] = maze_info;
  shared->infos = it->infos;
  shared->num_infos = count;
}

static int prepare(pp_config *config, robotics_shared *shared) {
  mujoco_shared *mujoco = &shared->mujoco;
  ant_maze *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->extra = it;
  mujoco->task = ((const ant_kind *)(const void *)shared->kind)->ant;
  int status = mujoco_check_sizes(config, mujoco);
  if (status >= 0) status = mujoco->task->prepare(config, mujoco);
  if (status >= 0) status = maze_prepare(config, shared, &it->maze, ANT_NUM_OPTIONS);
  if (status < 0) return status;
  if (!mujoco->options[MUJOCO_POST_CONSTRAINT].i) mujoco->needs_constraint_forces = false;
  shared->num_own = NUM_OWN;
  shared->num_actions = mujoco->sim.nu;
  describe_infos(shared);
  config->action = mujoco_simulator_action(&mujoco->sim);
  robotics_describe_goals(config, shared, mujoco->obs_size - 2, 2);
  return PP_OK;
}

static void release(robotics_shared *shared) {
  free(shared->extra);
}

/* Ant after a reset or a step */
static mujoco_transition transition_of(robotics_sim *sim) {
  return (mujoco_transition){.shared = &sim->shared->mujoco,
                             .options = sim->options,
                             .now = sim->in,
                             .carry = sim->own + CARRY,
                             .infos = sim->infos,
                             .action = sim->action,
                             .action_dtype = sim->action_dtype};
}

/* where the maze's info is; null: there is none */
static double *success_of(const robotics_sim *sim) {
  const ant_maze *it = sim->shared->extra;
  return it->maze.is_v3 ? NULL : sim->infos + sim->shared->mujoco.task->num_infos;
}

/* Ant's own noise is 0 here. */
static int begin(robotics_sim *sim) {
  int status = maze_begin(sim);
  robotics_copy(sim->in->qpos, sim->own + MAZE_START, 2);
  return status;
}

static void after_begin(robotics_sim *sim) {
  mujoco_transition transition = transition_of(sim);
  double *success = success_of(sim);
  sim->shared->mujoco.task->after_reset(&transition);
  if (success) *success = maze_is_reached(sim, sim->in->qpos);
}

static void act(robotics_sim *sim) {
  robotics_copy(sim->in->ctrl, sim->action, sim->shared->mujoco.sim.nu);
}

static void advance(robotics_sim *sim) {
  robotics_advance(sim);
  if (!sim->shared->mujoco.needs_constraint_forces) return;
  sim->shared->mujoco.sim.library.mj_rnePostConstraint(sim->in->model, sim->in->data);
}

/* Ant's observation without the first two numbers, its place, which is the achieved goal */
static double *observe(robotics_sim *sim, double *row) {
  const mujoco_shared *mujoco = &sim->shared->mujoco;
  int32_t count = mujoco->obs_size - 2;
  mujoco->task->observe(mujoco, sim->in, row);
  memmove(row, row + 2, sizeof(double) * (size_t)count);
  return maze_observe(sim, row + count, sim->in->qpos);
}

static int judge(robotics_sim *sim) {
  mujoco_transition transition = transition_of(sim);
  sim->shared->mujoco.task->after_step(&transition);
  return maze_judge(sim, sim->in->qpos, success_of(sim));
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
static const ant_kind kind_v3 = {.base = {{&task}, .is_v3 = true}, .ant = &mujoco_ant_v4};
static const ant_kind kind_v4 = {.base = {{&task}}, .ant = &mujoco_ant_v4};
static const ant_kind kind_v5 = {.base = {{&task}}, .ant = &mujoco_ant_v5};

/* AntMaze gives Ant these itself. */
#define FIXED                                                                           \
  {.name = "_reset_noise_scale", .type = PP_OPT_FLOAT, .doc = "0: a maze has its own"}, \
      {.name = "_exclude_current_positions_from_observation",                           \
       .type = PP_OPT_BOOL,                                                             \
       .doc = "false: the place is the achieved goal"}

#define V4(reward)                                                                      \
  {ANT_OPTIONS(ANT_MAIN_BODY_V4, ANT_FORCES_V4(0), MUJOCO_FLOAT_SURVIVE_WEIGHT, FIXED), \
   MAZE_OPTIONS(reward, 4, 0.5)}
#define V5(reward)                                                             \
  {ANT_OPTIONS(ANT_MAIN_BODY_V5, ANT_FORCES_V5, MUJOCO_SURVIVE_WEIGHT, FIXED), \
   MAZE_OPTIONS(reward, 4, 0.5)}

static const pp_option sparse_v4[] = V4("sparse");
static const pp_option dense_v4[] = V4("dense");
static const pp_option sparse_v5[] = V5("sparse");
static const pp_option dense_v5[] = V5("dense");

#define DEFINITION(table, kind, limit) \
  MAZE_DEFINITION, MUJOCO_OPTIONS(table), .data = &kind, .max_episode_steps = limit
#define PAIR(title, version, options, kind, limit)                                           \
  {DEFINITION(sparse_##options, kind, limit), ROBOTICS_ID("AntMaze_" title "-" version)}, {  \
    DEFINITION(dense_##options, kind, limit), ROBOTICS_ID("AntMaze_" title "Dense-" version) \
  }
#define IDS(title, limit)                                                       \
  PAIR(title, "v3", v4, kind_v3, limit), PAIR(title, "v4", v4, kind_v4, limit), \
      PAIR(title, "v5", v5, kind_v5, limit)

const pp_env_def pp_env_ant_maze[60] = {
    IDS("UMaze", 700),
    IDS("Open", 700),
    IDS("Open_Diverse_G", 700),
    IDS("Open_Diverse_GR", 700),
    IDS("Medium", 1000),
    IDS("Medium_Diverse_G", 1000),
    IDS("Medium_Diverse_GR", 1000),
    IDS("Large", 1000),
    IDS("Large_Diverse_G", 1000),
    IDS("Large_Diverse_GR", 1000),
};
