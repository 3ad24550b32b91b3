/* The simulator: what all environments of a pool share of MuJoCo. These are the functions of the
 * library, the pool's model, its sizes, and the workspaces in which environments are simulated. */
#ifndef PP_ENVS_MUJOCO_SIMULATOR_H
#define PP_ENVS_MUJOCO_SIMULATOR_H

#include <stdbool.h>

#include "library.h"
#include "pp_env.h"
#include "workspace.h"

/* the first options of every definition that simulates, in this order (as in pp_robot.h) */
enum {
  MUJOCO_LINK,
  MUJOCO_DIGEST,
  MUJOCO_XML_FILE,
  MUJOCO_FRAME_SKIP,
  MUJOCO_NUM_SIMULATOR_OPTIONS
};

/* a number of a state that MuJoCo uses as an index */
typedef struct mujoco_cursor {
  int32_t place;  /* in the state */
  int32_t length; /* of what it indexes */
} mujoco_cursor;

/* Only read once the pool is made, except for the workspaces. */
typedef struct mujoco_simulator {
  mujoco_library library;
  mujoco_places places;
  mjModel *model; /* the pool's own copy */
  mujoco_workspaces workspaces;
  mujoco_cursor *cursors; /* those of one state of the simulation, which has num_cursors */
  int32_t num_cursors;
  int32_t state_numbers; /* doubles in one state of the simulation */
  int32_t nq;            /* sizes of the model, by MuJoCo's names */
  int32_t nv;
  int32_t nu;
  int32_t nbody;
  int32_t ntendon;
  int32_t nsite;
  int32_t frame_skip;
  bool fuses_dot;  /* NumPy's dot of a few numbers uses fused multiply-add on this machine */
  double timestep; /* seconds of one simulation step */
  double dt;       /* seconds of one environment step */
  const double *init_qpos;
  const double *init_qvel;
  const double *body_mass;
  double *control_low; /* bounds of the action */
  double *control_high;
  double *arrays; /* the allocation that holds the five arrays above */
} mujoco_simulator;

/* Reads the options LINK and FRAME_SKIP, and copies the model. it is zeroed, and needs fini even if
 * init fails. */
int mujoco_simulator_init(mujoco_simulator *it, pp_config *config);
void mujoco_simulator_fini(mujoco_simulator *it);

/* Takes a workspace and calls work(argument) in it, where argument begins with a pointer to the
 * workspace (mujoco_workspace *in), which is set. mujoco_put_back must follow. If MuJoCo reports an
 * error, the result is negative, error has MuJoCo's message, and the workspace is discarded. */
int mujoco_simulator_run(mujoco_simulator *it, void (*work)(void *), void *argument,
                         pp_error *error);

/* a Box of float32 with the model's control ranges, as Gymnasium describes it */
pp_field mujoco_simulator_action(const mujoco_simulator *it);

/* Checks the indices that one state holds. */
bool mujoco_simulator_check_cursors(const mujoco_simulator *it, const double *numbers,
                                    pp_error *error);

#endif
