/* HumanoidStandup: a humanoid that lies on its back and is to stand up.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/humanoidstandup_v4.py, humanoidstandup_v5.py) bit for bit.
 */
#include <math.h>
#include <string.h>

#include "humanoid_base.h"
#include "task.h"

/* own options; Gymnasium, too, takes uph_cost_weight and does nothing with it */
enum { UPH_COST_WEIGHT = HUMANOID_OWN, IMPACT_COST_WEIGHT, IMPACT_COST_MIN, IMPACT_COST_MAX };

/* parameters by the names of the options that they come from, and the seconds of one simulation
 * step */
enum { IMPACT = HUMANOID_OWN_PARAMETERS, COST_MIN, COST_MAX, TIMESTEP };

static const pp_option options[] = {
    HUMANOID_OPTIONS("humanoidstandup.xml"),
    MUJOCO_FLOAT("uph_cost_weight", 1.0, "without effect, as in Gymnasium"),
    MUJOCO_FLOAT("impact_cost_weight", 0.5e-6, "weight of squared contact forces"),
    MUJOCO_FLOAT("impact_cost_min", -HUGE_VAL, "least cost of contacts"),
    MUJOCO_FLOAT("impact_cost_max", 10.0, "greatest cost of contacts"),
};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_linup", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_quadctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_impact", PP_FLOAT64),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_INFO("y_position", PP_FLOAT64),
    MUJOCO_INFO("z_distance_from_origin", PP_FLOAT64),
    MUJOCO_TENDON_INFO("tendon_length"),
    MUJOCO_TENDON_INFO("tendon_velocity"),
    MUJOCO_STEP_INFO("reward_linup", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_quadctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_impact", PP_FLOAT64),
};

/* ------------------------------------------------------------------------------- prepare -- */

static int read_options(const pp_config *config, mujoco_shared *shared) {
  const pp_value *given = config->options;
  double *parameters = shared->parameters;
  int64_t timestep = 0;
  int status = mujoco_link_number(&given[MUJOCO_LINK], "timestep", &timestep, config->error);

  memcpy(&parameters[TIMESTEP], &timestep, sizeof(timestep));
  parameters[IMPACT] = given[IMPACT_COST_WEIGHT].f;
  parameters[COST_MIN] = given[IMPACT_COST_MIN].f;
  parameters[COST_MAX] = given[IMPACT_COST_MAX].f;
  // impacts cost, observed or not
  shared->needs_constraint_forces = 1;
  return status;
}

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  int status = read_options(config, shared);
  return status < 0 ? status : humanoid_prepare_v4(config, shared);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  int status = read_options(config, shared);
  return status < 0 ? status : humanoid_prepare_v5(config, shared);
}

/* ------------------------------------------------------------------------- reset and step -- */

/* the reward, and what it is made of */
static void pay(mujoco_moment *moment, double *infos) {
  const double *parameters = moment->shared->parameters;
  double height = moment->now->qpos[2] / parameters[TIMESTEP];
  double control = humanoid_control_cost(moment);
  double impact = mujoco_clip(parameters[IMPACT] * humanoid_contact_square_sum(moment),
                              parameters[COST_MIN], parameters[COST_MAX]);

  moment->reward = height - control - impact + 1;
  infos[0] = height;
  infos[1] = -control;
  infos[2] = -impact;
}

/* the infos that steps and resets have; returns where the next one goes */
static double *write_place(const mujoco_moment *moment) {
  const double *qpos = moment->now->qpos;
  double *info = moment->infos;
  *info++ = qpos[0];
  *info++ = qpos[1];
  *info++ = qpos[2] - moment->shared->init_qpos[2];
  return humanoid_write_tendons(moment, info);
}

static void begin_v5(mujoco_moment *moment) {
  write_place(moment);
}

static void finish_v4(mujoco_moment *moment) {
  pay(moment, moment->infos);
}

static void finish_v5(mujoco_moment *moment) {
  pay(moment, write_place(moment));
}

/* ------------------------------------------------------------------------------ definitions -- */

static const mujoco_task task_v4 = {.least_nq = 3,
                                    .prepare = prepare_v4,
                                    .draw = humanoid_draw,
                                    .observe = humanoid_observe,
                                    .finish = finish_v4,
                                    MUJOCO_INFOS(infos_v4)};
static const mujoco_task task_v5 = {.least_nq = 3,
                                    .prepare = prepare_v5,
                                    .draw = humanoid_draw,
                                    .observe = humanoid_observe,
                                    .begin = begin_v5,
                                    .finish = finish_v5,
                                    MUJOCO_INFOS(infos_v5)};

static int configure_v4(pp_config *config) {
  return mujoco_configure(config, &task_v4);
}

static int configure_v5(pp_config *config) {
  return mujoco_configure(config, &task_v5);
}

const pp_env_def pp_env_humanoid_standup_v2 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HumanoidStandup-v2", .reference = MUJOCO_NO_REFERENCE,
    .reward_threshold = NAN,    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_humanoid_standup_v4 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HumanoidStandup-v4", .reference = "gymnasium 1.4.0 HumanoidStandup-v4",
    .reward_threshold = NAN,    .max_episode_steps = 1000,
    .configure = configure_v4,
};

const pp_env_def pp_env_humanoid_standup_v5 = {
    MUJOCO_DEFINITION,          MUJOCO_OPTIONS(options),
    .id = "HumanoidStandup-v5", .reference = "gymnasium 1.4.0 HumanoidStandup-v5",
    .reward_threshold = NAN,    .max_episode_steps = 1000,
    .configure = configure_v5,
};
