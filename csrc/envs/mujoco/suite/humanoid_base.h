/* What the tasks of both humanoids share: they differ in the names of bodies and in one axis. */
#ifndef PP_ENVS_MUJOCO_SUITE_HUMANOID_BASE_H
#define PP_ENVS_MUJOCO_SUITE_HUMANOID_BASE_H

#include "task.h"

/* variants: observations of features, or of positions and velocities only */
enum { SUITE_FEATURES, SUITE_PURE_STATE };

/* Finds torso, head, left hand and foot, right hand and foot (bodies), and the sensor of the
 * velocity. up: the element of the torso's frame that says how upright it is. */
int suite_humanoid_prepare(pp_config *config, suite_shared *shared, const char *const names[7],
                           int32_t up);

/* the other callbacks of a suite_task; a kind's number is the speed, 0 to stand */
int suite_humanoid_begin(suite_sim *sim);
double *suite_humanoid_observe(suite_sim *sim, double *row);
double suite_humanoid_reward(suite_sim *sim);

#endif
