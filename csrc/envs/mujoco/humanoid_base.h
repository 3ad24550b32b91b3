/* What Humanoid and HumanoidStandup share: options, observation, and the costs of actions and
 * contacts. */
#ifndef PP_ENVS_MUJOCO_HUMANOID_BASE_H
#define PP_ENVS_MUJOCO_HUMANOID_BASE_H

#include "task.h"

/* the options after the common ones; the task's own follow */
enum {
  HUMANOID_CTRL_COST_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  HUMANOID_RESET_NOISE_SCALE,
  HUMANOID_EXCLUDE_POSITIONS,
  HUMANOID_INCLUDE_CINERT,
  HUMANOID_INCLUDE_CVEL,
  HUMANOID_INCLUDE_QFRC_ACTUATOR,
  HUMANOID_INCLUDE_CFRC_EXT,
  HUMANOID_NUM_COMMON_OPTIONS,
};

/* in ids: the first body and the first degree of freedom that are observed, beyond positions and
 * velocities */
enum { HUMANOID_FIRST_BODY, HUMANOID_FIRST_DOF };

/* clang-format off */
#define HUMANOID_OPTIONS(xml)                                                                      \
  MUJOCO_COMMON_OPTIONS(xml, 5),                                                                   \
  MUJOCO_WEIGHT("ctrl_cost_weight", 0.1, "weight of the squared action in the reward"),             \
  MUJOCO_NOISE_SCALE(1e-2),                                                                        \
  MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y"),               \
  MUJOCO_BOOL("include_cinert_in_observation", 1, "observe masses and inertias of bodies"),        \
  MUJOCO_BOOL("include_cvel_in_observation", 1, "observe velocities of bodies"),                   \
  MUJOCO_BOOL("include_qfrc_actuator_in_observation", 1, "observe forces of actuators on joints"), \
  MUJOCO_BOOL("include_cfrc_ext_in_observation", 1, "observe contact forces on bodies")
/* clang-format on */

/* Read these options. v5 does not observe the world, nor the forces on the root joint, which are
 * all 0. */
int humanoid_prepare_v4(pp_config *config, mujoco_shared *shared);
int humanoid_prepare_v5(pp_config *config, mujoco_shared *shared);

/* the observe callback of both tasks */
void humanoid_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

/* the cost of the action as MuJoCo holds it, in float64 */
double humanoid_control_cost(const mujoco_transition *transition);

/* np.clip(weight * np.sum(np.square(data.cfrc_ext)), low, high) */
double humanoid_contact_cost(const mujoco_transition *transition, double weight, double low,
                             double high);

/* Writes the infos tendon_length and tendon_velocity. Returns the end of what it wrote. */
double *humanoid_write_tendons(const mujoco_transition *transition, double *infos);

#endif
