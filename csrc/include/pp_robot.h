/* The ABI of robots: environments of a user's own MJCF file, simulated by the engine's MuJoCo code.
 *
 * A file of a user's includes pp_mujoco.h, which includes this header after MuJoCo's own. The
 * engine is compiled without MuJoCo's headers and includes only this one, so sizes and offsets of
 * MuJoCo's structs come from the file (pp_robot_layout). */
#ifndef PP_ROBOT_H
#define PP_ROBOT_H

#include "pp_env.h"

typedef struct mjModel_ mjModel;
typedef struct mjData_ mjData;

enum { PP_ROBOT_ABI = 1 };

/* the first options of every robot, in this order; its own follow */
enum {
  PP_ROBOT_LINK,
  PP_ROBOT_DIGEST,
  PP_ROBOT_XML_FILE,
  PP_ROBOT_FRAME_SKIP,
  PP_ROBOT_FOLDER_NAME,
  PP_ROBOT_NUM_OPTIONS
};

/* one environment in one callback */
typedef struct pp_robot_sim {
  const mjModel *model; /* the model, with this environment's own values if there is a `vary` */
  mjData *data;
  void *own;          /* robot->own_size bytes, zeroed when the environment is made */
  const void *action; /* as the definition describes it; null in a reset */
  bool
      diverged; /* MuJoCo found a number that is NaN or beyond 1e10, and has reset the simulation */
  const pp_env *env; /* its options, rng, elapsed and error; its state is the engine's */
} pp_robot_sim;

/* where the structs of one version of MuJoCo keep what the engine needs */
typedef struct pp_robot_layout {
  int32_t version; /* mjVERSION_HEADER */
  int32_t option_place;
  int32_t option_size;
  int32_t statistic_place;
  int32_t statistic_size;
  /* returns whether the simulation has diverged since the last call */
  bool (*take_divergence)(mjData *data);
  /* checks that the names of the model are where the file expects them */
  int (*check_names)(const mjModel *model, const char *xml_file, pp_error *error);
} pp_robot_layout;

/* What a robot's file adds to the simulation; a definition's data. All callbacks but check_own run
 * inside a call of MuJoCo that catches its errors by longjmp: they hold no lock and no memory of
 * their own. They return PP_OK, or a negative status after pp_fail(sim->env->error, ...). Any of
 * them may be null. In the order in which they run: */
typedef struct pp_robot {
  uint32_t abi;  /* PP_ROBOT_ABI */
  uint32_t size; /* sizeof(pp_robot) */
  const pp_robot_layout *layout;
  size_t own_size; /* bytes of the environment's own state, which snapshots copy */

  /* Reset. Draws what this episode's model depends on besides options, into the own state. */
  int (*draw)(const pp_robot_sim *sim);

  /* Reset. Writes this environment's values into the model, which has those of the file; the engine
   * calls mj_setConst afterwards. They may depend on options and on the own state, as `draw` left
   * it: it is called again after a snapshot. It may write the arrays whose names begin with qpos0,
   * body_, jnt_, dof_, geom_, site_, cam_, light_, mat_, pair_, eq_, tendon_, wrap_, actuator_,
   * sensor_ and hfield_data, and opt and stat. */
  int (*vary)(const pp_robot_sim *sim, mjModel *model);

  /* Reset. Draws the initial state into data, between calls of mj_resetData and mj_forward. */
  int (*start)(const pp_robot_sim *sim);

  /* Step. Writes data->ctrl, and what else moves the robot (xfrc_applied, mocap_pos). Of data only
   * the state is this environment's: qpos, qvel, act, time and such inputs, but no derived number
   * as xpos or sensordata. null: the action is data->ctrl. frame_skip calls of mj_step follow. */
  int (*act)(const pp_robot_sim *sim);

  /* Step. Writes reward, terminated and truncated. If sim->diverged, terminated is set. */
  int (*judge)(const pp_robot_sim *sim, pp_result *result);

  /* Reset and step. Writes a row of every field; no pointer is null. */
  int (*show)(const pp_robot_sim *sim, void *const *rows, bool is_reset);

  /* Refuses an own state that no environment can have, as check_state of a definition does. */
  int (*check_own)(const pp_env *env, const void *own);
} pp_robot;

/* the beginning of what all environments of a pool share */
typedef struct pp_robot_shared {
  const pp_env_def *engine; /* the engine's callbacks for robots */
} pp_robot_shared;

#endif
