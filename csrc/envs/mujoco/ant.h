/* Ant's options and tasks, which AntMaze shares (robotics/ant_maze.c). */
#ifndef PP_ENVS_MUJOCO_ANT_H
#define PP_ENVS_MUJOCO_ANT_H

#include "task.h"

enum {
  ANT_FORWARD_REWARD_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  ANT_CTRL_COST_WEIGHT,
  ANT_CONTACT_COST_WEIGHT,
  ANT_HEALTHY_REWARD,
  ANT_MAIN_BODY,
  ANT_TERMINATE_WHEN_UNHEALTHY,
  ANT_HEALTHY_Z_MIN,
  ANT_HEALTHY_Z_MAX,
  ANT_CONTACT_FORCE_MIN,
  ANT_CONTACT_FORCE_MAX,
  ANT_RESET_NOISE_SCALE,
  ANT_EXCLUDE_POSITIONS,
  ANT_INCLUDE_FORCES, /* v4: use_contact_forces; v5: include_cfrc_ext_in_observation */
  ANT_NUM_OPTIONS
};

/* fixed: those of noise and positions */
#define ANT_OPTIONS(main_body, forces, survive, fixed)                                             \
  MUJOCO_COMMON_OPTIONS("ant.xml", 5),                                                             \
      MUJOCO_WEIGHT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),         \
      MUJOCO_ACTION_WEIGHT("ctrl_cost_weight", 0.5, "weight of the squared action in the reward"), \
      MUJOCO_WEIGHT("contact_cost_weight", 5e-4, "weight of squared contact forces"),              \
      survive(1.0, "reward of a step that ends healthy"), main_body,                               \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"),        \
      MUJOCO_WEIGHT("healthy_z_min", 0.2, "least healthy height of the torso"),                    \
      MUJOCO_WEIGHT("healthy_z_max", 1.0, "greatest healthy height of the torso"),                 \
      MUJOCO_FLOAT("contact_force_min", -1.0, "contact forces below this count as this"),          \
      MUJOCO_FLOAT("contact_force_max", 1.0, "contact forces above this count as this"), fixed,    \
      forces

#define ANT_MAIN_BODY_V4                  \
  MUJOCO_INT("main_body", -1, -1, 100000, \
             "body whose velocity counts, by number or name; -1: the one named torso")
#define ANT_FORCES_V4(value) \
  MUJOCO_BOOL("use_contact_forces", value, "observe contact forces and subtract their cost")

#define ANT_MAIN_BODY_V5 \
  MUJOCO_INT("main_body", 1, 0, 100000, "body whose velocity counts, by number or name")
#define ANT_FORCES_V5 MUJOCO_BOOL("include_cfrc_ext_in_observation", 1, "observe contact forces")

extern const mujoco_task mujoco_ant_v4;
extern const mujoco_task mujoco_ant_v5;

#endif
