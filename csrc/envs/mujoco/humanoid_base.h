/* What Humanoid and HumanoidStandup share: the same body, its observation, and how it starts. */
#ifndef PP_ENVS_MUJOCO_HUMANOID_BASE_H
#define PP_ENVS_MUJOCO_HUMANOID_BASE_H

#include "task.h"

/* the first of both tasks' own options */
enum {
  HUMANOID_CTRL_COST_WEIGHT = MUJOCO_OWN,
  HUMANOID_RESET_NOISE_SCALE,
  HUMANOID_EXCLUDE_POSITIONS,
  HUMANOID_INCLUDE_CINERT,
  HUMANOID_INCLUDE_CVEL,
  HUMANOID_INCLUDE_QFRC_ACTUATOR,
  HUMANOID_INCLUDE_CFRC_EXT,
  HUMANOID_OWN,
};

/* the first of both tasks' parameters */
enum {
  HUMANOID_CONTROL,
  HUMANOID_NOISE,
  HUMANOID_SKIPPED,    /* positions that are not observed */
  HUMANOID_FIRST_BODY, /* bodies and degrees of freedom before these are not observed */
  HUMANOID_FIRST_DOF,
  HUMANOID_HAS_CINERT,
  HUMANOID_HAS_CVEL,
  HUMANOID_HAS_QFRC_ACTUATOR,
  HUMANOID_HAS_CFRC_EXT,
  HUMANOID_OWN_PARAMETERS,
};

/* clang-format off */
#define HUMANOID_OPTIONS(xml)                                                                      \
  MUJOCO_COMMON_OPTIONS(xml, 5),                                                                   \
  MUJOCO_FLOAT("ctrl_cost_weight", 0.1, "weight of the squared action in the reward"),             \
  MUJOCO_NOISE_SCALE(1e-2),                                                                        \
  MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out x and y"),               \
  MUJOCO_BOOL("include_cinert_in_observation", 1, "observe masses and inertias of bodies"),        \
  MUJOCO_BOOL("include_cvel_in_observation", 1, "observe velocities of bodies"),                   \
  MUJOCO_BOOL("include_qfrc_actuator_in_observation", 1, "observe forces of actuators on joints"), \
  MUJOCO_BOOL("include_cfrc_ext_in_observation", 1, "observe contact forces on bodies")
/* clang-format on */

/* Reads those options. v5 leaves out the world and the root joint's forces, which are 0. */
int humanoid_prepare_v4(pp_config *config, mujoco_shared *shared);
int humanoid_prepare_v5(pp_config *config, mujoco_shared *shared);

/* a task's callbacks */
void humanoid_draw(const mujoco_shared *shared, pp_rng *rng, double *qpos, double *qvel);
void humanoid_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);

/* cost of the action, as MuJoCo has kept it */
double humanoid_control_cost(const mujoco_moment *moment);

/* np.sum(np.square(data.cfrc_ext)) */
double humanoid_contact_square_sum(const mujoco_moment *moment);

/* writes tendons' lengths and velocities; returns where the next info goes */
double *humanoid_write_tendons(const mujoco_moment *moment, double *infos);

#endif
