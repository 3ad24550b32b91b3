/* The model of a task: reads the link, copies the model, and finds fields. */
#include "model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fields.h"
#include "base/fail.h"
#include "rewards.h"

/* names in the link, in the order of the struct's members */
static const char *const data_names[] = {
    MUJOCO_NAMED(suite_data, qpos),      MUJOCO_NAMED(suite_data, qvel),
    MUJOCO_NAMED(suite_data, ctrl),      MUJOCO_NAMED(suite_data, act),
    MUJOCO_NAMED(suite_data, time),      MUJOCO_NAMED(suite_data, ncon),
    MUJOCO_NAMED(suite_data, xpos),      MUJOCO_NAMED(suite_data, xipos),
    MUJOCO_NAMED(suite_data, xmat),      MUJOCO_NAMED(suite_data, xquat),
    MUJOCO_NAMED(suite_data, xanchor),   MUJOCO_NAMED(suite_data, site_xpos),
    MUJOCO_NAMED(suite_data, site_xmat), MUJOCO_NAMED(suite_data, geom_xpos),
    MUJOCO_NAMED(suite_data, geom_xmat), MUJOCO_NAMED(suite_data, sensordata),
};

static const char *const value_names[] = {
    MUJOCO_NAMED(suite_values, jnt_range),   MUJOCO_NAMED(suite_values, jnt_stiffness),
    MUJOCO_NAMED(suite_values, dof_damping), MUJOCO_NAMED(suite_values, geom_pos),
    MUJOCO_NAMED(suite_values, geom_size),   MUJOCO_NAMED(suite_values, site_pos),
    MUJOCO_NAMED(suite_values, site_size),   MUJOCO_NAMED(suite_values, body_pos),
    MUJOCO_NAMED(suite_values, body_quat),   MUJOCO_NAMED(suite_values, light_pos),
    MUJOCO_NAMED(suite_values, wrap_prm),    MUJOCO_NAMED(suite_values, body_subtreemass),
    MUJOCO_NAMED(suite_values, hfield_data), MUJOCO_NAMED(suite_values, hfield_size),
};

enum {
  NUM_DATA = sizeof(data_names) / sizeof(*data_names),
  NUM_VALUES = sizeof(value_names) / sizeof(*value_names)
};

static int read_number(const suite_model *it, const char *name, int32_t *number, pp_error *error) {
  int64_t found = 0;
  int status = mujoco_link_number(it->link, name, &found, error);
  *number = (int32_t)found;
  return status;
}

static int read_places(suite_model *it, pp_error *error) {
  int status = mujoco_read_places(it->link, data_names, NUM_DATA, it->data_places, error);
  if (status >= 0) {
    status = mujoco_read_places(it->link, value_names, NUM_VALUES, it->value_places, error);
  }
  if (status >= 0) status = mujoco_link_number(it->link, "warnings", &it->warnings, error);
  if (status >= 0) status = mujoco_link_number(it->link, "disableflags", &it->flags, error);
  return status;
}

static int read_joint(suite_model *it, int32_t i, pp_error *error) {
  suite_joint *joint = &it->joints[i];
  const char *const parts[4] = {"type", "limited", "qpos", "qvel"};
  int32_t numbers[4];

  for (int32_t j = 0; j < 4; j++) {
    char name[48];
    snprintf(name, sizeof(name), "joint%d_%s", i, parts[j]);
    int status = read_number(it, name, &numbers[j], error);
    if (status < 0) return status;
  }
  *joint = (suite_joint){numbers[0], numbers[1] != 0, numbers[2], numbers[3]};
  return PP_OK;
}

static int read_joints(suite_model *it, pp_error *error) {
  int status = read_number(it, "njnt", &it->num_joints, error);
  if (status < 0) return status;
  it->joints = calloc((size_t)it->num_joints + 1, sizeof(*it->joints));
  if (!it->joints) return PP_ERR_MEMORY;
  for (int32_t i = 0; i < it->num_joints && status >= 0; i++) status = read_joint(it, i, error);
  return status;
}

static int read_rest(suite_model *it, pp_config *config) {
  int32_t is_rk4 = 0;
  int64_t gravity = 0;
  int status = read_number(it, "na", &it->na, config->error);

  if (status >= 0) status = read_number(it, "num_warnings", &it->num_warnings, config->error);
  if (status >= 0) status = read_number(it, "no_actuation", &it->no_actuation, config->error);
  if (status >= 0) status = read_number(it, "is_rk4", &is_rk4, config->error);
  if (status >= 0) status = mujoco_link_number(it->link, "gravity", &gravity, config->error);
  if (status < 0) return status;
  memcpy(&it->gravity, &gravity, sizeof(gravity));
  it->is_rk4 = is_rk4 != 0;
  if (it->sim.nu > SUITE_MOST_CONTROLS) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "the model has %d actuators, more than %d",
                   it->sim.nu, SUITE_MOST_CONTROLS);
  }
  if (it->num_warnings > SUITE_MOST_WARNINGS) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "MuJoCo has %d kinds of warnings, more than %d",
                   it->num_warnings, SUITE_MOST_WARNINGS);
  }
  if (!pp_numpy_read(&it->numpy, &config->options[SUITE_NUMPY]) || !it->numpy.matmul.loop) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "_numpy is not a pp_numpy_loops");
  }
  return PP_OK;
}

static void copy_model(void *argument) {
  suite_model *it = argument;
  it->resting = it->sim.library.mj_copyModel(NULL, it->sim.model);
}

static int make_resting(suite_model *it, pp_error *error) {
  char text[PP_ERROR_TEXT] = "no memory";
  int status = mujoco_call(&it->sim.library, copy_model, it, text);
  if (status < 0 || !it->resting) return pp_fail(error, PP_ERR_MEMORY, "%s", text);
  *(int32_t *)(void *)((char *)it->resting + it->flags) |= it->no_actuation;
  return PP_OK;
}

int suite_model_init(suite_model *it, pp_config *config, bool own_models) {
  it->link = &config->options[MUJOCO_LINK];
  it->sim.workspaces.owns_models = own_models;
  int status = mujoco_simulator_init(&it->sim, config);
  if (status >= 0) status = read_places(it, config->error);
  if (status >= 0) status = read_joints(it, config->error);
  if (status >= 0) status = read_rest(it, config);
  if (status >= 0 && !own_models) status = make_resting(it, config->error);
  return status;
}

void suite_model_fini(suite_model *it) {
  if (it->resting) it->sim.library.mj_deleteModel(it->resting);
  mujoco_simulator_fini(&it->sim);
  free(it->joints);
}

int suite_model_find(const suite_model *it, const char *name, int32_t *number, pp_error *error) {
  if (read_number(it, name, number, error) >= 0) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "dm_control's model has no %s: pip install --no-deps --upgrade dm-control", name);
}

suite_data suite_model_data(const suite_model *it, mjData *data) {
  suite_data found;
  mujoco_find_fields(data, data_names, it->data_places, NUM_DATA, &found);
  return found;
}

suite_values suite_model_values(const suite_model *it, mjModel *model) {
  suite_values found;
  mujoco_find_fields(model, value_names, it->value_places, NUM_VALUES, &found);
  return found;
}
