/* What the tasks of the shadow hand share: its joints and its actuators. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_HAND_H
#define PP_ENVS_MUJOCO_ROBOTICS_HAND_H

#include "task.h"

/* The hand's joints come first in qpos and qvel. */
enum { HAND_JOINTS = 24, HAND_ACTUATORS = 20 };

/* Describes action and infos, and reads the reward's type. The model's nq must be `positions`. */
int hand_prepare(pp_config *config, robotics_shared *shared, int32_t positions,
                 int32_t reward_type);

/* an act callback: numbers from -1 to 1 become controls in the actuators' ranges */
void hand_act(robotics_sim *sim);

/* writes the controls of an action of zeros */
void hand_relax(robotics_sim *sim);

/* the positions of the hand's joints, then their velocities */
double *hand_observe(const robotics_sim *sim, double *row);

#endif
