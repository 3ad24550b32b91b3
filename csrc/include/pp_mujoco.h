/* What the file of a robot includes: MuJoCo's own headers, the names of its model, and the
 * callbacks of its definition.
 *
 *     #define PP_ROBOT_MODEL "robot.xml"
 *     #include "pp_mujoco.h"
 *
 * Any function of MuJoCo may be called: the library is linked with the one that Python has
 * loaded. */
#ifndef PP_MUJOCO_H
#define PP_MUJOCO_H

#ifndef PP_ROBOT_MODEL
#error "write #define PP_ROBOT_MODEL \"robot.xml\" above: the model's path, from this file on"
#endif

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "pp_robot.h"

/* one name of the model that the file may use, and where it was when the file was compiled */
typedef struct pp_robot_name {
  int32_t type; /* mjtObj */
  const char *name;
  int32_t id;
  int32_t place;   /* index of a joint in qpos, or of a sensor in sensordata; otherwise 0 */
  int32_t freedom; /* index of a joint in qvel; otherwise 0 */
  int32_t size;    /* numbers of a joint in qpos (by type), a sensor in sensordata; otherwise 0 */
} pp_robot_name;

/* Made by parallel_pool of the model when it compiles the file: constants such as QPOS_HIP,
 * pp_robot_names, and PP_ROBOT_FOLDER, the folder of the file. */
#include <pp_robot_model.h>

/* -------------------------------------------------------------------------------- the model -- */

static int pp_robot_place(const mjModel *model, const pp_robot_name *name, int32_t id) {
  if (name->type == mjOBJ_JOINT) return (int32_t)model->jnt_qposadr[id];
  return name->type == mjOBJ_SENSOR ? (int32_t)model->sensor_adr[id] : 0;
}

static int pp_robot_size(const mjModel *model, const pp_robot_name *name, int32_t id) {
  static const int32_t joints[] = {7, 4, 1, 1}; /* free, ball, slide, hinge */
  if (name->type == mjOBJ_JOINT) return joints[model->jnt_type[id]];
  return name->type == mjOBJ_SENSOR ? (int32_t)model->sensor_dim[id] : 0;
}

static int pp_robot_check_names(const mjModel *model, const char *xml_file, pp_error *error) {
  if (model->nq != NQ || model->nv != NV || model->nu != NU) {
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "%.100s has nq=%d, nv=%d, nu=%d, and the file was compiled for %d, %d and %d: "
                   "load its source again, or give a model like %.60s",
                   xml_file, (int)model->nq, (int)model->nv, (int)model->nu, NQ, NV, NU,
                   PP_ROBOT_MODEL);
  }
  for (size_t i = 0; i < sizeof(pp_robot_names) / sizeof(*pp_robot_names); i++) {
    const pp_robot_name *name = &pp_robot_names[i];
    if (!name->name) continue; /* the end of the table */
    int32_t id = (int32_t)mj_name2id(model, name->type, name->name);
    const char *kind = mju_type2Str(name->type);
    if (id < 0) {
      return pp_fail(error, PP_ERR_ARGUMENT,
                     "%.100s has no %s named \"%.40s\": load the robot's source again, or give a "
                     "model like %.60s",
                     xml_file, kind, name->name, PP_ROBOT_MODEL);
    }
    if (id == name->id && pp_robot_place(model, name, id) == name->place &&
        pp_robot_size(model, name, id) == name->size &&
        (name->type != mjOBJ_JOINT || model->jnt_dofadr[id] == name->freedom)) {
      continue;
    }
    return pp_fail(error, PP_ERR_ARGUMENT,
                   "%.100s has the %s \"%.40s\" at another place than %.60s had when the robot was "
                   "compiled: load its source again",
                   xml_file, kind, name->name, PP_ROBOT_MODEL);
  }
  return PP_OK;
}

static bool pp_robot_take_divergence(mjData *data) {
  static const int kinds[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC};
  bool has = false;
  for (int i = 0; i < 3; i++) {
    has |= data->warning[kinds[i]].number != 0;
    data->warning[kinds[i]].number = 0;
  }
  return has;
}

static const pp_robot_layout pp_robot_layout_of_headers = {
    .version = mjVERSION_HEADER,
    .option_place = offsetof(mjModel, opt),
    .option_size = sizeof(mjOption),
    .statistic_place = offsetof(mjModel, stat),
    .statistic_size = sizeof(mjStatistic),
    .take_divergence = pp_robot_take_divergence,
    .check_names = pp_robot_check_names,
};

/* the first members of a pp_robot */
#define PP_ROBOT \
  .abi = PP_ROBOT_ABI, .size = sizeof(pp_robot), .layout = &pp_robot_layout_of_headers

/* -------------------------------------------------------------------------- the definition -- */

/* The callbacks of a definition are those of the engine, whose address parallel_pool gives. */

static int pp_mujoco_configure(pp_config *config) {
  const char *line = strstr(config->options[PP_ROBOT_LINK].s, "\nrobot_engine=");
  if (!line) return pp_fail(config->error, PP_ERR_ARGUMENT, "the link has no robot_engine");
  const pp_env_def *engine =
      (const pp_env_def *)(uintptr_t)strtoull(strchr(line, '=') + 1, NULL, 10);
  return engine->configure(config);
}

static const pp_env_def *pp_mujoco_engine(const void *shared) {
  return ((const pp_robot_shared *)shared)->engine;
}

static void pp_mujoco_release(void *shared) {
  pp_mujoco_engine(shared)->release(shared);
}

static int pp_mujoco_reset(pp_env *env, pp_reset *how) {
  return pp_mujoco_engine(env->shared)->reset(env, how);
}

static int pp_mujoco_step(pp_env *env, const void *action, pp_result *result) {
  return pp_mujoco_engine(env->shared)->step(env, action, result);
}

static int pp_mujoco_observe(pp_env *env, void *const *rows, bool is_reset) {
  return pp_mujoco_engine(env->shared)->observe(env, rows, is_reset);
}

static int pp_mujoco_check_state(const pp_env *env, const pp_saved *saved) {
  return pp_mujoco_engine(env->shared)->check_state(env, saved);
}

static int pp_mujoco_expose(pp_env *env, void *target) {
  return pp_mujoco_engine(env->shared)->expose(env, target);
}

/* the last members of a definition; robot: a pp_robot */
#define PP_MUJOCO_CALLBACKS(robot)                                                            \
  .configure = pp_mujoco_configure, .release = pp_mujoco_release, .reset = pp_mujoco_reset,   \
  .step = pp_mujoco_step, .observe = pp_mujoco_observe, .check_state = pp_mujoco_check_state, \
  .data = &(robot), .expose = pp_mujoco_expose

/* the first options of a definition; frame_skip: simulation steps of one environment step */
#define PP_MUJOCO_OPTIONS(skip)                                                      \
  {.name = "_link",                                                                  \
   .type = PP_OPT_STRING,                                                            \
   .required = true,                                                                 \
   .doc = "addresses in the MuJoCo library and in the model; set by parallel_pool"}, \
      {.name = "model_digest",                                                       \
       .type = PP_OPT_BYTES,                                                         \
       .required = true,                                                             \
       .doc = "digest of the compiled model; set by parallel_pool"},                 \
      {.name = "xml_file",                                                           \
       .type = PP_OPT_STRING,                                                        \
       .text = PP_ROBOT_MODEL,                                                       \
       .doc = "model: a path, from the folder of the robot's C file on"},            \
      {.name = "frame_skip",                                                         \
       .type = PP_OPT_INT,                                                           \
       .number = skip,                                                               \
       .low = 1,                                                                     \
       .high = 100000,                                                               \
       .doc = "simulation steps of one environment step"},                           \
      {.name = "_folder",                                                            \
       .type = PP_OPT_STRING,                                                        \
       .text = PP_ROBOT_FOLDER,                                                      \
       .doc = "the folder of the robot's C file when it was compiled"}

#endif
