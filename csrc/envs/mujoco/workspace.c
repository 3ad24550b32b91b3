/* Workspaces: makes mjData, hands them to threads, and copies states in and out. */
#include "workspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* one call of mj_makeData, and of mj_copyModel if workspaces have their own */
typedef struct data_request {
  mujoco_workspaces *all;
  mjModel *model;
  mjData *data;
} data_request;

static void make_data(void *argument) {
  data_request *request = argument;
  const mujoco_workspaces *all = request->all;
  request->model = all->owns_models ? all->library->mj_copyModel(NULL, all->model) : all->model;
  if (request->model) request->data = all->library->mj_makeData(request->model);
}

static double *field_of(mjData *data, int64_t place) {
  double *field;
  memcpy(&field, (char *)data + place, sizeof(field));
  return field;
}

static mujoco_workspace *make_workspace(mujoco_workspaces *all, pp_error *error) {
  mujoco_workspace *it = calloc(1, sizeof(*it));
  data_request request = {.all = all};
  char text[PP_ERROR_TEXT] = "no memory";

  if (!it || mujoco_call(all->library, make_data, &request, text) < 0 || !request.data) {
    pp_fail(error, PP_ERR_MEMORY, "MuJoCo can't make an mjData: %.200s", text);
    if (all->owns_models && request.model) all->library->mj_deleteModel(request.model);
    free(it);
    return NULL;
  }
  mjData *data = request.data;
  const mujoco_places *places = all->places;
  it->model = request.model;
  it->data = data;
  it->qpos = field_of(data, places->qpos);
  it->qvel = field_of(data, places->qvel);
  it->ctrl = field_of(data, places->ctrl);
  it->xpos = field_of(data, places->xpos);
  it->xipos = field_of(data, places->xipos);
  it->site_xpos = field_of(data, places->site_xpos);
  it->cinert = field_of(data, places->cinert);
  it->cvel = field_of(data, places->cvel);
  it->qfrc_actuator = field_of(data, places->qfrc_actuator);
  it->qfrc_constraint = field_of(data, places->qfrc_constraint);
  it->cfrc_ext = field_of(data, places->cfrc_ext);
  it->ten_length = field_of(data, places->ten_length);
  it->ten_velocity = field_of(data, places->ten_velocity);
  for (int32_t i = 0; i < all->num_parts; i++) {
    const mujoco_part *part = &all->parts[i];
    it->parts[i] = part->is_inline ? (double *)(void *)((char *)data + part->place)
                                   : field_of(data, part->place);
  }
  return it;
}

mujoco_workspace *mujoco_take(mujoco_workspaces *all, pp_error *error) {
  mujoco_workspace *found = pp_idle_take(&all->idle);
  return found ? found : make_workspace(all, error);
}

void mujoco_put_back(mujoco_workspaces *all, mujoco_workspace *workspace) {
  if (!pp_idle_put_back(&all->idle, workspace)) mujoco_discard(all, workspace);
}

void mujoco_discard(mujoco_workspaces *all, mujoco_workspace *workspace) {
  all->library->mj_deleteData(workspace->data);
  if (all->owns_models) all->library->mj_deleteModel(workspace->model);
  free(workspace);
}

void mujoco_get_state(const mujoco_workspaces *all, const mujoco_workspace *from, double *state) {
  if (!all->num_parts) all->library->mj_getState(all->model, from->data, state, all->state_spec);
  for (int32_t i = 0; i < all->num_parts; i++) {
    memcpy(state, from->parts[i], sizeof(double) * (size_t)all->parts[i].size);
    state += all->parts[i].size;
  }
}

void mujoco_set_state(const mujoco_workspaces *all, mujoco_workspace *to, const double *state) {
  if (!all->num_parts) all->library->mj_setState(all->model, to->data, state, all->state_spec);
  for (int32_t i = 0; i < all->num_parts; i++) {
    memcpy(to->parts[i], state, sizeof(double) * (size_t)all->parts[i].size);
    state += all->parts[i].size;
  }
}

void mujoco_workspaces_fini(mujoco_workspaces *all) {
  for (mujoco_workspace *idle; (idle = pp_idle_take(&all->idle));) mujoco_discard(all, idle);
}
