/* The mazes of PointMaze and AntMaze: cells, goals, rewards, and how both environments begin. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_MAZE_H
#define PP_ENVS_MUJOCO_ROBOTICS_MAZE_H

#include "task.h"

/* The rules of versions: until v3 the distance of a start from the goal does not depend on the size
 * of cells, a goal that is reached is always replaced, before the reward is computed, and there is
 * no info "success". */
typedef struct maze_kind {
  robotics_kind base;
  bool is_v3;
} maze_kind;

/* the options, whose first index is first_option */
enum {
  MAZE_REWARD_TYPE,
  MAZE_CONTINUING_TASK,
  MAZE_RESET_TARGET,
  MAZE_MAP,
  MAZE_SIZE_SCALING,
  MAZE_HEIGHT,
  MAZE_POSITION_NOISE_RANGE,
  MAZE_NUM_OPTIONS
};

/* clang-format off */
#define MAZE_OPTIONS(reward, scaling, height)                                                      \
  ROBOTICS_REWARD_TYPE(reward),                                                                    \
  {.name = "continuing_task", .type = PP_OPT_BOOL, .number = 1, .varies = true,                    \
   .doc = "go on when the goal is reached"},                                                       \
  {.name = "reset_target", .type = PP_OPT_BOOL, .varies = true,                                    \
   .doc = "draw another goal when one is reached, in a continuing task"},                          \
  {.name = "maze_map", .type = PP_OPT_STRING, .text = "",                                          \
   .doc = "a list of rows of cells, or the name of one of Gymnasium-Robotics' maps"},              \
  {.name = "maze_size_scaling", .type = PP_OPT_FLOAT, .number = scaling, .low = 1e-3, .high = 1e6, \
   .doc = "width of a cell in m"},                                                                 \
  {.name = "maze_height", .type = PP_OPT_FLOAT, .number = height, .low = 1e-3, .high = 1e6,        \
   .doc = "height of walls, in widths of a cell"},                                                 \
  {.name = "position_noise_range", .type = PP_OPT_FLOAT, .number = 0.25, .high = 1e6,              \
   .varies = true, .doc = "most distance from the middle of a cell, in widths of a cell"}
/* clang-format on */

enum { MAZE_NUM_RESET_OPTIONS = 4 };
extern const pp_option maze_reset_options[MAZE_NUM_RESET_OPTIONS];

/* what both environments share; their definitions have it in extra */
typedef struct maze {
  bool is_v3;
  bool is_dense;
  int32_t first_option;
  int32_t rows;
  int32_t columns;
  const double *walls; /* rows x columns; 1: a wall */
  double scaling;
  int32_t num_goals;
  const double *goals; /* x and y of each cell that may have the goal */
  int32_t num_starts;
  const double *starts;
} maze;

/* the own numbers of both begin so */
enum { MAZE_GOAL = 0, MAZE_START = 2, MAZE_NUM_OWN = 4 };

#define MAZE_DEFINITION                                                                            \
  ROBOTICS_DEFINITION, .action_dtypes = PP_ALL_ACTION_DTYPES, .reset_options = maze_reset_options, \
      .num_reset_options = MAZE_NUM_RESET_OPTIONS, .check_reset = maze_check_reset

/* Reads the setup and the options from first_option on. The task's prepare() calls it. */
int maze_prepare(pp_config *config, robotics_shared *shared, maze *it, int32_t first_option);

int maze_check_reset(void *shared, const pp_value *options, pp_error *error);

/* Draws the goal and where the episode begins, into own. */
int maze_begin(robotics_sim *sim);

/* writes achieved_goal and desired_goal; returns the end */
double *maze_observe(const robotics_sim *sim, double *row, const double *place);

/* Writes reward, termination and the info, which is null until v3. Draws the next goal. */
int maze_judge(robotics_sim *sim, const double *place, double *success);

/* whether the goal is reached: the info "success" */
bool maze_is_reached(const robotics_sim *sim, const double *place);

#endif
