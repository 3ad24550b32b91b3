/* What the four Adroit hands share: options, actions, rewards, and distances between places. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_ADROIT_H
#define PP_ENVS_MUJOCO_ROBOTICS_ADROIT_H

#include "task.h"

enum { ADROIT_REWARD_TYPE = ROBOTICS_NUM_COMMON_OPTIONS, ADROIT_NUM_OPTIONS };

/* Finds names, and describes the observation, the action and the infos. The model must have as many
 * positions and velocities. */
int adroit_prepare(pp_config *config, robotics_shared *shared, int32_t positions, int32_t numbers);

/* an act callback: numbers from -1 to 1 become controls in the actuators' ranges */
void adroit_act(robotics_sim *sim);

/* np.linalg.norm of the difference of two places */
double adroit_distance(const robotics_sim *sim, const double *from, const double *to);

/* Writes the info, and the sparse reward. Returns whether the dense one replaces it. */
bool adroit_judge(robotics_sim *sim, bool is_achieved);

/* clang-format off */
#define ADROIT_OPTIONS(xml, reward) {ROBOTICS_COMMON_OPTIONS(xml, 5), ROBOTICS_REWARD_TYPE(reward)}
#define ADROIT_DEFINITION(table, of)                                                              \
  ROBOTICS_DEFINITION, MUJOCO_OPTIONS(table), .data = of, .max_episode_steps = 200,               \
      .action_dtypes = PP_ALL_ACTION_DTYPES

/* both ids of a task */
#define ADROIT_IDS(title, dense, sparse, of)                                                      \
  {ADROIT_DEFINITION(dense, of), ROBOTICS_ID(title "-v1")},                                       \
  {ADROIT_DEFINITION(sparse, of), ROBOTICS_ID(title "Sparse-v1")}
/* clang-format on */

#endif
