/* Humanoid: a two-legged walker with arms, in space.
 *
 * Equals gymnasium 1.4.0 (envs/mujoco/humanoid_v4.py, humanoid_v5.py) bit for bit. */
#include <math.h>

#include "base/pairwise_sum.h"
#include "humanoid_base.h"

/* ------------------------------------------------------------------------ options and infos -- */

enum {
  FORWARD_REWARD_WEIGHT = HUMANOID_NUM_COMMON_OPTIONS,
  CONTACT_COST_WEIGHT,
  CONTACT_COST_MIN,
  CONTACT_COST_MAX,
  HEALTHY_REWARD,
  TERMINATE_WHEN_UNHEALTHY,
  HEALTHY_Z_MIN,
  HEALTHY_Z_MAX,
};

#define OPTIONS(contact_weight, survive)                                                        \
  HUMANOID_OPTIONS("humanoid.xml"),                                                             \
      MUJOCO_WEIGHT("forward_reward_weight", 1.25, "weight of the velocity in the reward"),     \
      MUJOCO_WEIGHT("contact_cost_weight", contact_weight, "weight of squared contact forces"), \
      MUJOCO_WEIGHT("contact_cost_min", -HUGE_VAL, "lower bound of the contact cost"),          \
      MUJOCO_WEIGHT("contact_cost_max", 10.0, "upper bound of the contact cost"),               \
      survive(5.0, "reward of a step that ends healthy"),                                       \
      MUJOCO_BOOL("terminate_when_unhealthy", 1, "end the episode when it is not healthy"),     \
      MUJOCO_WEIGHT("healthy_z_min", 1.0, "the torso is healthy above this height"),            \
      MUJOCO_WEIGHT("healthy_z_max", 2.0, "the torso is healthy below this height")

/* Gymnasium's v4 has no contact cost. */
static const pp_option options_v4[] = {OPTIONS(0.0, MUJOCO_FLOAT_SURVIVE_WEIGHT)};
static const pp_option options_v5[] = {OPTIONS(5e-7, MUJOCO_SURVIVE_WEIGHT)};

static const pp_field infos_v4[] = {
    MUJOCO_STEP_INFO("reward_linvel", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_quadctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_alive", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("forward_reward", PP_FLOAT64),
};
static const pp_field infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),
    MUJOCO_INFO("y_position", PP_FLOAT64),
    MUJOCO_TENDON_INFO("tendon_length"),
    MUJOCO_TENDON_INFO("tendon_velocity"),
    MUJOCO_INFO("distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("y_velocity", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_ctrl", PP_FLOAT64),
    MUJOCO_STEP_INFO("reward_contact", PP_FLOAT64),
};

/* --------------------------------------------------------------------------------- prepare -- */

/* in parameters: the mass of all bodies */
enum { MASS };

static int prepare_v4(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options;
  shared->parameters[MASS] = pp_pairwise_sum(shared->sim.body_mass, shared->sim.nbody);
  shared->needs_constraint_forces = options[HUMANOID_INCLUDE_CFRC_EXT].i != 0 ||
                                    options[CONTACT_COST_WEIGHT].f != 0 ||
                                    (config->varying && config->varying[CONTACT_COST_WEIGHT]);
  return humanoid_prepare_v4(config, shared);
}

/* In v5 contact forces cost even if they are not observed. */
static int prepare_v5(pp_config *config, mujoco_shared *shared) {
  shared->parameters[MASS] = pp_pairwise_sum(shared->sim.body_mass, shared->sim.nbody);
  shared->needs_constraint_forces = true;
  return humanoid_prepare_v5(config, shared);
}

/* -------------------------------------------------------------------------- reset and step -- */

static bool is_healthy(const mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double z = transition->now->qpos[2];
  return options[HEALTHY_Z_MIN].f < z && z < options[HEALTHY_Z_MAX].f;
}

static double contact_cost(const mujoco_transition *transition) {
  const pp_value *options = transition->options;
  return humanoid_contact_cost(transition, options[CONTACT_COST_WEIGHT].f,
                               options[CONTACT_COST_MIN].f, options[CONTACT_COST_MAX].f);
}

/* Adds a product as np.einsum does: on aarch64, where every processor can, with one rounding. */
static double add_product(double sum, double a, double b) {
#if defined(__aarch64__)
  return fma(a, b, sum);
#else
  return sum + a * b;
#endif
}

/* computes x and y of the centre of mass, body after body as np.einsum does */
static void find_center(const mujoco_transition *transition, double center[2]) {
  const mujoco_shared *shared = transition->shared;
  for (int axis = 0; axis < 2; axis++) {
    double sum = 0;
    for (int32_t i = 0; i < shared->sim.nbody; i++) {
      sum = add_product(sum, shared->sim.body_mass[i], transition->now->xipos[3 * i + axis]);
    }
    center[axis] = sum / shared->parameters[MASS];
  }
}

/* Writes the infos that steps and resets of v5 have. Returns the end of what it wrote. */
static double *write_place(const mujoco_transition *transition) {
  const double *qpos = transition->now->qpos;
  double *info = transition->infos;
  *info++ = qpos[0];
  *info++ = qpos[1];
  info = humanoid_write_tendons(transition, info);
  *info++ = mujoco_norm(transition->shared, qpos, 2);
  return info;
}

static void after_reset_v4(mujoco_transition *transition) {
  double center[2];
  find_center(transition, center);
  mujoco_keep_point(transition, center, 2);
}

static void after_reset_v5(mujoco_transition *transition) {
  after_reset_v4(transition);
  write_place(transition);
}

static void after_step_v4(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  bool terminates = options[TERMINATE_WHEN_UNHEALTHY].i != 0, healthy = is_healthy(transition);
  double alive = (double)(healthy || terminates) * options[HEALTHY_REWARD].f;
  double control = humanoid_control_cost(transition), costs = control;
  double center[2], velocity[2], *infos = transition->infos;

  find_center(transition, center);
  mujoco_velocity(transition, center, 2, velocity);
  double forward = options[FORWARD_REWARD_WEIGHT].f * velocity[0];
  if (options[CONTACT_COST_WEIGHT].f != 0) costs += contact_cost(transition);
  transition->reward = forward + alive - costs;
  transition->terminated = !healthy && terminates;
  infos[0] = forward;
  infos[1] = -control;
  infos[2] = alive;
  mujoco_write_place(transition->shared, center, infos + 3);
  infos[6] = velocity[0];
  infos[7] = velocity[1];
  infos[8] = forward;
}

static void after_step_v5(mujoco_transition *transition) {
  const pp_value *options = transition->options;
  bool healthy = is_healthy(transition);
  double survive = (double)healthy * options[HEALTHY_REWARD].f;
  double control = humanoid_control_cost(transition), contact = contact_cost(transition);
  double center[2], velocity[2], *info = write_place(transition);

  find_center(transition, center);
  mujoco_velocity(transition, center, 2, velocity);
  double forward = options[FORWARD_REWARD_WEIGHT].f * velocity[0];
  transition->reward = forward + survive - (control + contact);
  transition->terminated = !healthy && options[TERMINATE_WHEN_UNHEALTHY].i;
  *info++ = velocity[0];
  *info++ = velocity[1];
  *info++ = survive;
  *info++ = forward;
  *info++ = -control;
  *info++ = -contact;
}

/* ------------------------------------------------------------------------------ definitions -- */

#define TASK .least_nq = 3, .draw_state = mujoco_draw_uniform, .observe = humanoid_observe

static const mujoco_task task_v4 = {
    TASK,
    .prepare = prepare_v4,
    .after_reset = after_reset_v4,
    .after_step = after_step_v4,
    .survive_option = HEALTHY_REWARD,
    .survive_info = 2,
    MUJOCO_INFOS(infos_v4),
};
static const mujoco_task task_v5 = {
    TASK,
    .prepare = prepare_v5,
    .after_reset = after_reset_v5,
    .after_step = after_step_v5,
    .survive_option = HEALTHY_REWARD,
    .survive_info = 7,
    MUJOCO_INFOS(infos_v5),
};

#define DEFINITION MUJOCO_DEFINITION, .max_episode_steps = 1000

const pp_env_def pp_env_humanoid[3] = {
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_ENVPOOL("Humanoid-v3"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v4), MUJOCO_GYMNASIUM("Humanoid-v4"), .data = &task_v4},
    {DEFINITION, MUJOCO_OPTIONS(options_v5), MUJOCO_GYMNASIUM("Humanoid-v5"), .data = &task_v5},
};
