/* The physics of one environment: resets, steps in dm_control's order, and warnings. */
#include "physics.h"

#include <string.h>

#include "base/fail.h"

int suite_physics_make(suite_physics *it, suite_model *model, pp_error *error) {
  it->model = model;
  it->error = error;
  it->in = mujoco_take(&model->sim.workspaces, error);
  if (!it->in) return PP_ERR_MEMORY;
  it->data = suite_model_data(model, it->in->data);
  it->values = suite_model_values(model, it->in->model);
  return PP_OK;
}

void suite_physics_discard(suite_physics *it, suite_model *model) {
  if (it->in) mujoco_discard(&model->sim.workspaces, it->in);
  it->in = NULL;
}

/* -------------------------------------------------------------------------------- warnings -- */

/* MuJoCo's mjWarningStat */
typedef struct warning {
  int32_t last;
  int32_t count;
} warning;

typedef struct warnings {
  warning of[SUITE_MOST_WARNINGS];
} warnings;

static warnings read_warnings(const suite_physics *it) {
  warnings found;
  memcpy(&found, (char *)it->in->data + it->model->warnings,
         sizeof(warning) * (size_t)it->model->num_warnings);
  return found;
}

static int check_warnings(const suite_physics *it, const warnings *before) {
  warnings now = read_warnings(it);
  for (int32_t i = 0; i < it->model->num_warnings; i++) {
    if (now.of[i].count <= before->of[i].count) continue;
    return pp_fail(it->error, PP_ERR_ENV,
                   "physics state is invalid: MuJoCo gave warning %d (mujoco.mjtWarning(%d))", i,
                   i);
  }
  return PP_OK;
}

/* ----------------------------------------------------------------------------------- calls -- */

void suite_physics_settle(suite_physics *it) {
  const suite_model *model = it->model;
  const mujoco_library *library = &model->sim.library;

  if (model->resting) {
    library->mj_forward(model->resting, it->in->data);
    return;
  }
  int32_t *flags = (int32_t *)(void *)((char *)it->in->model + model->flags);
  int32_t before = *flags;
  *flags |= model->no_actuation;
  library->mj_forward(it->in->model, it->in->data);
  *flags = before;
}

void suite_physics_reset(suite_physics *it) {
  it->model->sim.library.mj_resetData(it->in->model, it->in->data);
  suite_physics_settle(it);
}

int suite_physics_forward(suite_physics *it) {
  warnings before = read_warnings(it);
  suite_physics_settle(it);
  return check_warnings(it, &before);
}

int suite_physics_step(suite_physics *it, int32_t count) {
  const mujoco_library *library = &it->model->sim.library;
  warnings before = read_warnings(it);

  // MuJoCo can't divide a step of RK4
  if (!it->model->is_rk4) {
    library->mj_step2(it->in->model, it->in->data);
    count--;
  }
  for (int32_t i = 0; i < count; i++) library->mj_step(it->in->model, it->in->data);
  library->mj_step1(it->in->model, it->in->data);
  return check_warnings(it, &before);
}

void suite_physics_get(const suite_physics *it, double *numbers) {
  mujoco_get_state(&it->model->sim.workspaces, it->in, numbers);
}

void suite_physics_set(suite_physics *it, const double *numbers) {
  const mujoco_library *library = &it->model->sim.library;
  library->mj_resetData(it->in->model, it->in->data);
  mujoco_set_state(&it->model->sim.workspaces, it->in, numbers);
  library->mj_step1(it->in->model, it->in->data);
}
