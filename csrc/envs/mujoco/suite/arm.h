/* The planar arm with a hand, of manipulator and stacker. */
#ifndef PP_ENVS_MUJOCO_SUITE_ARM_H
#define PP_ENVS_MUJOCO_SUITE_ARM_H

#include "task.h"

/* the first ids of its tasks; eight joints in qpos, then in qvel, and so on */
enum {
  SUITE_ARM_JOINTS,
  SUITE_ARM_VELOCITIES = SUITE_ARM_JOINTS + 8,
  SUITE_ARM_TOUCH = SUITE_ARM_VELOCITIES + 8,
  SUITE_ARM_HAND = SUITE_ARM_TOUCH + 5,
  SUITE_ARM_GRASP, /* a site */
  SUITE_NUM_ARM_IDS
};

/* Finds the arm, and describes the observations arm_pos, arm_vel, touch and hand_pos. */
int suite_arm_prepare(pp_config *config, suite_shared *shared);

/* draws the joints' angles; the fingers are symmetric */
void suite_arm_draw(suite_sim *sim);

/* writes the observations of suite_arm_prepare */
double *suite_arm_observe(suite_sim *sim, double *row);

/* a body's x and z, and qw and qy of its orientation */
double *suite_arm_pose(const suite_sim *sim, double *row, int32_t id);

/* the distance of two sites */
double suite_arm_distance(const suite_sim *sim, int32_t first, int32_t second);

#endif
