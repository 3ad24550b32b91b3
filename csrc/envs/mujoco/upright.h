/* What Hopper and Walker2d share: options, observation, infos and reward of a runner in a plane
 * that is healthy while it is upright. */
#ifndef PP_ENVS_MUJOCO_UPRIGHT_H
#define PP_ENVS_MUJOCO_UPRIGHT_H

#include "task.h"

/* the options after the common ones; the task's own follow */
enum {
  UPRIGHT_FORWARD_REWARD_WEIGHT = MUJOCO_NUM_COMMON_OPTIONS,
  UPRIGHT_CTRL_COST_WEIGHT,
  UPRIGHT_HEALTHY_REWARD,
  UPRIGHT_TERMINATE_WHEN_UNHEALTHY,
  UPRIGHT_HEALTHY_Z_MIN,
  UPRIGHT_HEALTHY_Z_MAX,
  UPRIGHT_HEALTHY_ANGLE_MIN,
  UPRIGHT_HEALTHY_ANGLE_MAX,
  UPRIGHT_RESET_NOISE_SCALE,
  UPRIGHT_EXCLUDE_POSITIONS,
  UPRIGHT_NUM_COMMON_OPTIONS,
};

/* survive: the macro of the option healthy_reward */
#define UPRIGHT_OPTIONS(xml, z_min, z_max, angle, survive)                                  \
  MUJOCO_COMMON_OPTIONS(xml, 4),                                                            \
      MUJOCO_WEIGHT("forward_reward_weight", 1.0, "weight of the velocity in the reward"),  \
      MUJOCO_ACTION_WEIGHT("ctrl_cost_weight", 1e-3,                                        \
                           "weight of the squared action in the reward"),                   \
      survive(1.0, "reward of a step that ends healthy"),                                   \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"), \
      MUJOCO_WEIGHT("healthy_z_min", z_min, "a healthy torso is higher"),                   \
      MUJOCO_WEIGHT("healthy_z_max", z_max, "a healthy torso is lower"),                    \
      MUJOCO_WEIGHT("healthy_angle_min", -(angle), "a healthy torso's angle is greater"),   \
      MUJOCO_WEIGHT("healthy_angle_max", angle, "a healthy torso's angle is less"),         \
      MUJOCO_NOISE_SCALE(5e-3),                                                             \
      MUJOCO_BOOL("exclude_current_positions_from_observation", 1, "leave out the x position")

/* only v5 has an info of the healthy reward */
enum { UPRIGHT_SURVIVE_OPTION_V4 = 0, UPRIGHT_SURVIVE_OPTION_V5 = UPRIGHT_HEALTHY_REWARD };
enum { UPRIGHT_SURVIVE_INFO = 5 };

extern const pp_field upright_infos_v4[2];
extern const pp_field upright_infos_v5[6];

/* callbacks of both tasks */
int upright_prepare(pp_config *config, mujoco_shared *shared);
void upright_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs);
void upright_after_reset_v4(mujoco_transition *transition);
void upright_after_reset_v5(mujoco_transition *transition);

/* Returns whether height and angle of the torso are healthy. */
bool upright_is_healthy(const mujoco_transition *transition);

/* the after_step callbacks, with the task's own result of whether the state is healthy */
void upright_after_step_v4(mujoco_transition *transition, bool is_healthy);
void upright_after_step_v5(mujoco_transition *transition, bool is_healthy);

/* the members of the mujoco_task v4 or v5; its file defines after_step_v4 and after_step_v5 */
#define UPRIGHT_TASK(version, VERSION)                                                      \
  .least_nq = 3, .prepare = upright_prepare, .draw_state = mujoco_draw_uniform,             \
  .observe = upright_observe, .after_reset = upright_after_reset_##version,                 \
  .after_step = after_step_##version, .weight_option = UPRIGHT_CTRL_COST_WEIGHT,            \
  .survive_option = UPRIGHT_SURVIVE_OPTION_##VERSION, .survive_info = UPRIGHT_SURVIVE_INFO, \
  MUJOCO_INFOS(upright_infos_##version)

#endif
