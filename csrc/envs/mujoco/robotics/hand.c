/* The shadow hand: its controls, and what is observed of its joints. */
#include "hand.h"

static const pp_field infos[] = {MUJOCO_STEP_INFO("is_success", PP_FLOAT32)};

int hand_prepare(pp_config *config, robotics_shared *shared, int32_t positions,
                 int32_t reward_type) {
  const mujoco_simulator *sim = &shared->mujoco.sim;

  robotics_describe_action(config, shared, HAND_ACTUATORS);
  shared->infos = infos;
  shared->num_infos = 1;
  if (sim->nu != HAND_ACTUATORS || sim->nq != positions) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the model has nq=%d and nu=%d: the task needs nq = %d and nu = %d", sim->nq,
                   sim->nu, positions, HAND_ACTUATORS);
  }
  return robotics_read_reward_type(config, reward_type, &shared->is_dense);
}

static void control(robotics_sim *sim, int32_t i, double action) {
  const double *range = sim->shared->control_ranges + 2 * i;
  double half = (range[1] - range[0]) / 2.0, middle = (range[1] + range[0]) / 2.0;
  sim->in->ctrl[i] = mujoco_clip(middle + action * half, range[0], range[1]);
}

void hand_act(robotics_sim *sim) {
  for (int32_t i = 0; i < HAND_ACTUATORS; i++) {
    control(sim, i, mujoco_clip(sim->action[i], -1, 1));
  }
}

void hand_relax(robotics_sim *sim) {
  for (int32_t i = 0; i < HAND_ACTUATORS; i++) control(sim, i, 0);
}

double *hand_observe(const robotics_sim *sim, double *row) {
  row = robotics_copy(row, sim->in->qpos, HAND_JOINTS);
  return robotics_copy(row, sim->in->qvel, HAND_JOINTS);
}
