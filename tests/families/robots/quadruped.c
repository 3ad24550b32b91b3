/* test/Quadruped-v0: uses what a robot's file can: sensors, a payload, pushes, delayed actions,
 * values of the model that differ. test_robot.py has the same in Python. */
#define PP_ROBOT_MODEL "quadruped.xml"

#include "base/normal.h"
#include "base/random.h"
#include "base/state_check.h"
#include "pp_mujoco.h"

enum { DELAY = 2, OBS = NQ - 2 + NV + NSENSORDATA };

typedef struct quadruped {
  double payload; /* kg, drawn for each episode */
  double x;
  double actions[DELAY][NU]; /* given and not applied yet, in a ring */
  int32_t next;              /* the oldest of them */
  int32_t unused;
} quadruped;

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_FLOAT64,
     .ndim = 1,
     .shape = {OBS},
     .low = -HUGE_VAL,
     .high = HUGE_VAL},
    {.name = "feet",
     .dtype = PP_INT64,
     .space = PP_MULTI_DISCRETE,
     .ndim = 1,
     .shape = {4},
     .nvec = (const int64_t[]){2, 2, 2, 2}},
    {.name = "payload", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT64},
    {.name = "spin", .is_info = true, .when = PP_ALWAYS, .dtype = PP_FLOAT32},
};

enum { FRICTION = PP_ROBOT_NUM_OPTIONS, GRAVITY, PUSH, GAIN, FAULT, NUM_OPTIONS };

#define NUMBER(id, value, least, most) \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .low = least, .high = most, .varies = true}

static const pp_option options[NUM_OPTIONS] = {
    PP_MUJOCO_OPTIONS(4),        NUMBER("friction", 1, 0.1, 10), NUMBER("gravity", -9.81, -20, 0),
    NUMBER("push", 20, 0, 1000), NUMBER("gain", 1, 0.1, 10),     NUMBER("fault", 0, 0, 3),
};

static int draw(const pp_robot_sim *sim) {
  quadruped *it = (quadruped *)sim->own;
  memset(it, 0, sizeof(*it));
  it->payload = pp_rng_uniform(sim->env->rng, 0, 2);
  return PP_OK;
}

static int vary(const pp_robot_sim *sim, mjModel *model) {
  const pp_value *values = sim->env->options;
  const quadruped *it = (const quadruped *)sim->own;
  for (int i = 0; i < NGEOM; i++) model->geom_friction[3 * i] *= values[FRICTION].f;
  for (int i = 0; i < NU; i++) model->actuator_gainprm[mjNGAIN * i] *= values[GAIN].f;
  model->body_mass[BODY_TORSO] += it->payload;
  model->opt.gravity[2] = values[GRAVITY].f;
  return PP_OK;
}

static int start(const pp_robot_sim *sim) {
  mjData *data = sim->data;
  for (int i = 7; i < NQ; i++) data->qpos[i] += pp_rng_uniform(sim->env->rng, -0.1, 0.1);
  for (int i = 0; i < NV; i++) data->qvel[i] += 0.1 * pp_rng_normal(sim->env->rng);
  return PP_OK;
}

static int act(const pp_robot_sim *sim) {
  quadruped *it = (quadruped *)sim->own;
  const float *action = (const float *)sim->action;
  double push = sim->env->options[PUSH].f;

  for (int i = 0; i < NU; i++) {
    sim->data->ctrl[i] = it->actions[it->next][i];
    it->actions[it->next][i] = action[i];
  }
  it->next = (it->next + 1) % DELAY;
  /* every tenth step a new push, which goes on */
  if (*sim->env->elapsed % 10 == 0) {
    for (int i = 0; i < 3; i++) {
      sim->data->xfrc_applied[6 * BODY_TORSO + i] = pp_rng_uniform(sim->env->rng, -push, push);
    }
  }
  return PP_OK;
}

static int judge(const pp_robot_sim *sim, pp_result *result) {
  const quadruped *it = (const quadruped *)sim->own;
  double fault = sim->env->options[FAULT].f;

  if (fault == 1) mju_error("a knee is broken");
  if (fault == 2) return pp_fail(sim->env->error, PP_ERR_ENV, "fault=%g", fault);
  if (fault == 3 && !sim->diverged) sim->data->qvel[0] = NAN; /* the next step diverges */
  if (sim->diverged) {
    result->reward[0] = -100;
    return PP_OK;
  }
  const double *quat = sim->data->sensordata + SENSOR_ORIENTATION;
  double up = 1 - 2 * (quat[1] * quat[1] + quat[2] * quat[2]);
  result->reward[0] = (sim->data->qpos[QPOS_ROOT] - it->x) * 10 + up;
  result->terminated = up < 0.5 || sim->data->qpos[QPOS_ROOT + 2] < 0.12;
  return PP_OK;
}

static int show(const pp_robot_sim *sim, void *const *rows, bool is_reset) {
  quadruped *it = (quadruped *)sim->own;
  double *obs = (double *)rows[0];
  int64_t *feet = (int64_t *)rows[1];
  const int touches[] = {SENSOR_TOUCH_FL, SENSOR_TOUCH_FR, SENSOR_TOUCH_BL, SENSOR_TOUCH_BR};

  (void)is_reset;
  memcpy(obs, sim->data->qpos + 2, sizeof(double) * (NQ - 2));
  memcpy(obs + NQ - 2, sim->data->qvel, sizeof(double) * NV);
  memcpy(obs + NQ - 2 + NV, sim->data->sensordata, sizeof(double) * NSENSORDATA);
  for (int i = 0; i < 4; i++) feet[i] = sim->data->sensordata[touches[i]] > 0;
  *(double *)rows[2] = it->payload;
  *(float *)rows[3] = (float)sim->data->sensordata[SENSOR_GYRO + SENSOR_SIZE_GYRO - 1];
  it->x = sim->data->qpos[QPOS_ROOT];
  return PP_OK;
}

static int check_own(const pp_env *env, const void *own) {
  const quadruped *it = (const quadruped *)own;
  return pp_state_check_range(env, "next", it->next, 0, DELAY - 1) ? PP_OK : PP_ERR_ARGUMENT;
}

static const pp_robot callbacks = {
    PP_ROBOT,
    .own_size = sizeof(quadruped),
    .draw = draw,
    .vary = vary,
    .start = start,
    .act = act,
    .judge = judge,
    .show = show,
    .check_own = check_own,
};

const pp_env_def pp_env_quadruped = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "test/Quadruped-v0",
    .family = "robot",
    .max_episode_steps = 150,
    .options = options,
    .num_options = NUM_OPTIONS,
    .num_fields = 4,
    .fields = fields,
    PP_MUJOCO_CALLBACKS(callbacks),
};
