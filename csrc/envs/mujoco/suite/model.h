/* The model of a task: what all environments of a pool share of MuJoCo and NumPy.
 *
 * The simulator of the other MuJoCo tasks reads most of the link. This adds what dm_control's tasks
 * need besides: further fields of mjData and mjModel, names, joints, and warnings. */
#ifndef PP_ENVS_MUJOCO_SUITE_MODEL_H
#define PP_ENVS_MUJOCO_SUITE_MODEL_H

#include "../simulator.h"
#include "base/numpy_loops.h"

/* the first options of every task of the suite, in order; the first four are the simulator's */
enum {
  SUITE_NAME =
      MUJOCO_XML_FILE, /* which model parallel_pool/_families/control_suite_models.py makes */
  SUITE_NUMPY = MUJOCO_NUM_SIMULATOR_OPTIONS,
  SUITE_FRAME_STACK,
  SUITE_SPEED_SWITCHES,
  SUITE_FROM_PIXELS,
  SUITE_RENDER_WIDTH,
  SUITE_RENDER_HEIGHT,
  SUITE_RENDER_CAMERA_ID,
  SUITE_NUM_OPTIONS
};

enum { SUITE_MOST_WARNINGS = 16 };

/* fields of one mjData */
typedef struct suite_data {
  double *qpos;
  double *qvel;
  double *ctrl;
  double *act;
  double *time;
  const int32_t *ncon;
  const double *xpos;  /* nbody x 3 */
  const double *xipos; /* nbody x 3 */
  const double *xmat;  /* nbody x 9 */
  const double *xquat; /* nbody x 4 */
  const double *xanchor;
  const double *site_xpos;
  const double *site_xmat;
  const double *geom_xpos;
  const double *geom_xmat;
  const double *sensordata;
} suite_data;

/* Fields of one mjModel; tasks that write to it have one for each environment. */
typedef struct suite_values {
  double *jnt_range; /* njnt x 2 */
  double *jnt_stiffness;
  double *dof_damping;
  double *geom_pos;  /* ngeom x 3 */
  double *geom_size; /* ngeom x 3 */
  double *site_pos;
  double *site_size;
  double *body_pos;
  double *body_quat; /* nbody x 4 */
  double *light_pos;
  double *wrap_prm;
  double *body_subtreemass;
  float *hfield_data;
  double *hfield_size; /* nhfield x 4 */
} suite_values;

/* MuJoCo's mjtJoint */
enum suite_joint_type { SUITE_FREE, SUITE_BALL, SUITE_SLIDE, SUITE_HINGE };

typedef struct suite_joint {
  int32_t type;
  bool is_limited;
  int32_t place;   /* in qpos */
  int32_t freedom; /* in qvel */
} suite_joint;

/* Only read once the pool is made, except for the simulator's workspaces. */
typedef struct suite_model {
  mujoco_simulator sim;
  /* a copy whose actuation is disabled, with which resets call mj_forward; null if environments
   * have models of their own, where the flag is switched */
  mjModel *resting;
  pp_numpy_loops numpy;
  suite_joint *joints;
  int32_t num_joints;
  int32_t na;
  int32_t num_warnings;
  int32_t no_actuation; /* the flag */
  bool is_rk4;
  double gravity; /* m/s^2, downwards */
  const pp_value *link;
  /* offsets in mjData and mjModel, in bytes */
  int64_t data_places[sizeof(suite_data) / sizeof(void *)];
  int64_t value_places[sizeof(suite_values) / sizeof(void *)];
  int64_t warnings;
  int64_t flags;
} suite_model;

/* Reads the link and copies the model. it is zeroed, and needs fini even if init fails.
 * own_models: each environment writes to its model. */
int suite_model_init(suite_model *it, pp_config *config, bool own_models);
void suite_model_fini(suite_model *it);

/* Reads the number of what is named "body:torso": the index of a body, geom, site or light; with
 * qpos, qvel or sensor the place of a joint's or sensor's first number. */
int suite_model_find(const suite_model *it, const char *name, int32_t *number, pp_error *error);

/* Find the fields in an mjData and in an mjModel. */
suite_data suite_model_data(const suite_model *it, mjData *data);
suite_values suite_model_values(const suite_model *it, mjModel *model);

#endif
