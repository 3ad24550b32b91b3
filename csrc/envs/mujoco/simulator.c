/* The simulator: reads the link, copies the model, and runs work in workspaces. */
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* ----------------------------------------------------------------------------------- link -- */

/* one call of mj_copyModel */
typedef struct model_copy {
  const mujoco_library *library;
  const mjModel *from;
  mjModel *model;
} model_copy;

static void copy_model(void *argument) {
  model_copy *copy = argument;
  copy->model = copy->library->mj_copyModel(NULL, copy->from);
}

/* reads the link's sizes and its addresses of arrays */
static int read_numbers(mujoco_simulator *it, const pp_value *link, const mjModel **model,
                        const double **control, pp_error *error) {
  int64_t address, body_mass, control_range, spec, timestep, sizes[6], fuses;
  const char *names[6] = {"nq", "nv", "nu", "nbody", "ntendon", "nsite"};
  int status = PP_OK;

  if (status >= 0) status = mujoco_link_number(link, "model", &address, error);
  if (status >= 0) status = mujoco_link_number(link, "body_mass", &body_mass, error);
  if (status >= 0) status = mujoco_link_number(link, "actuator_ctrlrange", &control_range, error);
  if (status >= 0) status = mujoco_link_number(link, "state_spec", &spec, error);
  if (status >= 0) status = mujoco_link_number(link, "timestep", &timestep, error);
  if (status >= 0) status = mujoco_link_number(link, "fuses_dot", &fuses, error);
  for (int i = 0; i < 6 && status >= 0; i++) {
    status = mujoco_link_number(link, names[i], &sizes[i], error);
  }
  if (status < 0) return status;

  memcpy(&it->timestep, &timestep, sizeof(timestep));
  *model = (const mjModel *)(uintptr_t)address;
  *control = (const double *)(uintptr_t)control_range;
  it->body_mass = (const double *)(uintptr_t)body_mass;
  it->workspaces.state_spec = (unsigned)spec;
  it->fuses_dot = fuses != 0;
  it->nq = (int32_t)sizes[0];
  it->nv = (int32_t)sizes[1];
  it->nu = (int32_t)sizes[2];
  it->nbody = (int32_t)sizes[3];
  it->ntendon = (int32_t)sizes[4];
  it->nsite = (int32_t)sizes[5];
  it->dt = it->timestep * it->frame_skip;
  return PP_OK;
}

/* reads where mjData keeps the parts of a state; without parts MuJoCo copies the state */
static int read_parts(mujoco_workspaces *workspaces, const pp_value *link, pp_error *error) {
  int64_t count, numbers[3];
  int status = mujoco_link_number(link, "state_parts", &count, error);

  if (status < 0) return status;
  if (count < 0 || count > MUJOCO_PARTS) {
    return pp_fail(error, PP_ERR_ARGUMENT, "state_parts=%lld: choose 0 to %d", (long long)count,
                   MUJOCO_PARTS);
  }
  for (int32_t i = 0; i < count; i++) {
    const char *suffixes[3] = {"", "_inline", "_size"};
    for (int j = 0; j < 3 && status >= 0; j++) {
      char name[32];
      snprintf(name, sizeof(name), "part%d%s", i, suffixes[j]);
      status = mujoco_link_number(link, name, &numbers[j], error);
    }
    if (status < 0) return status;
    workspaces->parts[i] = (mujoco_part){
        .place = numbers[0], .is_inline = numbers[1] != 0, .size = (int32_t)numbers[2]};
  }
  workspaces->num_parts = (int32_t)count;
  return PP_OK;
}

/* reads which numbers of a state are indices; they are those of ring buffers of delayed signals */
static int read_cursors(mujoco_simulator *it, const pp_value *link, pp_error *error) {
  int64_t count, place = 0, length = 0;
  int status = mujoco_link_number(link, "cursors", &count, error);

  if (status < 0 || count == 0) return status;
  it->cursors = calloc((size_t)count, sizeof(*it->cursors));
  if (!it->cursors) return PP_ERR_MEMORY;
  for (int32_t i = 0; i < count && status >= 0; i++) {
    char name[32];
    snprintf(name, sizeof(name), "cursor%d", i);
    status = mujoco_link_number(link, name, &place, error);
    snprintf(name, sizeof(name), "cursor%d_length", i);
    if (status >= 0) status = mujoco_link_number(link, name, &length, error);
    it->cursors[i] = (mujoco_cursor){.place = (int32_t)place, .length = (int32_t)length};
  }
  it->num_cursors = (int32_t)count;
  return status;
}

/* The parts must have as many numbers as the state that MuJoCo itself would copy. */
static int check_parts(pp_config *config, const mujoco_simulator *it) {
  const mujoco_workspaces *workspaces = &it->workspaces;
  int32_t numbers = 0;

  for (int32_t i = 0; i < workspaces->num_parts; i++) numbers += workspaces->parts[i].size;
  if (!workspaces->num_parts || numbers == it->state_numbers) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the parts of a state have %d numbers, but MuJoCo's state has %d", numbers,
                 it->state_numbers);
}

/* Copies arrays of the model, which Python owns, so that they last as long as the pool. */
static int copy_arrays(mujoco_simulator *it, const double *control, pp_error *error) {
  size_t nq = (size_t)it->nq, nv = (size_t)it->nv, nu = (size_t)it->nu;
  size_t nbody = (size_t)it->nbody;
  double *arrays = calloc(nq + nv + nbody + 2 * nu, sizeof(double));
  mujoco_workspace *fresh;

  if (!arrays) return PP_ERR_MEMORY;
  it->arrays = arrays;
  fresh = mujoco_take(&it->workspaces, error);
  if (!fresh) return PP_ERR_MEMORY;
  memcpy(arrays, fresh->qpos, sizeof(double) * nq);
  memcpy(arrays + nq, fresh->qvel, sizeof(double) * nv);
  mujoco_put_back(&it->workspaces, fresh);
  memcpy(arrays + nq + nv, it->body_mass, sizeof(double) * nbody);
  it->init_qpos = arrays;
  it->init_qvel = arrays + nq;
  it->body_mass = arrays + nq + nv;
  it->control_low = arrays + nq + nv + nbody;
  it->control_high = it->control_low + nu;
  for (size_t i = 0; i < nu; i++) {
    // the action space is a float32 Box, so Gymnasium rounds its bounds
    it->control_low[i] = (float)control[2 * i];
    it->control_high[i] = (float)control[2 * i + 1];
  }
  return PP_OK;
}

/* reads the link, whose model and control ranges belong to Python */
static int read_link(mujoco_simulator *it, const pp_value *link, const mjModel **model,
                     const double **control, pp_error *error) {
  int status = mujoco_link_read(link, &it->library, &it->places, error);
  if (status >= 0) status = read_numbers(it, link, model, control, error);
  if (status >= 0) status = read_parts(&it->workspaces, link, error);
  if (status >= 0) status = read_cursors(it, link, error);
  return status;
}

int mujoco_simulator_init(mujoco_simulator *it, pp_config *config) {
  const double *control = NULL;
  model_copy copy = {.library = &it->library};
  char text[PP_ERROR_TEXT] = "no memory";

  it->frame_skip = (int32_t)config->options[MUJOCO_FRAME_SKIP].i;
  int status = read_link(it, &config->options[MUJOCO_LINK], &copy.from, &control, config->error);
  if (status < 0) return status;
  mujoco_mute_clock(&it->library);
  status = mujoco_call(&it->library, copy_model, &copy, text);
  if (status < 0 || !copy.model) return pp_fail(config->error, PP_ERR_MEMORY, "%s", text);
  it->model = copy.model;
  it->workspaces.library = &it->library;
  it->workspaces.places = &it->places;
  it->workspaces.model = it->model;
  it->state_numbers = it->library.mj_stateSize(it->model, it->workspaces.state_spec);
  status = check_parts(config, it);
  return status < 0 ? status : copy_arrays(it, control, config->error);
}

void mujoco_simulator_fini(mujoco_simulator *it) {
  mujoco_workspaces_fini(&it->workspaces);
  if (it->model) it->library.mj_deleteModel(it->model);
  free(it->arrays);
  free(it->cursors);
}

/* ------------------------------------------------------------------------------------- use -- */

int mujoco_simulator_run(mujoco_simulator *it, void (*work)(void *), void *argument,
                         pp_error *error) {
  char text[PP_ERROR_TEXT];
  mujoco_workspace *in = mujoco_take(&it->workspaces, error);
  if (!in) return PP_ERR_MEMORY;
  memcpy(argument, &in, sizeof(in));
  int status = mujoco_call(&it->library, work, argument, text);
  if (status >= 0) return status;
  pp_fail(error, status, "MuJoCo: %.240s", text);
  mujoco_discard(&it->workspaces, in);
  return status;
}

pp_field mujoco_simulator_action(const mujoco_simulator *it) {
  return (pp_field){.name = "action",
                    .dtype = PP_FLOAT32,
                    .ndim = 1,
                    .shape = {it->nu},
                    .lows = it->control_low,
                    .highs = it->control_high};
}

bool mujoco_simulator_check_cursors(const mujoco_simulator *it, const double *numbers,
                                    pp_error *error) {
  for (int32_t i = 0; i < it->num_cursors; i++) {
    const mujoco_cursor *cursor = &it->cursors[i];
    double value = numbers[cursor->place];
    if (value >= 0 && value < cursor->length) continue;
    pp_fail(error, PP_ERR_ARGUMENT, "cursor %d of %d signals is %g", i, cursor->length, value);
    return false;
  }
  return true;
}
