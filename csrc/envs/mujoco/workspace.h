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

enum { MUJOCO_PARTS = 8 };

/* One part of an environment's state, in mjData. */
typedef struct mujoco_part {
  int64_t place;     /* bytes from its start to the numbers, or to the pointer to them */
  int32_t is_inline; /* the numbers themselves are there */
  int32_t size;      /* how many */
} mujoco_part;

/* fields of one mjData, as arrays */
typedef struct mujoco_workspace {
  mjData *data;
  double *parts[MUJOCO_PARTS]; /* of the state */
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
  unsigned state_spec; /* what an environment keeps of mjData, as MuJoCo's mjtState */
  int32_t num_parts;   /* of that; 0: it has some that only MuJoCo knows how to copy */
  mujoco_part parts[MUJOCO_PARTS];
  mujoco_seat seats[MUJOCO_SEATS];
} mujoco_workspaces;

/* an idle workspace, the one this thread had last if possible; null: MuJoCo refused to make one
 * (error says why) */
mujoco_workspace *mujoco_take(mujoco_workspaces *all, pp_error *error);

void mujoco_put_back(mujoco_workspaces *all, mujoco_workspace *workspace);

/* ends one whose insides an error may have left in disorder */
void mujoco_discard(mujoco_workspaces *all, mujoco_workspace *workspace);

/* copies an environment's state out of a workspace and into it, as mj_getState and mj_setState do
 */
void mujoco_get_state(const mujoco_workspaces *all, const mujoco_workspace *from, double *state);
void mujoco_set_state(const mujoco_workspaces *all, mujoco_workspace *to, const double *state);

/* ends all; nobody has one */
void mujoco_workspaces_fini(mujoco_workspaces *all);

#endif
