/* HumanoidStandup: a humanoid that lies on its back and learns to stand up.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/humanoidstandup_v4.py, humanoidstandup_v5.py) bit for bit. */
#include <math.h>

#include "humanoid_base.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum {
  UPH_COST_WEIGHT = HUMANOID_NUM_COMMON_OPTIONS,
  IMPACT_COST_WEIGHT,
  IMPACT_COST_MIN,
  IMPACT_COST_MAX,
};

static const pp_option option_table[] = {
    HUMANOID_OPTIONS("humanoidstandup.xml"),
    MUJOCO_WEIGHT("uph_cost_weight", 1.0, "without effect, as in Gymnasium"),
    MUJOCO_WEIGHT("impact_cost_weight", 0.5e-6, "weight of squared contact forces"),
    MUJOCO_WEIGHT("impact_cost_min", -HUGE_VAL, "lower bound of the contact cost"),
    MUJOCO_WEIGHT("impact_cost_max", 10.0, "upper bound of the contact cost"),
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

/* --------------------------------------------------------------------------------- prepare -- */

/* Contact forces cost even if they are not observed. */
static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  shared->needs_constraint_forces = true;
  return humanoid_prepare_v4(config, shared);
}

static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  shared->needs_constraint_forces = true;
  return humanoid_prepare_v5(config, shared);
}

/* -------------------------------------------------------------------------- reset and step -- */

/* writes the reward, and its terms as infos */
static void write_reward(mujoco_transition *transition, double *infos) {
  const mujoco_shared *shared = transition->shared;
  const pp_value *options = transition->options;
  double height = transition->now->qpos[2] / shared->sim.timestep;
  double control = humanoid_control_cost(transition);
  double impact = humanoid_contact_cost(transition, options[IMPACT_COST_WEIGHT].f,
                                        options[IMPACT_COST_MIN].f, options[IMPACT_COST_MAX].f);

  transition->reward = height - control - impact + 1;
  infos[0] = height;
  infos[1] = -control;
  infos[2] = -impact;
}

/* Writes the infos that steps and resets of v5 have. Returns the end of what it wrote. */
static double *write_place(const mujoco_transition *transition) {
  const double *qpos = transition->now->qpos;
  double *info = transition->infos;
  *info++ = qpos[0];
  *info++ = qpos[1];
  *info++ = qpos[2] - transition->shared->sim.init_qpos[2];
  return humanoid_write_tendons(transition, info);
}

static void after_reset_v5(mujoco_transition *transition) {
  write_place(transition);
}

static void after_step_v4(mujoco_transition *transition) {
  write_reward(transition, transition->infos);
}

static void after_step_v5(mujoco_transition *transition) {
  write_reward(transition, write_place(transition));
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK .least_nq = 3, .draw_state = mujoco_draw_uniform, .observe = humanoid_observe

static const mujoco_task task_v4 = {
    TASK,
    .prepare = prepare_v4,
    .after_step = after_step_v4,
    MUJOCO_INFOS(infos_v4),
};
static const mujoco_task task_v5 = {
    TASK,
    .prepare = prepare_v5,
    .after_reset = after_reset_v5,
    .after_step = after_step_v5,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION MUJOCO_DEFINITION, MUJOCO_OPTIONS(option_table), .max_episode_steps = 1000

const pp_env_def pp_env_humanoid_standup[3] = {
    {DEFINITION, MUJOCO_ENVPOOL("HumanoidStandup-v2"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("HumanoidStandup-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_GYMNASIUM("HumanoidStandup-v5"), .data = &task_v5},
};
