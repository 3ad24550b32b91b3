/* Workspaces: the mjData in which environments are simulated, one for each thread.
 *
 * An environment's own state is MuJoCo's "integration state" without the inputs that no step
 * writes: some fifty numbers, which determine all bits of the next step. To simulate, a thread
 * takes a workspace and copies the state in, and out again afterwards. So a pool has as many mjData
 * as threads, and they stay in the caches. One mjData for each environment costs 6 to 7 % with 256
 * Ants (docs/internals/mujoco.md). */
#ifndef PP_ENVS_MUJOCO_WORKSPACE_H
#define PP_ENVS_MUJOCO_WORKSPACE_H

#include <stdbool.h>

#include "base/idle.h"
#include "library.h"

enum { MUJOCO_PARTS = 8 };

/* one part of an environment's state, in mjData */
typedef struct mujoco_part {
  int64_t place;  /* offset in bytes of the numbers, or of the pointer to them */
  bool is_inline; /* the numbers themselves are there */
  int32_t size;   /* how many numbers */
} mujoco_part;

/* one mjData and pointers to its fields */
typedef struct mujoco_workspace {
  mjModel *model; /* the workspace's own copy if all->owns_models, otherwise the pool's */
  mjData *data;
  double *parts[MUJOCO_PARTS]; /* of an environment's state */
  double *qpos;
  double *qvel;
  double *ctrl;
  const double *xpos;  /* nbody x 3 */
  const double *xipos; /* nbody x 3 */
  const double *site_xpos;
  const double *cinert; /* nbody x 10 */
  const double *cvel;   /* nbody x 6 */
  const double *qfrc_actuator;
  const double *qfrc_constraint;
  const double *cfrc_ext; /* nbody x 6 */
  const double *ten_length;
  const double *ten_velocity;
} mujoco_workspace;

typedef struct mujoco_workspaces {
  const mujoco_library *library;
  const mujoco_places *places;
  mjModel *model;
  bool owns_models;    /* environments have values of their own in the model: model_values.h */
  unsigned state_spec; /* what an environment keeps of mjData, as bits of MuJoCo's mjtState */
  int32_t num_parts;   /* 0: the state has a part that only mj_getState can copy */
  mujoco_part parts[MUJOCO_PARTS];
  pp_idle idle; /* beyond what it keeps, a thread makes a workspace for each call */
} mujoco_workspaces;

/* Returns an idle workspace, preferably the one that this thread used last, or makes one. Returns
 * null if MuJoCo refuses to make one; error says why. */
mujoco_workspace *mujoco_take(mujoco_workspaces *all, pp_error *error);

void mujoco_put_back(mujoco_workspaces *all, mujoco_workspace *workspace);

/* Frees a workspace, such as one that an error of MuJoCo's has left inconsistent. */
void mujoco_discard(mujoco_workspaces *all, mujoco_workspace *workspace);

/* Copy an environment's state out of a workspace and into it, as mj_getState and mj_setState do. */
void mujoco_get_state(const mujoco_workspaces *all, const mujoco_workspace *from, double *state);
void mujoco_set_state(const mujoco_workspaces *all, mujoco_workspace *to, const double *state);

/* Frees all workspaces. No thread may be using one. */
void mujoco_workspaces_fini(mujoco_workspaces *all);

#endif
