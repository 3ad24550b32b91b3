/* Implements what Hopper and Walker2d share. */
#include "upright.h"

const pp_field upright_infos_v4[] = {
    MUJOCO_STEP_INFO("x_position", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64),
};
const pp_field upright_infos_v5[] = {
    MUJOCO_INFO("x_position", PP_FLOAT64),      MUJOCO_INFO("z_distance_from_origin", PP_FLOAT64),
    MUJOCO_STEP_INFO("x_velocity", PP_FLOAT64), MUJOCO_STEP_INFO("reward_forward", PP_FLOAT64),
    MUJOCO_ACTION_INFO("reward_ctrl"),          MUJOCO_STEP_INFO("reward_survive", PP_FLOAT64),
};

int upright_prepare(pp_config *config, mujoco_shared *shared) {
  const pp_value *options = config->options;
  mujoco_prepare_state(shared, UPRIGHT_RESET_NOISE_SCALE,
                       options[UPRIGHT_EXCLUDE_POSITIONS].i ? 1 : 0);
  return PP_OK;
}

void upright_observe(const mujoco_shared *shared, const mujoco_workspace *now, double *obs) {
  double *end = mujoco_write_state(shared, now, obs);
  for (double *at = end - shared->sim.nv; at < end; at++) *at = mujoco_clip(*at, -10, 10);
}

bool upright_is_healthy(const mujoco_transition *transition) {
  const pp_value *options = transition->options;
  double z = transition->now->qpos[1], angle = transition->now->qpos[2];
  return options[UPRIGHT_HEALTHY_Z_MIN].f < z && z < options[UPRIGHT_HEALTHY_Z_MAX].f &&
         options[UPRIGHT_HEALTHY_ANGLE_MIN].f < angle &&
         angle < options[UPRIGHT_HEALTHY_ANGLE_MAX].f;
}

/* writes the infos that steps and resets of v5 have */
static void write_position(const mujoco_transition *transition) {
  const double *qpos = transition->now->qpos;
  transition->infos[0] = qpos[0];
  transition->infos[1] = qpos[1] - transition->shared->sim.init_qpos[1];
}

void upright_after_reset_v4(mujoco_transition *transition) {
  mujoco_keep_point(transition, transition->now->qpos, 1);
}

void upright_after_reset_v5(mujoco_transition *transition) {
  mujoco_keep_point(transition, transition->now->qpos, 1);
  write_position(transition);
}

/* the terms of a step's reward, and what they come from */
typedef struct outcome {
  double velocity;
  double forward;
  double survive;
  double control;
} outcome;

/* computes reward and termination; is_paid: the reward includes the healthy one */
static outcome evaluate(mujoco_transition *transition, bool is_healthy, bool is_paid) {
  const pp_value *options = transition->options;
  outcome it = {
      .survive = (double)is_paid * options[UPRIGHT_HEALTHY_REWARD].f,
      .control = mujoco_control_cost(transition, &options[UPRIGHT_CTRL_COST_WEIGHT]),
  };

  mujoco_velocity(transition, transition->now->qpos, 1, &it.velocity);
  it.forward = options[UPRIGHT_FORWARD_REWARD_WEIGHT].f * it.velocity;
  transition->reward = it.forward + it.survive - it.control;
  transition->terminated = !is_healthy && options[UPRIGHT_TERMINATE_WHEN_UNHEALTHY].i;
  return it;
}

void upright_after_step_v4(mujoco_transition *transition, bool is_healthy) {
  // v4 pays the healthy reward for the step that ends an episode, too
  bool terminates = transition->options[UPRIGHT_TERMINATE_WHEN_UNHEALTHY].i != 0;
  outcome it = evaluate(transition, is_healthy, is_healthy || terminates);
  transition->infos[0] = transition->now->qpos[0];
  transition->infos[1] = it.velocity;
}

void upright_after_step_v5(mujoco_transition *transition, bool is_healthy) {
  outcome it = evaluate(transition, is_healthy, is_healthy);
  double *infos = transition->infos;
  write_position(transition);
  infos[2] = it.velocity;
  infos[3] = it.forward;
  infos[4] = -it.control;
  infos[5] = it.survive;
}
