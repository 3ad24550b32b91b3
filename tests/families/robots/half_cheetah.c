/* test/HalfCheetah-v0: Gymnasium's HalfCheetah-v5, in a file of a user's. */
#define PP_ROBOT_MODEL "half_cheetah.xml"

#include "base/normal.h"
#include "base/random.h"
#include "pp_mujoco.h"

enum { OBS = NQ - 1 + NV };

typedef struct cheetah {
  double x;
  double velocity;
  float cost;
} cheetah;

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT64,
     .ndim = 1,
     .shape = {OBS},
     .low = -HUGE_VAL,
     .high = HUGE_VAL},
    {.name = "x_position", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64},
    {.name = "x_velocity", .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT64},
    {.name = "reward_forward", .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT64},
    {.name = "reward_ctrl", .is_info = true, .when = PP_ON_STEP, .dtype = PP_FLOAT32},
};

static const pp_option options[] = {PP_MUJOCO_OPTIONS(5)};

static int start(const pp_robot_sim *sim) {
  for (int i = 0; i < NQ; i++) sim->data->qpos[i] += pp_rng_uniform(sim->env->rng, -0.1, 0.1);
  for (int i = 0; i < NV; i++) sim->data->qvel[i] += 0.1 * pp_rng_normal(sim->env->rng);
  return PP_OK;
}

static int judge(const pp_robot_sim *sim, pp_result *result) {
  cheetah *it = (cheetah *)sim->own;
  const float *action = (const float *)sim->action;
  float sum = 0;

  /* NumPy computes the cost in float32 */
  for (int i = 0; i < NU; i++) sum += action[i] * action[i];
  it->cost = 0.1f * sum;
  it->velocity = (sim->data->qpos[QPOS_ROOTX] - it->x) / (sim->model->opt.timestep * 5);
  result->reward[0] = it->velocity - (double)it->cost;
  return PP_OK;
}

static int show(const pp_robot_sim *sim, void *const *rows, bool is_reset) {
  cheetah *it = (cheetah *)sim->own;
  double *obs = (double *)rows[0];

  (void)is_reset;
  it->x = sim->data->qpos[QPOS_ROOTX];
  memcpy(obs, sim->data->qpos + 1, sizeof(double) * (NQ - 1));
  memcpy(obs + NQ - 1, sim->data->qvel, sizeof(double) * NV);
  *(double *)rows[1] = it->x;
  *(double *)rows[2] = it->velocity;
  *(double *)rows[3] = it->velocity;
  *(float *)rows[4] = -it->cost;
  return PP_OK;
}

static const pp_robot callbacks = {
    PP_ROBOT, .own_size = sizeof(cheetah), .start = start, .judge = judge, .show = show,
};

const pp_env_def pp_env_cheetah = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/HalfCheetah-v0",
    .family = "robot",
    .max_episode_steps = 300,
    .options = options,
    .num_options = PP_ROBOT_NUM_OPTIONS,
    .num_fields = 5,
    .fields = fields,
    PP_MUJOCO_CALLBACKS(callbacks),
};
