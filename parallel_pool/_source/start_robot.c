/* mine/MyRobot-v0: the robot of MODEL must move along x.
 * A start for a robot of your own: change it from top to bottom.
 *
 *     python -m parallel_pool check my_robot.c     compiles it and finds mistakes
 *     parallel_pool.load_source("my_robot.c")      compiles it and returns its ids
 */
#define PP_ROBOT_MODEL "MODEL" /* from this file's folder on */

#include "base/normal.h" /* NumPy's normal random numbers */
#include "base/random.h"
#include "pp_mujoco.h" /* MuJoCo, and the names of the model: QPOS_, DOF_, CTRL_, SENSOR_, BODY_ */

/* Names of this model:
NAMES
 */

/* ---------------------------------------------------------------------------------- state -- */

/* What an environment knows besides the simulation. Snapshots copy it, so it holds no pointers. */
typedef struct robot {
  double x; /* after the last step */
  double velocity;
} robot;

static double place(const pp_robot_sim *sim) {
  return PLACE;
}

/* ------------------------------------------------------ what the environment shows and takes -- */

enum {
  HIDDEN = SKIPPED, /* positions that are not shown: how far it has come */
  OBS = NQ - HIDDEN + NV + NSENSORDATA
};

/* Observations first, then infos. The action is a number for each actuator, within its ctrlrange
 * (from -1 to 1 without one). */
static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT64,
     .ndim = 1,
     .shape = {OBS},
     .low = -HUGE_VAL,
     .high = HUGE_VAL},
    {.name = "x", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64},
    {.name = "x_velocity", .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT64},
};

/* Keyword arguments of the constructor. With .varies they may be drawn anew at each reset:
 * friction=parallel_pool.each_reset(0.5, 1.5). */
enum { NOISE = PP_ROBOT_NUM_OPTIONS, CONTROL_COST, FRICTION, MASS, NUM_OPTIONS };

static const pp_option options[NUM_OPTIONS] = {
    PP_MUJOCO_OPTIONS(5), /* mj_step is called 5 times for a step, unless frame_skip is given */
    {.name = "reset_noise_scale",
     .type = PP_OPT_FLOAT,
     .number = 0.01,
     .low = 0,
     .high = 1,
     .varies = true,
     .doc = "size of the noise in initial states"},
    {.name = "ctrl_cost_weight",
     .type = PP_OPT_FLOAT,
     .number = 0.1,
     .low = 0,
     .high = 100,
     .varies = true,
     .doc = "weight of the squared action in the reward"},
    {.name = "friction",
     .type = PP_OPT_FLOAT,
     .number = 1,
     .low = 0.01,
     .high = 100,
     .varies = true,
     .doc = "factor of all sliding frictions"},
    {.name = "mass",
     .type = PP_OPT_FLOAT,
     .number = 1,
     .low = 0.01,
     .high = 100,
     .varies = true,
     .doc = "factor of all masses"},
};

/* ------------------------------------------------------------------------------- callbacks -- */

/* Writes this environment's values into the model, which has those of the file. */
static int vary(const pp_robot_sim *sim, mjModel *model) {
  double friction = sim->env->options[FRICTION].f, mass = sim->env->options[MASS].f;

  for (int i = 0; i < NGEOM; i++) model->geom_friction[3 * i] *= friction;
  for (int i = 0; i < NBODY; i++) {
    model->body_mass[i] *= mass;
    for (int axis = 0; axis < 3; axis++) model->body_inertia[3 * i + axis] *= mass;
  }
  return PP_OK;
}

/* Starts an episode: data is as mj_resetData leaves it. All random numbers come from rng. */
static int start(const pp_robot_sim *sim) {
  double noise = sim->env->options[NOISE].f;

  for (int i = 0; i < NQ; i++) sim->data->qpos[i] += pp_rng_uniform(sim->env->rng, -noise, noise);
  for (int i = 0; i < NV; i++) sim->data->qvel[i] += noise * pp_rng_normal(sim->env->rng);
  return PP_OK;
}

/* Judges a step, after the simulation. MuJoCo resets one that diverges; the episode ends then. */
static int judge(const pp_robot_sim *sim, pp_result *result) {
  robot *it = (robot *)sim->own;
  const float *action = (const float *)sim->action;
  double seconds = sim->model->opt.timestep * (double)sim->env->options[PP_ROBOT_FRAME_SKIP].i;
  double effort = 0;

  if (sim->diverged) return PP_OK;
  it->velocity = (place(sim) - it->x) / seconds;
  for (int i = 0; i < NU; i++) effort += (double)action[i] * (double)action[i];
  result->reward[0] = it->velocity - sim->env->options[CONTROL_COST].f * effort;
  result->terminated = false; /* such as: it has fallen */
  return PP_OK;
}

/* Writes a row of every field, after a reset and after a step. */
static int show(const pp_robot_sim *sim, void *const *rows, bool is_reset) {
  robot *it = (robot *)sim->own;
  double *obs = (double *)rows[0];
  (void)is_reset;
  it->x = place(sim);
  memcpy(obs, sim->data->qpos + HIDDEN, sizeof(double) * (NQ - HIDDEN));
  memcpy(obs + NQ - HIDDEN, sim->data->qvel, sizeof(double) * NV);
  memcpy(obs + NQ - HIDDEN + NV, sim->data->sensordata, sizeof(double) * NSENSORDATA);
  *(double *)rows[1] = it->x;
  *(double *)rows[2] = it->velocity;
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definition -- */

/* pp_robot.h explains each member, and those that are left out: draw, act, check_own. */
static const pp_robot callbacks = {
    PP_ROBOT, .own_size = sizeof(robot), .vary = vary, .start = start, .judge = judge, .show = show,
};

/* parallel_pool finds this line. */
const pp_env_def pp_env_my_robot = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "mine/MyRobot-v0",
    .family = "robot",
    .max_episode_steps = 1000,
    .options = options,
    .num_options = NUM_OPTIONS,
    .num_fields = 3,
    .fields = fields,
    PP_MUJOCO_CALLBACKS(callbacks),
};
