/* The physics of one environment: an mjData of its own, and calls in dm_control's order.
 *
 * dm_control ends a step with mj_step1, and begins the next one with mj_step2. So mjData keeps
 * derived numbers from one step to the next, and each environment has its own: to compute them
 * again would cost up to half of a step. */
#ifndef PP_ENVS_MUJOCO_SUITE_PHYSICS_H
#define PP_ENVS_MUJOCO_SUITE_PHYSICS_H

#include "model.h"

typedef struct suite_physics {
  const suite_model *model;
  mujoco_workspace *in;
  suite_data data;
  suite_values values;
  pp_error *error; /* of the environment */
} suite_physics;

/* Makes the mjData, and the mjModel if environments have their own. */
int suite_physics_make(suite_physics *it, suite_model *model, pp_error *error);
void suite_physics_discard(suite_physics *it, suite_model *model);

/* The rest is called within mujoco_call. */

/* physics.reset(): mj_resetData and mj_forward; divergence is ignored, as dm_control does within
 * its reset_context */
void suite_physics_reset(suite_physics *it);

/* physics.after_reset() where dm_control ignores divergence */
void suite_physics_settle(suite_physics *it);

/* physics.after_reset(): mj_forward without actuation. Fails if it gives a new warning. */
int suite_physics_forward(suite_physics *it);

/* physics.step(): ends with up-to-date positions and velocities. A new warning is a failure. */
int suite_physics_step(suite_physics *it, int32_t count);

/* Copy the state of the simulation out, and into a new mjData, whose derived numbers are computed
 * again. */
void suite_physics_get(const suite_physics *it, double *numbers);
void suite_physics_set(suite_physics *it, const double *numbers);

#endif
