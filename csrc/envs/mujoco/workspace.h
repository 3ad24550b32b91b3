/* Workspaces: the mjData in which environments are stepped, one for each thread that steps.
 *
 * An environment's own state is MuJoCo's "integration state" without the inputs that no step
 * writes: some fifty numbers, from which the next step follows bit by bit. All environments of a
 * pool are stepped in as many mjData as there are threads, which stay in their caches; an mjData of
 * its own for each environment costs 6 to 7 % with 256 Ants (shared/reference/mujoco.md).
 */
#ifndef PP_ENVS_MUJOCO_WORKSPACE_H
#define PP_ENVS_MUJOCO_WORKSPACE_H

#include <stdatomic.h>

#include "library.h"

/* fields of one mjData, as arrays */
typedef struct mujoco_workspace {
  mjData *data;
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

/* as many as may be idle at once; further threads make one for each call */
enum { MUJOCO_SEATS = 256 };

/* An idle workspace or null. Taken by exchange with acquire, put back by compare-and-swap with
 * release: whoever takes one sees what the last thread wrote into it. */
typedef struct mujoco_seat {
  _Alignas(64) _Atomic(mujoco_workspace *) idle;
} mujoco_seat;

typedef struct mujoco_workspaces {
  const mujoco_library *library;
  const mujoco_places *places;
  const mjModel *model;
  mujoco_seat seats[MUJOCO_SEATS];
} mujoco_workspaces;

/* an idle workspace, the one this thread had last if possible; null: MuJoCo refused to make one
 * (error says why) */
mujoco_workspace *mujoco_take(mujoco_workspaces *all, pp_error *error);

void mujoco_put_back(mujoco_workspaces *all, mujoco_workspace *workspace);

/* ends one whose insides an error may have left in disorder */
void mujoco_discard(mujoco_workspaces *all, mujoco_workspace *workspace);

/* ends all; nobody has one */
void mujoco_workspaces_fini(mujoco_workspaces *all);

#endif
